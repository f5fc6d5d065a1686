#include "cuda/launcher.cuh"
#include "cuda/ranking.cuh"
#include "gpu/fronts.hpp"

namespace paretopo::gpu {

template void pareto_rank(Cuda, Batch<float>, std::int32_t*);
template void pareto_rank(Cuda, Batch<double>, std::int32_t*);
template void is_nondominated(Cuda, Batch<float>, bool, std::uint8_t*);
template void is_nondominated(Cuda, Batch<double>, bool, std::uint8_t*);

}  // namespace paretopo::gpu
