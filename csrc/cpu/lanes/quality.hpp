// The vector kernels of the quality indicators: lanes/quality/indicators.cpp.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// The gap between a row x and a row y of another set.
enum class Gap {
    kDistance,   // their squared distance
    kShortfall,  // the same, over only the values in which y is above x
    kExcess,     // the largest excess of y over x
    kProduct     // the largest x * y, of values that are not negative
};

// Rows (count, objectives), and the other rows in columns of `stride` values each.
struct TwoSets {
    const double* columns;
    std::size_t stride;        // a multiple of kMaxRowsAtOnce
    std::size_t column_count;  // up to stride
    const double* rows;
    std::size_t row_count;
    int objectives;
};
inline constexpr std::size_t kMaxRowsAtOnce = 32;

inline constexpr std::size_t kDirections = 64;  // rays at once

struct IndicatorKernels {
    // nearest: (stride,), lowered to the least gap between each row x in columns and any of `rows`.
    void (*find_nearest)(Gap gap, const TwoSets& sets, double* nearest);
    // The maximum over `rows` of the least gap (kExcess, kProduct) between a row in columns, here
    // y, and it, here x; at least `enough`. Every column counts, up to the stride.
    double (*find_farthest)(Gap gap, const TwoSets& sets, double enough);
    // For each ray from the common corner of all boxes. inverses: the inverse of its direction in a
    // column of (objectives, kDirections). The ray leaves the box of row i at distance r_i.
    // Computes one over the sum of (r_i / max r)^objectives. scratch: 8 * count.
    void (*share_rays)(const double* sides, std::size_t count, int objectives,
                       const double* inverses, double* scratch, double* shares);
};

}  // namespace paretopo::cpu
