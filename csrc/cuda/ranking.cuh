// Ranks of one group by one block, for the kernels that start from ranks.
#pragma once

#include <cstdint>

#include "group/fronts.hpp"
#include "ops.hpp"

namespace paretopo::cuda {

inline constexpr int kThreads = 64;  // a rollout group has 4 to 64 points: two warps

// Thread t decides points t, t + kThreads, ...; all threads of the block take part. Returns the
// number of fronts, to every thread; `ranks` is complete for every thread.
template <typename Scalar>
__device__ std::int32_t rank_group(const Batch<Scalar>& batch, std::int64_t g,
                                   std::int32_t* ranks) {
    const int lane = static_cast<int>(threadIdx.x);
    for (std::int32_t i = lane; i < batch.points; i += kThreads) ranks[i] = kUnranked;
    __syncthreads();
    for (std::int32_t front = 0;; ++front) {
        const Pass pass = rank_pass(batch, g, ranks, front, lane, kThreads);
        const bool found = __syncthreads_or(pass.found);
        if (!__syncthreads_or(pass.some_left) || !found) return front + found;
    }
}

}  // namespace paretopo::cuda
