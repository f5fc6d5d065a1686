// Sizes of groups with a mask at which one algorithm takes over from another, as in
// instruction_sets.hpp.
#pragma once

#include <cstdint>

namespace paretopo::cpu {

// Groups with a mask are copied without their padding before the lanes see them, within these
// numbers of points, if at most half of the points are present in the fullest group.
inline constexpr std::int32_t kMinCompacted = 8;
inline constexpr std::int32_t kMaxCompacted = 64;  // a bit each

}  // namespace paretopo::cpu
