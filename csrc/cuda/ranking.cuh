// Ranks of one group by one block, for the kernels that start from ranks.
#pragma once

#include <cstdint>

#include "group/fronts.hpp"
#include "ops.hpp"

namespace paretopo::cuda {

inline constexpr int kThreads = 64;  // a rollout group has 4 to 64 points: two warps

// Thread t decides points t, t + kThreads, ...; all threads of the block take part. Returns the
// number of fronts, to every thread; `rank` is complete for every thread.
template <typename Scalar>
__device__ std::int32_t rank_group(const Batch<Scalar>& batch, std::int64_t g, std::int32_t* rank) {
    const Scalar* group = batch.group(g);
    const std::uint8_t* mask = batch.group_mask(g);
    for (int i = threadIdx.x; i < batch.points; i += kThreads) rank[i] = kUnranked;
    __syncthreads();

    // Dominance is a strict partial order, so every pass ranks at least one point.
    for (std::int32_t front = 0; front < batch.points; ++front) {
        bool found = false;
        bool some_left = false;
        for (int i = threadIdx.x; i < batch.points; i += kThreads) {
            if (rank[i] != kUnranked || (mask && mask[i] == 0)) continue;
            if (belongs_to_front(group, rank, mask, i, batch.points, batch.objectives,
                                 batch.minimised, front)) {
                rank[i] = front;
                found = true;
            } else {
                some_left = true;
            }
        }
        const bool found_somewhere = __syncthreads_or(found);
        if (!__syncthreads_or(some_left)) return front + found_somewhere;
    }
    return batch.points;
}

}  // namespace paretopo::cuda
