#include "cuda/launcher.cuh"
#include "cuda/ranking.cuh"
#include "gpu/advantage.hpp"

namespace paretopo::gpu {

template void pareto_advantage(Cuda, Batch<float>, Advantage<float>, float*, std::int32_t*);
template void pareto_advantage(Cuda, Batch<double>, Advantage<double>, double*, std::int32_t*);

}  // namespace paretopo::gpu
