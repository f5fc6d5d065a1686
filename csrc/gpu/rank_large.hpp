// Launches of rank_large: one block per set, or all blocks on one set.
#pragma once

#include <algorithm>
#include <cstdint>

#include "batch.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/ranking/large_sets.hpp"

namespace paretopo::gpu {

// Lets the super tile before..from raise the next one, from..to.
template <typename Scalar, int kObjectives>
struct RaiseSuperTile {
    Chains<Scalar> chains;
    Splits splits;
    std::int64_t before, from, to;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        splits.each(block, part, parts, from, to, before, from,
                    [&](std::int64_t i, std::int64_t first, std::int64_t last) {
                        chain.template raise_together<kObjectives>(block, i, first, last);
                    });
    }
};

// The first block settles from..to, which all earlier points have raised. The other blocks let the
// super tile before..from raise all points from `to` on.
template <typename Scalar, int kObjectives>
struct SettleSuperTile {
    Chains<Scalar> chains;
    std::int64_t before, from, to;
    std::int32_t tile;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        if (part == 0) {
            chain.template settle<kObjectives>(block, from, to, tile);
        } else {
            block.each_unsynced([&](int lane) {
                chain.template raise<kObjectives>(before, from, to, chain.points,
                                                  (part - 1) * block.lanes() + lane,
                                                  (parts - 1) * block.lanes());
            });
        }
    }
};

template <typename Place, typename Scalar>
void rank_large(Place place, Batch<Scalar> batch, std::int32_t* ranks) {
    auto launcher = launcher_of(place, "the ranking of large sets");
    const Limits limits = limits_of(place);
    const Chains<Scalar> chains{place.scratch, batch};
    const std::int64_t points = batch.points;
    const std::int64_t groups = batch.groups;
    with_objectives(batch.objectives, [&](auto m) {
        constexpr int kObjectives = decltype(m)::value;
        if (fits_block(batch, limits)) {
            return launcher.blocks(1, groups,
                                   RankSet<Scalar, kObjectives>{chains, ranks, limits.tile});
        }
        const std::int64_t parts = launcher.parts(points);
        launcher.blocks(parts, groups, ReadSet<Scalar>{chains});
        const Splits all = splits_of(parts, groups, points, limits);
        launcher.blocks(parts * all.splits, groups, CountBefore<Scalar>{chains, all});
        launcher.blocks(parts, groups, SortSet<Scalar>{chains});
        launcher.blocks(parts, groups,
                        FindDominatorsInTiles<Scalar, kObjectives>{chains, limits.tile});
        for (std::int64_t from = 0; from < points; from += limits.super_tile) {
            const std::int64_t before = std::max<std::int64_t>(from - limits.super_tile, 0);
            const std::int64_t to = std::min<std::int64_t>(from + limits.super_tile, points);
            if (from > 0) {
                const std::int64_t next = launcher.parts(to - from);
                const Splits few = splits_of(next, groups, from - before, limits);
                launcher.blocks(next * few.splits, groups,
                                RaiseSuperTile<Scalar, kObjectives>{chains, few, before, from, to});
            }
            const std::int64_t raised = from == 0 ? 0 : points - to;
            launcher.blocks(
                1 + launcher.parts(raised), groups,
                SettleSuperTile<Scalar, kObjectives>{chains, before, from, to, limits.tile});
        }
        launcher.blocks(parts, groups, WriteRanks<Scalar>{chains, ranks});
    });
}

PARETOPO_INSTANTIATE_HERE(rank_large)

}  // namespace paretopo::gpu
