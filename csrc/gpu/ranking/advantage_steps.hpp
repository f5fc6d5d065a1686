// A team computes advantages from ranks: the weighted sums, the span of each front, and the
// formula.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/advantage.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// The weights of one group, in the precision of the rewards: its own or the shared ones.
template <typename Scalar>
struct GroupWeights {
    const double* own;  // (objectives,) or null
    const Scalar* shared;
    PARETOPO_HD Scalar operator[](int m) const {
        return own ? static_cast<Scalar>(own[m]) : shared[m];
    }
};

// A Weighting of one group.
template <typename Scalar>
struct GroupWeighting {
    GroupWeights<Scalar> weights;
    Scalar largest;
    Scalar beta;
    Centre centre;
};

// The steps in which a team turns the ranks of one group into advantages, and their memory.
template <typename Scalar>
struct AdvantageSteps {
    Scalar* sums;
    Scalar* uncentred;
    Key<Scalar>* lowest;   // lowest sum of each front
    Key<Scalar>* highest;  // highest sum of each front

    PARETOPO_HD AdvantageSteps(Arena& arena, std::int32_t points)
        : sums(arena.array<Scalar>(points)),
          uncentred(arena.array<Scalar>(points)),
          lowest(arena.array<Key<Scalar>>(points)),
          highest(arena.array<Key<Scalar>>(points)) {}

    template <typename Team>
    PARETOPO_HD void run(Team& team, const Batch<Scalar>& batch, std::int64_t g,
                         const GroupWeighting<Scalar>& how, const std::int32_t* ranks,
                         std::int32_t fronts, Scalar* out) const {
        const std::int32_t points = batch.points;
        for_each(team, points, [&](std::int64_t i) {
            sums[i] = weighted_sum<OneLane<Scalar>>(batch.group(g) + i * batch.objectives,
                                                    how.weights, how.largest, batch.objectives);
            lowest[i] = kHighestKey<Scalar>;
            highest[i] = kLowestKey<Scalar>;
        });
        for_each(team, points, [&](std::int64_t i) {
            if (ranks[i] == kUnranked) return;
            team.atomic_min(&lowest[ranks[i]], key_of(sums[i], false));
            team.atomic_max(&highest[ranks[i]], key_of(sums[i], false));
        });
        for_each(team, points, [&](std::int64_t i) {
            if (ranks[i] == kUnranked) return;
            uncentred[i] = rank_advantage<OneLane<Scalar>>(fronts, ranks[i], how.beta, sums[i],
                                                           value_of<Scalar>(lowest[ranks[i]]),
                                                           value_of<Scalar>(highest[ranks[i]]));
        });
        team.each_unsynced([&](int lane) {
            centre(uncentred, ranks, points, how.centre, out, lane, team.lanes());
        });
    }
};

}  // namespace paretopo::gpu
