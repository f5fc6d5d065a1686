#include "cuda/launcher.cuh"
#include "gpu/ranking.hpp"

namespace paretopo::gpu {

template void rank_large(Cuda, Batch<float>, std::int32_t*);
template void rank_large(Cuda, Batch<double>, std::int32_t*);

}  // namespace paretopo::gpu
