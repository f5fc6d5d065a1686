// Crowding distance. Definition: Deb et al., 2002, NSGA-II, section III-B, with each objective
// scaled by its range within the front.
#pragma once

#include <limits>

#include "portability.hpp"

namespace paretopo {

// The distance of a point at either end of its front.
inline constexpr double kAtAnEnd = std::numeric_limits<double>::infinity();

// Contribution of one objective for a point between neighbours `below` and `above`, on a front that
// spans lowest..highest. It is 0 if the span is zero or not finite.
PARETOPO_HD inline double crowding_gap(double below, double above, double lowest, double highest) {
    const double span = highest - lowest;
    const bool is_usable = span > 0.0 && span <= 1.7976931348623157e308;
    return is_usable ? (above - below) / span : 0.0;
}

// Does every point of a front of several have the same value? NaN is one value. Such an objective
// has no ends and adds nothing, so that the order of the points does not matter.
PARETOPO_HD inline bool is_flat(double lowest, double highest) {
    return lowest == highest || (lowest != lowest && highest != highest);
}

}  // namespace paretopo
