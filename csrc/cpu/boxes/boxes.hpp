// Box decompositions: the region that a set of points dominates above a reference point, or leaves
// undominated, as disjoint boxes; and the improvement of candidates within such boxes. CPU only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

// Corners of the boxes of one group, (boxes, objectives) each: in a minimised objective the upper
// corner is the worse one.
struct Boxes {
    std::vector<double> lower, upper;
};

enum class Region { kNondominated, kDominated };

struct TooManyBoxes {};  // thrown if both corners of all boxes, padded, would take too much memory

// The boxes of each group; their number is not known in advance. Returns the flat index of the
// first value that is refused (NaN, or infinity on the better side), or kNoneRefused.
template <typename Scalar>
std::int64_t find_boxes(Batch<Scalar> batch, References ref, Region region, std::int64_t most_bytes,
                        std::vector<Boxes>& boxes);

// The largest number of boxes of any group. Throws if padding every group to it exceeds most_bytes.
std::int64_t padded_boxes(const std::vector<Boxes>& boxes, std::int32_t objectives,
                          std::int64_t most_bytes);

// lower, upper: (groups, padded, objectives), padded with boxes of no volume at the reference.
// counts: (groups,). Frees the memory of `boxes` as it goes.
void write_boxes(std::vector<Boxes>& boxes, References ref, std::int64_t padded,
                 std::int32_t objectives, double* lower, double* upper, std::int64_t* counts);

// Boxes to measure in, and the weight of volume in each: lower, upper (sets, count, objectives).
struct BoxSets {
    const double* lower;
    const double* upper;
    std::int64_t count;
    const std::int64_t* of_group;  // (groups,), the index of each group's set; null: all share one
    const double* weights = nullptr;  // (sets, count); null: 1
    // Shorter sides of a candidate's part of a box count as this long. Above 0, the sum is never 0,
    // and its logarithm has a derivative.
    double shortest_side = 0.0;
};

// Flat indices of values that an improvement refuses, or kNoneRefused.
struct RefusedImprovement {
    std::int64_t candidate = kNoneRefused;  // NaN, or infinity on the better side
    std::int64_t corner = kNoneRefused;     // NaN, or infinity on the worse side
};

// improvements: (groups,), the weighted volume that the candidates of a group dominate together in
// the boxes.
template <typename Scalar>
RefusedImprovement hypervolume_improvement(Batch<Scalar> candidates, BoxSets boxes,
                                           double* improvements);

// gradient: (groups, points, objectives), the derivative of the improvement with respect to each
// value.
template <typename Scalar>
RefusedImprovement hypervolume_improvement_gradient(Batch<Scalar> candidates, BoxSets boxes,
                                                    double* gradient);

// The same in expectation, for one candidate in each group: its first point has the means of
// independent Gaussian objectives, and its second point their standard deviations. A deviation that
// is negative or not finite is refused, too.
template <typename Scalar>
RefusedImprovement expected_hypervolume_improvement(Batch<Scalar> candidates, BoxSets boxes,
                                                    double* improvements);

// gradient: (groups, 2, objectives), the derivative with respect to each mean and deviation. With a
// deviation of 0 it is the limit of smaller and smaller ones.
template <typename Scalar>
RefusedImprovement expected_hypervolume_improvement_gradient(Batch<Scalar> candidates,
                                                             BoxSets boxes, double* gradient);

}  // namespace paretopo::cpu
