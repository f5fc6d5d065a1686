// The choice of threads that share the work of a group. Bounds are constants and do not depend on
// the device: the same call uses the same kernels on every GPU, and never waits for an answer.
//
// cmake/gpu_operations.cmake compiles each header of csrc/gpu/ once for each place that runs it. It
// includes the launcher of that place first, which defines
//   Here                         the place
//   launcher_of(place, name)     threads, warps and blocks; errors name the operation
//   limits_of(place)             Limits
#pragma once

#include <cstdint>
#include <type_traits>

#include "ops.hpp"

namespace paretopo::gpu {

struct Limits {
    // One thread per group up to thread_points and from thread_groups on, if points are float and
    // have 2 to 4 objectives; one warp per group up to warp_points; one block per group up to
    // block_points or from block_groups on.
    std::int32_t thread_points = 16;
    std::int64_t thread_groups = 16384;
    std::int32_t warp_points = 64;
    std::int32_t block_points = 2048;
    std::int64_t block_groups = 256;
    std::int32_t tile = 32;            // points settled together; at most the lanes of a warp
    std::int64_t blocks = 2048;        // that compare the points of large sets with each other
    std::int64_t least_in_split = 32;  // points that a lane compares with its own
    std::int32_t run_bits = 8;         // a block sorts 2^run_bits points
    std::int32_t run_points = 1024;    // points of a large set that a block settles: 32 tiles
    std::int32_t chunk = 256;          // points of them that it settles together, in tiles
    std::int32_t rounds = 4;           // in which it raises all at once, before it goes by chunks
    std::int32_t fan_bits = 3;         // a node of a tree has 2^fan_bits children
    std::int32_t wide_fan_bits = 5;    // the same in a tree that warps search
    std::int64_t sample = 16384;       // points from which the filter chooses killers
    std::int32_t killers = 128;        // points that the filter compares with all others
};

// Small bounds, so that tests take small sets through the code for large ones.
// tile: up to the lanes of a warp, a power of two.
inline Limits limits_for(Mapping mapping, std::int32_t tile) {
    Limits limits;
    limits.tile = tile;
    limits.run_points = 32 * tile;
    limits.chunk = 8 * tile;
    if (mapping == Mapping::kThread) limits.thread_groups = 0;
    if (mapping == Mapping::kBlock) limits.warp_points = 1;
    if (mapping == Mapping::kGrid) {
        limits.warp_points = limits.block_points = 1;
        limits.blocks = 12;
        limits.least_in_split = 2;
        limits.run_bits = 1;
        while (1 << limits.run_bits < 2 * tile) ++limits.run_bits;
        limits.run_points = 4 * tile;
        limits.chunk = 2 * tile;
        limits.fan_bits = 1;
        limits.rounds = 2;
        limits.wide_fan_bits = 2;
        limits.killers = 3;
        limits.sample = 20;
    }
    return limits;
}

inline constexpr std::int32_t kWarpLanes = 32;
inline constexpr std::int64_t kSharedBytes = 48 * 1024;  // per block, without opting in to more

template <typename Scalar>
bool fits_thread(const Batch<Scalar>& batch, const Limits& limits) {
    return std::is_same_v<Scalar, float> && batch.points <= limits.thread_points &&
           batch.objectives >= 2 && batch.objectives <= 4 && batch.groups >= limits.thread_groups;
}

template <typename Scalar>
bool fits_warp(const Batch<Scalar>& batch, const Limits& limits) {
    return batch.points <= limits.warp_points;
}

template <typename Scalar>
bool fits_block(const Batch<Scalar>& batch, const Limits& limits) {
    return batch.points <= limits.block_points || batch.groups >= limits.block_groups;
}

template <int kValue>
using Constant = std::integral_constant<int, kValue>;

// Calls op with the number of objectives as a constant from 2 to 4, or 0 for any other.
template <typename Op>
void with_objectives(std::int32_t objectives, Op op) {
    if (objectives == 2) return op(Constant<2>());
    if (objectives == 3) return op(Constant<3>());
    if (objectives == 4) return op(Constant<4>());
    op(Constant<0>());
}

}  // namespace paretopo::gpu

// Put this at the end of a header, for each of its functions of Place and Scalar.
#define PARETOPO_INSTANTIATE_HERE(function)                         \
    template decltype(function<Here, float>) function<Here, float>; \
    template decltype(function<Here, double>) function<Here, double>;
