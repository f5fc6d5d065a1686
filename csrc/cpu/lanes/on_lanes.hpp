// From a lane kernel to its version for the instruction set in use, and over threads. Never
// included by the lane files themselves.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/for_each_group.hpp"
#include "cpu/isa.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

// Groups that a thread takes at a time; a multiple of every number of lanes.
inline constexpr std::int64_t kLanePart = 128;

// Calls work(first group, end) for parts of a batch that fits the lanes.
template <typename Scalar, typename Work>
void for_each_lane_part(const Batch<Scalar>& batch, const Work& work) {
    const double n = batch.points;
    const std::int64_t parts = (batch.groups + kLanePart - 1) / kLanePart;
    for_each_group(parts, kLanePart * (4.0 + 0.1 * n * n), [&](std::int64_t part) {
        const std::int64_t first = part * kLanePart;
        work(first, std::min(first + kLanePart, batch.groups));
    });
}

}  // namespace paretopo::cpu

// Calls the function of that name of the instruction set in use.
#if defined(PARETOPO_X86_LANES)
#define PARETOPO_ON_LANES(function, ...)                   \
    (isa() == Isa::kAvx512 ? avx512::function(__VA_ARGS__) \
     : isa() == Isa::kAvx2 ? avx2::function(__VA_ARGS__)   \
                           : portable::function(__VA_ARGS__))
#else
#define PARETOPO_ON_LANES(function, ...) portable::function(__VA_ARGS__)
#endif
