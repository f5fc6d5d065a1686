// Computes advantages from Pareto ranks, for ONE group: stage 2 of ParetoPO.
//
//   A_i = fronts - rank_i + beta * (q_i - 1/2),   rank from 0,
//
// where q_i is the weighted sum of the rewards, min-max normalised within the front of point i.
// Every step rounds in a fixed order, so that all backends agree bit for bit. `Lanes` is
// OneLane<Scalar>, or Lanes<Scalar> of csrc/cpu/lanes/ with one group per lane.
#pragma once

#include <cmath>
#include <cstdint>

#include "batch.hpp"
#include "formulas/one_lane.hpp"
#include "portability.hpp"

namespace paretopo {

// Parameters that turn ranks into advantages, in the precision of the rewards.
template <typename Scalar>
struct Weighting {
    const Scalar* weights;  // (objectives,) or (groups, objectives)
    const Scalar* largest;  // (1,) or (groups,): larger rewards saturate, so no sum overflows
    bool per_group;
    Scalar beta;
    Centre centre;

    PARETOPO_HD const Scalar* weights_of(std::int64_t g, std::int32_t objectives) const {
        return per_group ? weights + g * objectives : weights;
    }
    PARETOPO_HD Scalar largest_of(std::int64_t g) const { return largest[per_group ? g : 0]; }
};

// w . r, with NaN as the lowest value and infinities saturated: a sum of rewards is always a
// number. kObjectives is 0 if only `objectives` gives their number. Without kSaturates the rewards
// are within -largest..largest.
template <typename Lanes, int kObjectives = 0, bool kSaturates = true, typename Rewards,
          typename Weights>
PARETOPO_HD PARETOPO_INLINE typename Lanes::F weighted_sum(const Rewards& rewards,
                                                           const Weights& weights,
                                                           typename Lanes::F largest,
                                                           int objectives) {
    auto sum = Lanes::all(0);
    const int count = kObjectives > 0 ? kObjectives : objectives;
    PARETOPO_UNROLL_4
    for (int m = 0; m < count; ++m) {
        if constexpr (kSaturates) {
            const auto reward = Lanes::larger(rewards[m], -largest);  // NaN becomes -largest
            sum = sum + weights[m] * Lanes::smaller(reward, largest);
        } else {
            sum = sum + weights[m] * rewards[m];
        }
    }
    return sum;
}

// The advantage before centring of a point whose weighted sum is `sum`, in a front whose sums span
// lowest..highest. q is exactly 0 and 1 at the ends. It is 1/2 if all sums of the front are equal
// (the formula gives 0/0).
template <typename Lanes>
PARETOPO_HD PARETOPO_INLINE typename Lanes::F rank_advantage(
    typename Lanes::I fronts, typename Lanes::I rank, typename Lanes::F beta, typename Lanes::F sum,
    typename Lanes::F lowest, typename Lanes::F highest) {
    const auto half = Lanes::all(0.5F);
    const auto q = highest > lowest ? (sum - lowest) / (highest - lowest) : half;
    return Lanes::to_floats(fronts - rank) + beta * (q - half);
}

inline constexpr double kStdEpsilon = 1e-6;  // GRPO's guard against a vanishing deviation

// Shift and scale for the advantages of a group; sums run in index order, in double.
struct Centring {
    double mean;
    double divisor;
    double factor;

    PARETOPO_HD bool has_scale() const { return divisor != 1.0 || factor != 1.0; }
    template <typename Scalar>
    PARETOPO_HD Scalar shift(Scalar advantage) const {
        return advantage - static_cast<Scalar>(mean);
    }
    template <typename Scalar>
    PARETOPO_HD Scalar scale(Scalar gap) const {
        const auto wide = static_cast<double>(gap);
        return static_cast<Scalar>((divisor == 1.0 ? wide : wide / divisor) * factor);
    }
    template <typename Scalar>
    PARETOPO_HD Scalar apply(Scalar advantage) const {
        const Scalar gap = shift(advantage);
        return has_scale() ? scale(gap) : gap;  // without a scale the same bits, in double
    }
};

template <typename Scalar>
PARETOPO_HD PARETOPO_INLINE Centring centring_of(const Scalar* advantages,
                                                 const std::int32_t* ranks, int points,
                                                 Centre centre) {
    if (centre == Centre::kNone) return {0.0, 1.0, 1.0};
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < points; ++i) {
        if (ranks[i] == kUnranked) continue;
        sum += static_cast<double>(advantages[i]);
        ++count;
    }
    if (count == 0) return {0.0, 1.0, 1.0};
    const double mean = sum / count;
    if (centre == Centre::kMean) return {mean, 1.0, 1.0};
    if (count == 1) return {mean, 1.0, 0.0};
    if (centre == Centre::kLoo) {
        return {mean, 1.0, static_cast<double>(count) / static_cast<double>(count - 1)};
    }
    double squares = 0.0;
    for (int i = 0; i < points; ++i) {
        if (ranks[i] == kUnranked) continue;
        const double gap = static_cast<double>(advantages[i]) - mean;
        squares += gap * gap;
    }
    return {mean, sqrt(squares / (count - 1)) + kStdEpsilon, 1.0};
}

// Writes the centred advantages of points lane, lane + lanes, ... Every lane sums the whole group,
// in the same order.
template <typename Scalar>
PARETOPO_HD PARETOPO_INLINE void centre(const Scalar* uncentred, const std::int32_t* ranks,
                                        std::int32_t points, Centre centre, Scalar* advantages,
                                        int lane, int lanes) {
    const Centring centring = centring_of(uncentred, ranks, points, centre);
    for (std::int32_t i = lane; i < points; i += lanes) {
        advantages[i] = ranks[i] == kUnranked ? Scalar(0) : centring.apply(uncentred[i]);
    }
}

}  // namespace paretopo
