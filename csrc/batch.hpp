// The input of every operation: a batch of groups of points; and the codes of its results.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

// A contiguous batch of groups of points: `values` has shape (groups, points, objectives).
template <typename Scalar>
struct Batch {
    const Scalar* values;
    const std::uint8_t* mask;  // (groups, points), 0 marks padding; null: no padding
    std::int64_t groups;
    std::int32_t points;
    std::int32_t objectives;
    std::uint64_t minimised;  // bit m: smaller is better in objective m; otherwise larger

    PARETOPO_HD const Scalar* group(std::int64_t g) const {
        return values + g * points * objectives;
    }
    PARETOPO_HD const std::uint8_t* group_mask(std::int64_t g) const {
        return mask ? mask + g * points : nullptr;
    }
    PARETOPO_HD bool is_minimised(int objective) const {
        return objective < 64 && (minimised >> objective & 1) != 0;
    }
    bool is_empty() const { return groups == 0 || points == 0; }
};

// The value subtracted from the advantages of a group; Python reads the codes from here.
enum class Centre : std::int32_t { kNone, kMean, kStd, kLoo, kExact };
inline constexpr const char* kCentreNames[] = {"none", "mean", "std", "loo", "exact"};

inline constexpr std::int32_t kUnranked = -1;  // the rank of a masked point
inline constexpr std::int64_t kNoneRefused = -1;

}  // namespace paretopo
