// Sides: distances of a point from the reference in the better direction, in double. Volumes are
// products of sides.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "portability.hpp"

namespace paretopo {

inline constexpr double kLargestSide = std::numeric_limits<double>::max();

// The origin of volumes: one reference point, or one for each group.
struct References {
    const double* at;  // (objectives,) or (groups, objectives)
    bool per_group;
    PARETOPO_HD const double* of(std::int64_t g, std::int32_t objectives) const {
        return per_group ? at + g * objectives : at;
    }
};

// Flips the sign of a minimised value, so that larger is better.
PARETOPO_HD inline double oriented(double value, bool minimised) {
    return minimised ? -value : value;
}

// Turns a slope to the sense of the caller's values. The sum keeps -0.0 out of the results.
PARETOPO_HD inline double turned_slope(double slope, double sign) { return sign * slope + 0.0; }

// True for NaN, for infinity on the better side, and if the distance overflows. Value and reference
// are oriented, as in side_of.
PARETOPO_HD inline bool is_refused(double value, double ref) {
    return !(value - ref <= kLargestSide);
}

// Positive if the value is better than the reference. Never infinite, so that a set with a refused
// value can be measured before its volume is discarded.
PARETOPO_HD inline double side_of(double value, double ref) {
    const double side = value - ref;
    return side < kLargestSide ? side : kLargestSide;
}

// If all sides lie within 2^-safe..2^safe, no product of this many sides leaves the range of
// doubles.
PARETOPO_HD constexpr int safe_power(int sides) { return 600 / sides; }

// The exponent of the power of two that sides are divided by, given the largest side; 0 if that
// side is safe. Division by powers of two is exact.
PARETOPO_HD inline int excess_power(double largest, int sides) {
    const int power = largest > 0.0 ? ilogb(largest) : 0;
    return power <= safe_power(sides) && power >= -safe_power(sides) ? 0 : power;
}

}  // namespace paretopo
