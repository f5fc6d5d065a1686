// Replaces csrc/cuda/ in a build without nvcc: same functions, one honest error.
#include "ops.hpp"

#include <stdexcept>

namespace paretopo::cuda {
namespace {

[[noreturn]] void refuse() {
    throw std::runtime_error(
        "this paretopo_core was built without CUDA: move the tensor to the CPU, or reinstall with "
        "PARETOPO_CUDA=ON");
}

}  // namespace

bool is_compiled() { return false; }
int device_count() { return 0; }

template <typename Scalar>
void pareto_rank(Batch<Scalar>, std::int32_t*, int, void*) {
    refuse();
}

template <typename Scalar>
void pareto_advantage(Batch<Scalar>, Advantage<Scalar>, Scalar*, std::int32_t*, Scalar*, int,
                      void*) {
    refuse();
}

template void pareto_rank(Batch<float>, std::int32_t*, int, void*);
template void pareto_rank(Batch<double>, std::int32_t*, int, void*);
template void pareto_advantage(Batch<float>, Advantage<float>, float*, std::int32_t*, float*, int,
                               void*);
template void pareto_advantage(Batch<double>, Advantage<double>, double*, std::int32_t*, double*,
                               int, void*);

}  // namespace paretopo::cuda
