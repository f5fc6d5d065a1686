#include "cuda/launcher.cuh"
#include "cuda/ranking.cuh"
#include "gpu/crowding.hpp"
#include "gpu/scratch.hpp"

namespace paretopo::gpu {

template void crowding_distance(Cuda, Batch<float>, const std::int32_t*, double*);
template void crowding_distance(Cuda, Batch<double>, const std::int32_t*, double*);
template std::int64_t scratch_bytes(Cuda, Operation, Batch<float>);
template std::int64_t scratch_bytes(Cuda, Operation, Batch<double>);

}  // namespace paretopo::gpu
