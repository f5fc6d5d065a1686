// Box decompositions: what a set of points dominates above a reference point, or leaves, as boxes
// that do not overlap; and what candidates improve in such boxes. On the CPU alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

// Corners of the boxes of one group, (boxes, objectives) each, as numbers: in an objective that is
// minimised the upper corner is the worse one.
struct Boxes {
    std::vector<double> lower, upper;
};

enum class Region { kNondominated, kDominated };

// Both corners of all boxes, padded, may take so many bytes; Python has the number from here.
inline constexpr std::int64_t kMostBoxBytes = std::int64_t{1} << 32;
struct TooManyBoxes {};  // thrown where they would take more

// The boxes of each group; how many there are is known only afterwards. Returns the flat index of
// the first value that is refused (NaN, or infinity on the better side), or kNoneRefused.
template <typename Scalar>
std::int64_t find_boxes(Batch<Scalar> batch, References ref, Region region, std::int64_t most_bytes,
                        std::vector<Boxes>& boxes);

// How many boxes the fullest group has, if all of them padded to that number are not too many.
std::int64_t padded_boxes(const std::vector<Boxes>& boxes, std::int32_t objectives,
                          std::int64_t most_bytes);

// lower, upper: (groups, padded, objectives), boxes of no volume at the reference after the last;
// counts: (groups,). The memory of `boxes` is given back on the way.
void write_boxes(std::vector<Boxes>& boxes, References ref, std::int64_t padded,
                 std::int32_t objectives, double* lower, double* upper, std::int64_t* counts);

// Boxes to measure in, and what volume in each counts: lower, upper (sets, count, objectives).
struct BoxSets {
    const double* lower;
    const double* upper;
    std::int64_t count;
    const std::int64_t* of_group;     // (groups,), which set; null: all groups share one
    const double* weights = nullptr;  // (sets, count); null: 1
};

// What has no place in an improvement: flat indices, or kNoneRefused.
struct RefusedImprovement {
    std::int64_t candidate = kNoneRefused;  // NaN, or infinity on the better side
    std::int64_t corner = kNoneRefused;     // NaN, or infinity on the worse side
};

// improvements: (groups,), the volume in the boxes that the candidates of a group dominate
// together, weighted.
template <typename Scalar>
RefusedImprovement hypervolume_improvement(Batch<Scalar> candidates, BoxSets boxes,
                                           double* improvements);

// gradient: (groups, points, objectives), what it gains for each unit of a value.
template <typename Scalar>
RefusedImprovement hypervolume_improvement_gradient(Batch<Scalar> candidates, BoxSets boxes,
                                                    double* gradient);

}  // namespace paretopo::cpu
