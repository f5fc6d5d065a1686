// Kernels that several operations start from, compiled once, in ranking.cu.
#pragma once

#include "gpu/ranking.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

extern template void rank_large(Cuda, Batch<float>, std::int32_t*);
extern template void rank_large(Cuda, Batch<double>, std::int32_t*);

}  // namespace paretopo::gpu
