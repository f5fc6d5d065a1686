#include "ops.hpp"

#include "emulated/launcher.hpp"
#include "gpu/advantage.hpp"
#include "gpu/crowding.hpp"
#include "gpu/expected_hypervolume.hpp"
#include "gpu/fronts.hpp"
#include "gpu/scratch.hpp"
#include "gpu/volumes.hpp"

namespace paretopo::gpu {

template std::int64_t scratch_bytes(Emulated, Operation, Batch<float>);
template std::int64_t scratch_bytes(Emulated, Operation, Batch<double>);
template void pareto_rank(Emulated, Batch<float>, std::int32_t*);
template void pareto_rank(Emulated, Batch<double>, std::int32_t*);
template void is_nondominated(Emulated, Batch<float>, bool, std::uint8_t*);
template void is_nondominated(Emulated, Batch<double>, bool, std::uint8_t*);
template void crowding_distance(Emulated, Batch<float>, const std::int32_t*, double*);
template void crowding_distance(Emulated, Batch<double>, const std::int32_t*, double*);
template void pareto_advantage(Emulated, Batch<float>, Advantage<float>, float*, std::int32_t*);
template void pareto_advantage(Emulated, Batch<double>, Advantage<double>, double*, std::int32_t*);
template void hypervolume(Emulated, Batch<float>, const double*, double*);
template void hypervolume(Emulated, Batch<double>, const double*, double*);
template void hypervolume_gradient(Emulated, Batch<float>, const double*, double*);
template void hypervolume_gradient(Emulated, Batch<double>, const double*, double*);
template void hv_contributions(Emulated, Batch<float>, const double*, bool, double*);
template void hv_contributions(Emulated, Batch<double>, const double*, bool, double*);
template void expected_hypervolume(Emulated, Batch<float>, References, std::int32_t, double*);
template void expected_hypervolume(Emulated, Batch<double>, References, std::int32_t, double*);
template void hypervolume_advantage(Emulated, Batch<float>, References, std::int32_t, Centre,
                                    float*);
template void hypervolume_advantage(Emulated, Batch<double>, References, std::int32_t, Centre,
                                    double*);

}  // namespace paretopo::gpu
