#include "gpu/ranking.hpp"

#include "cuda/launcher.cuh"

namespace paretopo::gpu {

template void rank_large(Cuda, Batch<float>, std::int32_t*);
template void rank_large(Cuda, Batch<double>, std::int32_t*);

}  // namespace paretopo::gpu
