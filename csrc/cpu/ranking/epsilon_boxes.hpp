// ε-boxes and their filter. CPU only, for arrays: for tensors, Python composes it from other calls.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "batch.hpp"

namespace paretopo::cpu {

// The place of a value in its box; smaller is better.
struct InBox {
    double box;   // the number of the box
    double own;   // the value, if the box holds no other double; otherwise 0
    double part;  // the distance from the better end of the box, in sides
};

// Neither number decreases as the value grows. From 2^53 sides on, a side is smaller than the gap
// between neighbouring doubles, and each value has a box of its own.
inline InBox place_in_box(double value, double side) {
    constexpr double kLast = 9007199254740992.0;
    double place = value / side;
    if (place == 0.0 && value < 0.0) place = -std::numeric_limits<double>::denorm_min();
    if (std::abs(place) >= kLast) return {std::copysign(kLast, place), value, 0.0};
    const double box = std::floor(place);
    return {box, 0.0, place - box};
}

// kept: (groups, points), 1 for one point in each box that no other box dominates: the point
// nearest to the best corner of its box; among these the better one in the first objective that
// differs; then the first. sides: (objectives,), finite and above 0.
template <typename Scalar>
void filter_boxes(Batch<Scalar> batch, const double* sides, std::uint8_t* kept);

}  // namespace paretopo::cpu
