// Crowding distance. Definition: Deb et al., 2002, NSGA-II, section III-B, with each objective
// scaled by its range within the front.
#pragma once

#include <cstdint>
#include <limits>

#include "group/keys.hpp"
#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

inline constexpr double kAlone = std::numeric_limits<double>::infinity();  // at an end

// What a point adds that lies between `below` and `above` on a front spanning lowest..highest.
// A span of zero, or one that is not finite, says nothing about crowding and adds nothing.
PARETOPO_HD inline double crowding_gap(double below, double above, double lowest, double highest) {
    const double span = highest - lowest;
    const bool is_usable = span > 0.0 && span <= 1.7976931348623157e308;
    return is_usable ? (above - below) / span : 0.0;
}

// The distance of point i, looking at all points of its set; O(points * objectives).
// key(j, m): the key of point j, larger values better.
template <typename Scalar, typename KeyAt>
PARETOPO_HD double crowding_of(const std::int32_t* ranks, std::int32_t i, std::int32_t points,
                               std::int32_t objectives, KeyAt key) {
    if (ranks[i] == kUnranked) return 0.0;
    double distance = 0.0;
    for (std::int32_t m = 0; m < objectives; ++m) {
        const Key<Scalar> own = key(i, m);
        Key<Scalar> below = own;
        Key<Scalar> above = own;
        Key<Scalar> lowest = own;
        Key<Scalar> highest = own;
        bool has_below = false;
        bool has_above = false;
        for (std::int32_t j = 0; j < points; ++j) {
            if (j == i || ranks[j] != ranks[i]) continue;
            const Key<Scalar> other = key(j, m);
            lowest = other < lowest ? other : lowest;
            highest = other > highest ? other : highest;
            if (other < own || (other == own && j < i)) {
                below = !has_below || other > below ? other : below;
                has_below = true;
            } else {
                above = !has_above || other < above ? other : above;
                has_above = true;
            }
        }
        if (!has_below || !has_above) {
            distance = kAlone;
        } else if (distance != kAlone) {
            const auto as_double = [](Key<Scalar> k) {
                return static_cast<double>(value_of<Scalar>(k));
            };
            distance += crowding_gap(as_double(below), as_double(above), as_double(lowest),
                                     as_double(highest));
        }
    }
    return distance;
}

}  // namespace paretopo
