// Computes advantages from the marginal contributions of the points of ONE group:
// hypervolume_advantage.
//
// Every step rounds in a fixed order, so that all backends agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "batch.hpp"
#include "formulas/advantage.hpp"
#include "formulas/attainment.hpp"
#include "portability.hpp"

namespace paretopo {

// The exact baseline is a mean of kSwap. With k = n there is no point to swap with, and it is 0.
PARETOPO_HD inline CellWeight cell_weight_of(Centre centre, std::int32_t count, std::int32_t k) {
    const bool is_exact = centre == Centre::kExact || centre == Centre::kStd;
    return is_exact && k < count ? CellWeight::kSwap : CellWeight::kMarginal;
}

// Mask of a group.
struct PresentPoints {
    const std::uint8_t* mask;  // null: no padding
    PARETOPO_HD bool operator()(std::int32_t i) const { return !mask || mask[i] != 0; }
};

struct MarginalCentring {
    double first = 0.0;  // subtracted first: equal points get exactly 0
    double mean = 0.0;
    double unit = 1.0;     // a power of two that keeps squares in the range of doubles
    double divisor = 0.0;  // 0: no division
    double factor = 1.0;
    int exponent = 0;

    PARETOPO_HD bool is_shift() const { return divisor == 0.0 && exponent == 0; }
    PARETOPO_HD double gap(double marginal) const { return (marginal - first) - mean; }
    PARETOPO_HD double apply(double marginal) const {
        const double own = gap(marginal);
        if (divisor != 0.0) return own * unit / divisor;
        return is_shift() ? own * factor : ldexp(own * factor, exponent);
    }
};

// Centre and scale that turn the `marginals` of a group into advantages; the results are to be
// multiplied by 2^exponent. `count` of the points are present.
template <typename Present>
PARETOPO_HD MarginalCentring marginal_centring(const double* marginals, const Present& present,
                                               std::int32_t points, std::int32_t count,
                                               std::int32_t k, Centre centre, int exponent) {
    MarginalCentring centring;
    centring.exponent = exponent;
    if (centre == Centre::kNone || (centre == Centre::kExact && k == count)) return centring;
    bool is_first = true;
    double sum = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        if (!present(i)) continue;
        if (is_first) centring.first = marginals[i];
        is_first = false;
        sum += marginals[i] - centring.first;
    }
    centring.mean = sum / count;
    if (centre == Centre::kLoo) {
        centring.factor = count > 1 ? static_cast<double>(count) / (count - 1) : 0.0;
    }
    if (centre != Centre::kStd || count < 2) return centring;
    double largest = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        const double size = present(i) ? fabs(centring.gap(marginals[i])) : 0.0;
        largest = size > largest ? size : largest;
    }
    const int power = largest > 1e150 ? -ilogb(largest) : 0;
    centring.unit = ldexp(1.0, power);
    double squares = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        if (!present(i)) continue;
        const double gap = centring.gap(marginals[i]) * centring.unit;
        squares += gap * gap;
    }
    // The epsilon is in the units of the volumes.
    centring.divisor = sqrt(squares / (count - 1)) + ldexp(kStdEpsilon, power - exponent);
    return centring;
}

}  // namespace paretopo
