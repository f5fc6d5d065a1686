// One point as sides: distances from the reference in the better direction, in double.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

inline constexpr int kMostSides = 16;  // objectives of a volume on a GPU
inline constexpr double kNoVolume = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLargestSide = 1.7976931348623157e308;

// The reference point, by value: it travels with the launch.
struct Reference {
    double at[kMostSides];
};

// How much better than the reference.
template <typename Scalar>
PARETOPO_HD double distance_of(Scalar value, double ref, bool minimised) {
    return minimised ? ref - static_cast<double>(value) : static_cast<double>(value) - ref;
}

// NaN, infinity on the better side and a distance beyond the largest number have no place in a
// volume.
template <typename Scalar>
PARETOPO_HD bool is_refused(Scalar value, double ref, bool minimised) {
    return !(distance_of(value, ref, minimised) <= kLargestSide);
}

// Positive where the value is better than the reference; never infinite, so that the set of a
// refused value is measured without harm before its volume is withheld.
template <typename Scalar>
PARETOPO_HD double side_of(Scalar value, double ref, bool minimised) {
    const double side = distance_of(value, ref, minimised);
    return side < kLargestSide ? side : kLargestSide;
}

// Any value of point i that is refused?
// corner(m): the reference of the group.
template <typename Scalar, typename Corner>
PARETOPO_HD bool is_refused_point(const Batch<Scalar>& batch, std::int64_t g, std::int64_t i,
                                  Corner corner) {
    const std::uint8_t* mask = batch.group_mask(g);
    if (mask && mask[i] == 0) return false;
    const Scalar* point = batch.group(g) + i * batch.objectives;
    for (std::int32_t m = 0; m < batch.objectives; ++m) {
        if (is_refused(point[m], corner(m), batch.is_minimised(m))) return true;
    }
    return false;
}

// A power of two that brings a side near 1, where its own size would endanger products.
struct Scale {
    double factor;  // multiply by it
    int power;      // and the product by 2^power

    PARETOPO_HD static Scale of(double side) {
        constexpr int kSafe = 600 / kMostSides;
        const int power = side > 0.0 ? ilogb(side) : 0;
        if (power <= kSafe && power >= -kSafe) return {1.0, 0};
        const int near = power > 1000 ? 1000 : (power < -1000 ? -1000 : power);
        return {ldexp(1.0, -near), near};
    }
};

}  // namespace paretopo
