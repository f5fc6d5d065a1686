// The vector kernels of the quality indicators: lanes/quality/indicators.cpp.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// What lies between a row x and a row y of another set.
enum class Gap {
    kDistance,   // the square of their distance
    kShortfall,  // the same, of the values alone in which y is above x
    kExcess,     // how far y is above x, where it is most
    kProduct     // x * y where it is largest, of values that are not negative
};

// Rows (count, objectives), and others in columns of `stride` values each.
struct TwoSets {
    const double* columns;
    std::size_t stride;        // a multiple of kMostRowsAtOnce
    std::size_t column_count;  // up to stride
    const double* rows;
    std::size_t row_count;
    int objectives;
};
inline constexpr std::size_t kMostRowsAtOnce = 32;

inline constexpr std::size_t kDirections = 64;  // rays at once

struct IndicatorKernels {
    // nearest: (stride,), lowered to the least gap between a row in columns, x, and any of `rows`.
    void (*find_nearest)(Gap gap, const TwoSets& sets, double* nearest);
    // The largest, over `rows`, of the least gap (kExcess, kProduct) between a row in columns, here
    // y, and it, here x; no less than `enough`. Every column counts, up to the stride.
    double (*find_farthest)(Gap gap, const TwoSets& sets, double enough);
    // Of each ray from the corner that all boxes have in common, with the inverse of its direction
    // in a column of (objectives, kDirections): it leaves the box of row i at a distance r_i; one
    // over the sum of (r_i / max r)^objectives. scratch: 8 * count.
    void (*share_rays)(const double* sides, std::size_t count, int objectives,
                       const double* inverses, double* scratch, double* shares);
};

}  // namespace paretopo::cpu
