// Replaces csrc/cuda/ in a build without nvcc: same functions, one honest error.
#include "ops.hpp"

#include <stdexcept>

namespace paretopo {
namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error(
        "this paretopo_core was built without CUDA: move the tensor to the CPU, or reinstall with "
        "PARETOPO_CUDA=ON");
}

}  // namespace

namespace cuda {

bool is_compiled() { return false; }
int device_count() { return 0; }
int device_of(const void*) { refuse(); }
std::string driver_needed() { return ""; }

}  // namespace cuda

namespace gpu {

template <typename Place, typename Scalar>
std::int64_t scratch_bytes(Place, Operation, Batch<Scalar>) {
    refuse();
}
template <typename Place, typename Scalar>
void pareto_rank(Place, Batch<Scalar>, std::int32_t*) {
    refuse();
}
template <typename Place, typename Scalar>
void is_nondominated(Place, Batch<Scalar>, bool, std::uint8_t*) {
    refuse();
}
template <typename Place, typename Scalar>
void crowding_distance(Place, Batch<Scalar>, const std::int32_t*, double*) {
    refuse();
}
template <typename Place, typename Scalar>
void pareto_advantage(Place, Batch<Scalar>, Advantage<Scalar>, Scalar*, std::int32_t*) {
    refuse();
}
template <typename Place, typename Scalar>
void hypervolume(Place, Batch<Scalar>, const double*, double*) {
    refuse();
}
template <typename Place, typename Scalar>
void hypervolume_gradient(Place, Batch<Scalar>, const double*, double*) {
    refuse();
}
template <typename Place, typename Scalar>
void hv_contributions(Place, Batch<Scalar>, const double*, bool, double*) {
    refuse();
}
template <typename Place, typename Scalar>
void expected_hypervolume(Place, Batch<Scalar>, References, std::int32_t, double*) {
    refuse();
}
template <typename Place, typename Scalar>
void hypervolume_advantage(Place, Batch<Scalar>, References, std::int32_t, Centre, Scalar*) {
    refuse();
}

template std::int64_t scratch_bytes(Cuda, Operation, Batch<float>);
template std::int64_t scratch_bytes(Cuda, Operation, Batch<double>);
template void pareto_rank(Cuda, Batch<float>, std::int32_t*);
template void pareto_rank(Cuda, Batch<double>, std::int32_t*);
template void is_nondominated(Cuda, Batch<float>, bool, std::uint8_t*);
template void is_nondominated(Cuda, Batch<double>, bool, std::uint8_t*);
template void crowding_distance(Cuda, Batch<float>, const std::int32_t*, double*);
template void crowding_distance(Cuda, Batch<double>, const std::int32_t*, double*);
template void pareto_advantage(Cuda, Batch<float>, Advantage<float>, float*, std::int32_t*);
template void pareto_advantage(Cuda, Batch<double>, Advantage<double>, double*, std::int32_t*);
template void hypervolume(Cuda, Batch<float>, const double*, double*);
template void hypervolume(Cuda, Batch<double>, const double*, double*);
template void hypervolume_gradient(Cuda, Batch<float>, const double*, double*);
template void hypervolume_gradient(Cuda, Batch<double>, const double*, double*);
template void hv_contributions(Cuda, Batch<float>, const double*, bool, double*);
template void hv_contributions(Cuda, Batch<double>, const double*, bool, double*);
template void expected_hypervolume(Cuda, Batch<float>, References, std::int32_t, double*);
template void expected_hypervolume(Cuda, Batch<double>, References, std::int32_t, double*);
template void hypervolume_advantage(Cuda, Batch<float>, References, std::int32_t, Centre, float*);
template void hypervolume_advantage(Cuda, Batch<double>, References, std::int32_t, Centre, double*);

}  // namespace gpu
}  // namespace paretopo
