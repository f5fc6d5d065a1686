// From Pareto ranks to advantages, for ONE group: stage 2 of ParetoPO.
//
//   A_i = fronts - rank_i + beta * (q_i - 1/2),   rank from 0,
//
// where q_i is the weighted sum of the rewards, min-max normalised inside the front of point i.
// Every step rounds in a fixed order, so that all backends agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

inline constexpr double kStdEpsilon = 1e-6;  // GRPO's guard against a vanishing deviation

// w . r, with NaN at the bottom and infinities saturated: a sum of rewards is always a number.
template <typename Scalar>
PARETOPO_HD Scalar weighted_sum(const Scalar* rewards, const Scalar* weights, Scalar largest,
                                int objectives) {
    Scalar sum = 0;
    for (int m = 0; m < objectives; ++m) {
        Scalar reward = rewards[m];
        if (!(reward > -largest)) reward = -largest;  // NaN too
        if (reward > largest) reward = largest;
        sum = sum + weights[m] * reward;
    }
    return sum;
}

// Exactly 0 and 1 at the ends, 1/2 where a front has one value only (the formula reads 0/0 there).
template <typename Scalar>
PARETOPO_HD Scalar normalised_in_front(Scalar sum, Scalar lowest, Scalar highest) {
    if (!(highest > lowest)) return Scalar(0.5);
    return (sum - lowest) / (highest - lowest);
}

template <typename Scalar>
PARETOPO_HD Scalar rank_advantage(std::int32_t fronts, std::int32_t rank, Scalar normalised,
                                  Scalar beta) {
    return static_cast<Scalar>(fronts - rank) + beta * (normalised - Scalar(0.5));
}

// What the advantages of a group are centred and scaled by; sums run in index order, in double.
struct Centring {
    double mean;
    double divisor;
    double factor;

    template <typename Scalar>
    PARETOPO_HD Scalar apply(Scalar advantage) const {
        const Scalar gap = advantage - static_cast<Scalar>(mean);
        return static_cast<Scalar>(static_cast<double>(gap) / divisor * factor);
    }
};

template <typename Scalar>
PARETOPO_HD Centring centring_of(const Scalar* advantages, const std::int32_t* ranks, int points,
                                 Center center) {
    if (center == Center::kNone) return {0.0, 1.0, 1.0};
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < points; ++i) {
        if (ranks[i] == kUnranked) continue;
        sum += static_cast<double>(advantages[i]);
        ++count;
    }
    if (count == 0) return {0.0, 1.0, 1.0};
    const double mean = sum / count;
    if (center == Center::kMean) return {mean, 1.0, 1.0};
    if (count == 1) return {mean, 1.0, 0.0};
    if (center == Center::kLoo) {
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

// ---- The three steps of one lane of many; between them all lanes wait for each other ----

// 1. Weighted sums of points lane, lane + lanes, ...
template <typename Scalar>
PARETOPO_HD void sum_rewards(const Batch<Scalar>& batch, std::int64_t g,
                             const Advantage<Scalar>& how, Scalar* sums, int lane, int lanes) {
    for (std::int32_t i = lane; i < batch.points; i += lanes) {
        sums[i] = weighted_sum(batch.group(g) + std::int64_t{i} * batch.objectives, how.weights,
                               how.largest, batch.objectives);
    }
}

// 2. Advantages before centring. Ranks are complete.
template <typename Scalar>
PARETOPO_HD void rank_advantages(const Scalar* sums, const std::int32_t* ranks, std::int32_t fronts,
                                 std::int32_t points, Scalar beta, Scalar* uncentred, int lane,
                                 int lanes) {
    for (std::int32_t i = lane; i < points; i += lanes) {
        Scalar lowest = sums[i];
        Scalar highest = sums[i];
        for (std::int32_t j = 0; j < points; ++j) {
            if (ranks[j] != ranks[i]) continue;
            if (sums[j] < lowest) lowest = sums[j];
            if (sums[j] > highest) highest = sums[j];
        }
        uncentred[i] =
            rank_advantage(fronts, ranks[i], normalised_in_front(sums[i], lowest, highest), beta);
    }
}

// 3. The result. Every lane sums the whole group, in the same order.
template <typename Scalar>
PARETOPO_HD void centre(const Scalar* uncentred, const std::int32_t* ranks, std::int32_t points,
                        Center center, Scalar* advantages, int lane, int lanes) {
    const Centring centring = centring_of(uncentred, ranks, points, center);
    for (std::int32_t i = lane; i < points; i += lanes) {
        advantages[i] = ranks[i] == kUnranked ? Scalar(0) : centring.apply(uncentred[i]);
    }
}

}  // namespace paretopo
