// Sizes of volumes at which one algorithm takes over from another, as in instruction_sets.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace paretopo::cpu {

// Volumes and expected volumes of 2 objectives with one group per lane. 32 x 2: 5.0 and 11.7; 32 x
// 3: 2.6; 32 x 4: 3.3. With 4 objectives only from this number of groups.
inline constexpr std::int32_t kMaxMeasuredInLane = 32;
inline constexpr std::int64_t kMinMeasuredOf4 = 4;
// Larger sets: the vector kernel, which ranks by counting, against a sort and a sweep. 96 x 2: 0.8;
// 96 x 3: 0.9.
inline constexpr std::size_t kMaxCountedInSweep = 96;

// Volumes of 4 and 5 objectives, if a sample shows many undominated points: by doubles against by
// ranks. 88 x 4: 1.1; 24 x 5: 1.2.
inline constexpr std::size_t kMaxUnranked4 = 88;
inline constexpr std::size_t kMaxUnranked5 = 24;

}  // namespace paretopo::cpu
