// Ranks of large sets, as launches: one block per set, or all blocks on one set.
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/limits.hpp"
#include "group/advantage.hpp"
#include "group/carve.hpp"
#include "group/chain.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// Scratch of a batch of large sets: one after the other.
template <typename Scalar>
struct Chains {
    char* scratch;
    Batch<Scalar> batch;

    PARETOPO_HD Chain<Scalar> of(std::int64_t g) const {
        Carve memory(scratch + g * bytes(batch));
        return Chain<Scalar>(memory, batch.points, batch.objectives);
    }
    PARETOPO_HD static std::int64_t bytes(const Batch<Scalar>& batch) {
        Carve memory(nullptr);
        Chain<Scalar>(memory, batch.points, batch.objectives);
        Scores<Scalar>(memory, batch.points);
        return memory.end();
    }
    PARETOPO_HD Scores<Scalar> scores_of(std::int64_t g) const {
        Carve memory(scratch + g * bytes(batch));
        Chain<Scalar>(memory, batch.points, batch.objectives);
        return Scores<Scalar>(memory, batch.points);
    }
};

template <typename Scalar>
std::int64_t ranking_scratch(const Batch<Scalar>& batch, const Limits& limits) {
    if (!fits_warp(batch, limits)) return batch.groups * Chains<Scalar>::bytes(batch);
    if (fits_thread(batch, limits) || (batch.objectives >= 2 && batch.objectives <= 4)) return 0;
    return batch.groups * batch.points * batch.objectives *
           static_cast<std::int64_t>(sizeof(Key<Scalar>));
}

// Ranks of large sets that the caller has no use for: the scratch begins with them.
template <typename Scalar>
std::int64_t ranks_bytes(const Batch<Scalar>& batch, const Limits& limits) {
    if (fits_warp(batch, limits)) return 0;
    Carve memory(nullptr);
    memory.take<std::int32_t>(batch.groups * batch.points);
    return memory.end();
}

// ---- The steps of one large set as jobs: (block, part, parts, group) ----

template <typename Scalar>
struct ReadSet {
    Chains<Scalar> chains;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each([&](int lane) {
            chain.read(chains.batch, g, part * block.lanes() + lane, parts * block.lanes());
        });
    }
};

template <typename Scalar>
struct SortSet {
    Chains<Scalar> chains;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each(
            [&](int lane) { chain.sort(part * block.lanes() + lane, parts * block.lanes()); });
    }
};

// The points before `from` have settled and raised those up to `to`; from..to settle now, by the
// first block, after those of the super tile before have raised them. The other blocks let that
// super tile raise all points from `to` on.
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
            block.each([&](int lane) {
                chain.template raise<kObjectives>(before, from, from, to, lane, block.lanes());
            });
            chain.template settle<kObjectives>(block, from, to, tile);
        } else {
            block.each([&](int lane) {
                chain.template raise<kObjectives>(before, from, to, chain.points,
                                                  (part - 1) * block.lanes() + lane,
                                                  (parts - 1) * block.lanes());
            });
        }
    }
};

template <typename Scalar>
struct WriteRanks {
    Chains<Scalar> chains;
    std::int32_t* ranks;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each([&](int lane) {
            chain.write(block, chains.batch.group_mask(g), ranks + g * chain.points,
                        part * block.lanes() + lane, parts * block.lanes());
        });
    }
};

// All steps by one block.
template <typename Scalar, int kObjectives>
struct RankSet {
    Chains<Scalar> chains;
    std::int32_t* ranks;
    std::int32_t tile;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        ReadSet<Scalar>{chains}(block, 0, 1, g);
        SortSet<Scalar>{chains}(block, 0, 1, g);
        chains.of(g).template settle<kObjectives>(block, 0, chains.batch.points, tile);
        WriteRanks<Scalar>{chains, ranks}(block, 0, 1, g);
    }
};

// The chains lie where the scratch of `place` begins. ranks must not be null.
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
        launcher.blocks(parts, groups, SortSet<Scalar>{chains});
        for (std::int64_t from = 0; from < points; from += limits.super_tile) {
            const std::int64_t before = std::max<std::int64_t>(from - limits.super_tile, 0);
            const std::int64_t to = std::min<std::int64_t>(from + limits.super_tile, points);
            const std::int64_t raised = from == 0 ? 0 : points - to;
            launcher.blocks(
                1 + launcher.parts(raised), groups,
                SettleSuperTile<Scalar, kObjectives>{chains, before, from, to, limits.tile});
        }
        launcher.blocks(parts, groups, WriteRanks<Scalar>{chains, ranks});
    });
}

}  // namespace paretopo::gpu
