// From Pareto ranks to advantages, for ONE group: stage 2 of ParetoPO.
//
//   A_i = fronts - rank_i + beta * (q_i - 1/2),   rank from 0,
//
// where q_i is the weighted sum of the rewards, min-max normalised inside the front of point i.
// Every step rounds in a fixed order, so that all backends agree bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "group/carve.hpp"
#include "group/keys.hpp"
#include "group/team.hpp"
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

// The result, for points lane, lane + lanes, ... Every lane sums the whole group, in the same
// order.
template <typename Scalar>
PARETOPO_HD void centre(const Scalar* uncentred, const std::int32_t* ranks, std::int32_t points,
                        Centre centre, Scalar* advantages, int lane, int lanes) {
    const Centring centring = centring_of(uncentred, ranks, points, centre);
    for (std::int32_t i = lane; i < points; i += lanes) {
        advantages[i] = ranks[i] == kUnranked ? Scalar(0) : centring.apply(uncentred[i]);
    }
}

// The steps by which a team turns the ranks of one group into advantages, and their memory.
template <typename Scalar>
struct Scores {
    Scalar* sums;
    Scalar* uncentred;
    Key<Scalar>* lowest;   // sum of each front
    Key<Scalar>* highest;  // sum of each front

    PARETOPO_HD Scores(Carve& memory, std::int32_t points)
        : sums(memory.take<Scalar>(points)),
          uncentred(memory.take<Scalar>(points)),
          lowest(memory.take<Key<Scalar>>(points)),
          highest(memory.take<Key<Scalar>>(points)) {}

    template <typename Team>
    PARETOPO_HD void advantages(Team& team, const Batch<Scalar>& batch, std::int64_t g,
                                const Advantage<Scalar>& how, const std::int32_t* ranks,
                                std::int32_t fronts, Scalar* out) const {
        const std::int32_t points = batch.points;
        for_each(team, points, [&](std::int64_t i) {
            sums[i] = weighted_sum(batch.group(g) + i * batch.objectives, how.weights, how.largest,
                                   batch.objectives);
            lowest[i] = kHighestKey<Scalar>;
            highest[i] = kLowestKey<Scalar>;
        });
        for_each(team, points, [&](std::int64_t i) {
            if (ranks[i] == kUnranked) return;
            team.lower(&lowest[ranks[i]], key_of(sums[i], false));
            team.raise(&highest[ranks[i]], key_of(sums[i], false));
        });
        for_each(team, points, [&](std::int64_t i) {
            if (ranks[i] == kUnranked) return;
            const Scalar q = normalised_in_front(sums[i], value_of<Scalar>(lowest[ranks[i]]),
                                                 value_of<Scalar>(highest[ranks[i]]));
            uncentred[i] = rank_advantage(fronts, ranks[i], q, how.beta);
        });
        team.each([&](int lane) {
            centre(uncentred, ranks, points, how.centre, out, lane, team.lanes());
        });
    }
};

}  // namespace paretopo
