// Sizes of ranks and filters at which one algorithm takes over from another, as in
// instruction_sets.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

// One group per lane needs few points and values, so that a block stays in the first-level cache,
// and enough groups, so that few lanes are empty. 64 x 4: ranks 1.8, filter 1.4.
inline constexpr std::int32_t kMaxInLane = 64;
inline constexpr std::int32_t kMaxValuesInLane = 256;
inline constexpr std::int64_t kMinGroupsInLanes = 4;
// Up to this size, advantages are fast even in a block with few groups.
inline constexpr std::int32_t kMaxTiny = 16;

// A row of bits per point against sorting, with up to 2 objectives; the filter has at least 3.
inline constexpr std::int32_t kMaxFlatInRows = 64;

// Ranks of 2 objectives: a column of equal first values by std::sort against KeyOrder: 1.0.
inline constexpr std::size_t kMinColumnOrdered = 48;

}  // namespace paretopo::cpu
