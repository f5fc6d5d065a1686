// Launches of rank_large: one block per set, or all blocks on one set.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/ranking/large_sets.hpp"
#include "gpu/ranking/raise.hpp"

namespace paretopo::gpu {

template <typename Place, typename Scalar>
void rank_large(Place place, Batch<Scalar> batch, std::int32_t* ranks) {
    auto launcher = launcher_of(place, "the ranking of large sets");
    const Limits limits = limits_of(place);
    const Chains<Scalar> chains{place.scratch, batch};
    const std::int64_t groups = batch.groups;
    with_objectives(batch.objectives, [&](auto m) {
        constexpr int kObjectives = decltype(m)::value;
        if (fits_block(batch, limits)) {
            return launcher.blocks(1, groups,
                                   RankSet<Scalar, kObjectives>{chains, ranks, limits.tile});
        }
        rank_by_runs<kObjectives>(launcher, chains, limits);
        launcher.blocks(launcher.parts(batch.points), groups, WriteRanks<Scalar>{chains, ranks});
    });
}

PARETOPO_INSTANTIATE_HERE(rank_large)

}  // namespace paretopo::gpu
