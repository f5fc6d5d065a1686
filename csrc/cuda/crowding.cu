#include "cuda/launcher.cuh"
#include "cuda/ranking.cuh"
#include "gpu/crowding.hpp"
#include "gpu/scratch.hpp"

namespace paretopo::gpu {

template void crowding_distance(Cuda, Batch<float>, double*);
template void crowding_distance(Cuda, Batch<double>, double*);
template std::int64_t scratch_bytes(Cuda, Operation, Batch<float>);
template std::int64_t scratch_bytes(Cuda, Operation, Batch<double>);

}  // namespace paretopo::gpu
