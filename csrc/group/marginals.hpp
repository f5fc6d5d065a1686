// From what each point of ONE group adds to the others, to advantages: hypervolume_advantage.
//
// Every step rounds in a fixed order, so that all backends agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "group/advantage.hpp"
#include "group/attainment.hpp"
#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

// The exact baseline is a mean of kSwap. With k = n nobody is left to swap with, and it is 0.
PARETOPO_HD inline Share share_of(Center center, std::int32_t count, std::int32_t k) {
    const bool is_exact = center == Center::kExact || center == Center::kStd;
    return is_exact && k < count ? Share::kSwap : Share::kMarginal;
}

struct MarginalCentring {
    double first;  // subtracted first of all: equal points get exactly 0
    double mean;
    double unit;  // a power of two that keeps squares in the range of doubles
    double divisor;  // 0: none
    double factor;

    PARETOPO_HD double apply(double marginal) const {
        const double gap = (marginal - first) - mean;
        if (divisor == 0.0 || gap == 0.0) return gap * factor;
        return gap * unit / divisor;
    }
};

// `marginals` are to be multiplied by 2^exponent; kStd is free of units, up to its epsilon.
PARETOPO_HD inline MarginalCentring marginal_centring(const double* marginals,
                                                      const std::uint8_t* mask, std::int32_t points,
                                                      std::int32_t count, std::int32_t k,
                                                      Center center, int exponent) {
    MarginalCentring centring{0.0, 0.0, 1.0, 0.0, 1.0};
    if (center == Center::kNone || (center == Center::kExact && k == count)) return centring;
    bool is_first = true;
    double sum = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        if (mask && mask[i] == 0) continue;
        if (is_first) centring.first = marginals[i];
        is_first = false;
        sum += marginals[i] - centring.first;
    }
    centring.mean = sum / count;
    if (center == Center::kLoo) {
        centring.factor = count > 1 ? static_cast<double>(count) / (count - 1) : 0.0;
    }
    if (center != Center::kStd) return centring;
    double largest = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        if (mask && mask[i] == 0) continue;
        const double gap = fabs((marginals[i] - centring.first) - centring.mean);
        if (gap > largest) largest = gap;
    }
    int power = 0;
    if (largest > 1e150) power = -ilogb(largest);
    centring.unit = ldexp(1.0, power);
    double squares = 0.0;
    for (std::int32_t i = 0; i < points; ++i) {
        if (mask && mask[i] == 0) continue;
        const double gap = ((marginals[i] - centring.first) - centring.mean) * centring.unit;
        squares += gap * gap;
    }
    const double epsilon = ldexp(kStdEpsilon, power - exponent);
    centring.divisor = count > 1 ? sqrt(squares / (count - 1)) + epsilon : 0.0;
    return centring;
}

// The advantages of a group; those of masked points are 0. For points lane, lane + lanes, ...
template <typename Scalar>
PARETOPO_HD void centre_marginals(const double* marginals, const std::uint8_t* mask,
                                  std::int32_t points, std::int32_t count, std::int32_t k,
                                  Center center, int exponent, Scalar* advantages, int lane,
                                  int lanes) {
    const MarginalCentring centring =
        marginal_centring(marginals, mask, points, count, k, center, exponent);
    const int power = center == Center::kStd ? 0 : exponent;
    for (std::int32_t i = lane; i < points; i += lanes) {
        double advantage = mask && mask[i] == 0 ? 0.0 : centring.apply(marginals[i]);
        if (power != 0) advantage = ldexp(advantage, power);
        advantages[i] = static_cast<Scalar>(advantage);
    }
}

}  // namespace paretopo
