// Sides: distances of a point from the reference in the better direction, in double. What volumes
// are products of.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "portability.hpp"

namespace paretopo {

inline constexpr double kLargestSide = std::numeric_limits<double>::max();

// Where volumes begin: one reference point, or one for each group.
struct References {
    const double* at;  // (objectives,) or (groups, objectives)
    bool per_group;
    PARETOPO_HD const double* of(std::int64_t g, std::int32_t objectives) const {
        return per_group ? at + g * objectives : at;
    }
};

// A value or a reference of which more is better.
PARETOPO_HD inline double oriented(double value, bool minimised) {
    return minimised ? -value : value;
}

// NaN, infinity on the better side and a distance beyond the largest number have no place in a
// volume. Value and reference are oriented, as are those of side_of.
PARETOPO_HD inline bool is_refused(double value, double ref) {
    return !(value - ref <= kLargestSide);
}

// Positive where the value is better than the reference; never infinite, so that the set of a
// refused value is measured without harm before its volume is withheld.
PARETOPO_HD inline double side_of(double value, double ref) {
    const double side = value - ref;
    return side < kLargestSide ? side : kLargestSide;
}

// Of so many sides within 2^-safe..2^safe, no product leaves the range of doubles.
PARETOPO_HD constexpr int safe_power(int sides) { return 600 / sides; }

// The power of two that sides are divided by, of which `largest` is the largest: 0 if it is safe.
// Powers of two change no digit.
PARETOPO_HD inline int excess_power(double largest, int sides) {
    const int power = largest > 0.0 ? ilogb(largest) : 0;
    return power <= safe_power(sides) && power >= -safe_power(sides) ? 0 : power;
}

}  // namespace paretopo
