// Sizes of archives at which one algorithm takes over from another, as in instruction_sets.hpp.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// The members of an archive from 3 objectives on: all compared, against their index. Additions to
// 400 members: 1.8 with 3 objectives, 2.4 with 5. (The script measures neither this size nor the
// next: the ratios are those of two builds in turn.)
inline constexpr std::size_t kMinIndexed = 256;
// The sides of these members, sorted by the last one, against their index. Additions to 900
// members: 1.3 with 3 objectives, 1.1 with 5.
inline constexpr std::size_t kMaxSortedInArchive = 768;

}  // namespace paretopo::cpu
