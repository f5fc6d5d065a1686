// Scratch of large sets, and their steps as jobs: one block per set, or all blocks on one set.
#pragma once

#include <algorithm>
#include <cstdint>

#include "batch.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/ranking/advantage_steps.hpp"
#include "gpu/ranking/chain.hpp"
#include "gpu/sorting/curve.hpp"
#include "gpu/sorting/order.hpp"
#include "gpu/sorting/tree.hpp"

namespace paretopo::gpu {

// Scratch of a batch of large sets, one set after another. The host computes the bytes of each, so
// that no thread does.
template <typename Scalar>
struct Chains {
    char* scratch;
    Batch<Scalar> batch;
    std::int64_t each = bytes(batch);

    PARETOPO_HD Chain<Scalar> of(std::int64_t g) const {
        Arena arena(scratch + g * each);
        return Chain<Scalar>(arena, batch.points, batch.objectives);
    }
    PARETOPO_HD static std::int64_t bytes(const Batch<Scalar>& batch) {
        Arena arena(nullptr);
        Chain<Scalar>(arena, batch.points, batch.objectives);
        AdvantageSteps<Scalar>(arena, batch.points);
        return arena.bytes();
    }
    PARETOPO_HD AdvantageSteps<Scalar> advantage_of(std::int64_t g) const {
        Arena arena(scratch + g * each);
        Chain<Scalar>(arena, batch.points, batch.objectives);
        return AdvantageSteps<Scalar>(arena, batch.points);
    }
};

// Memory of one set, besides its chain.
template <typename Scalar>
struct Search {
    Spans<Scalar> spans;
    Order<Scalar> order;
    Tree<Key<Scalar>> tree;  // of all points along the curve; the rank is the last column
    std::int32_t* rows;      // of the sorted points in the tree
    std::uint32_t* above;    // (tiles, points) of a run: see Chain::compare_with_tile
    std::int32_t* tiles;     // of each point of a run: the tiles for which `above` has bits
    std::int32_t* raised;    // of each point of a run: its next rank

    PARETOPO_HD Search(Arena& arena, const Key<Scalar>* rows, bool has_ordered_rows,
                       const Batch<Scalar>& batch, const Limits& limits)
        : spans(arena, batch.objectives),
          order(arena, rows, batch.points, batch.objectives, limits.run_bits, has_ordered_rows),
          tree(arena, batch.points, batch.objectives + 1, limits.wide_fan_bits),
          rows(arena.array<std::int32_t>(batch.points)),
          above(arena.array<std::uint32_t>(limits.run_points * limits.run_points / limits.tile)),
          tiles(arena.array<std::int32_t>(limits.run_points)),
          raised(arena.array<std::int32_t>(limits.run_points)) {}
};

// The searches of the points of the run from..to of each set. Their memory follows the chains.
template <typename Scalar>
struct Searches {
    Chains<Scalar> chains;
    Limits limits;
    bool is_along_curve = false;  // otherwise the order is that of the sums
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t each = bytes(chains.batch, limits);

    static PARETOPO_HD std::int64_t bytes(const Batch<Scalar>& batch, const Limits& limits) {
        Arena arena(nullptr);
        Search<Scalar>(arena, nullptr, false, batch, limits);
        return arena.bytes();
    }
    PARETOPO_HD Search<Scalar> of(std::int64_t g) const {
        const Batch<Scalar>& batch = chains.batch;
        Arena arena(chains.scratch + batch.groups * chains.each + g * each);
        const auto chain = chains.of(g);
        return Search<Scalar>(arena, is_along_curve ? chain.sorted : chain.given, is_along_curve,
                              batch, limits);
    }
    PARETOPO_HD Order<Scalar> order(std::int64_t g) const { return of(g).order; }
    PARETOPO_HD Tree<Key<Scalar>> tree(std::int64_t g) const { return of(g).tree; }
};

template <typename Scalar>
std::int64_t ranking_bytes(const Batch<Scalar>& batch, const Limits& limits) {
    if (!fits_warp(batch, limits)) {
        const std::int64_t more =
            fits_block(batch, limits) ? 0 : Searches<Scalar>::bytes(batch, limits);
        return batch.groups * (Chains<Scalar>::bytes(batch) + more);
    }
    if (fits_thread(batch, limits) || (batch.objectives >= 2 && batch.objectives <= 4)) return 0;
    return batch.groups * batch.points * batch.objectives *
           static_cast<std::int64_t>(sizeof(Key<Scalar>));
}

// Ranks of large sets that the caller does not need: they are at the start of the scratch.
template <typename Scalar>
std::int64_t ranks_bytes(const Batch<Scalar>& batch, const Limits& limits) {
    if (fits_warp(batch, limits)) return 0;
    Arena arena(nullptr);
    arena.array<std::int32_t>(batch.groups * batch.points);
    return arena.bytes();
}

// ---- The steps of one large set as jobs: (block, part, parts, group) ----
//
// No step ends with a barrier, because the end of its launch is one.

template <typename Scalar>
struct ReadSet {
    Chains<Scalar> chains;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each_unsynced([&](int lane) {
            chain.read(chains.batch, g, part * block.lanes() + lane, parts * block.lanes());
        });
    }
};

// Point by point, all others of the set: a block takes some of the points, one per lane, and one of
// `splits` parts of the others, so that a set of a few thousand points occupies a whole device.
struct Splits {
    std::int64_t splits;

    // Calls visit(i, from, to): compare point i, of first..last, with the points of begin..end in
    // from..to.
    template <typename Block, typename Visit>
    PARETOPO_HD void each(Block& block, std::int64_t part, std::int64_t parts, std::int64_t first,
                          std::int64_t last, std::int64_t begin, std::int64_t end,
                          Visit visit) const {
        const std::int64_t own = part % splits;
        const std::int64_t from = begin + (end - begin) * own / splits;
        const std::int64_t to = begin + (end - begin) * (own + 1) / splits;
        const std::int64_t stride = parts / splits * block.lanes();
        block.each_unsynced([&](int lane) {
            for (std::int64_t i = first + part / splits * block.lanes() + lane; i < last;
                 i += stride) {
                visit(i, from, to);
            }
        });
    }
};

// As many splits as occupy a device, each with at least least_in_split of the `others`.
inline Splits splits_of(std::int64_t parts, std::int64_t groups, std::int64_t others,
                        const Limits& limits) {
    const std::int64_t most = std::max<std::int64_t>(others / limits.least_in_split, 1);
    return {std::clamp<std::int64_t>(limits.blocks / (parts * groups), 1, most)};
}

template <typename Scalar>
struct CountBefore {
    Chains<Scalar> chains;
    Splits splits;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        splits.each(block, part, parts, 0, chain.points, 0, chain.points,
                    [&](std::int64_t i, std::int64_t from, std::int64_t to) {
                        chain.count(block, i, from, to);
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
        block.each_unsynced(
            [&](int lane) { chain.sort(part * block.lanes() + lane, parts * block.lanes()); });
    }
};

template <typename Scalar, int kObjectives>
struct FindDominatorsInTiles {
    Chains<Scalar> chains;
    std::int32_t tile;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each_unsynced([&](int lane) {
            chain.template find_dominators<kObjectives>(tile, part * block.lanes() + lane,
                                                        parts * block.lanes());
        });
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
        block.each_unsynced([&](int lane) {
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
        block.each([](int) {});
        // Without a barrier: with one split, the lane that counts for a point also places it.
        CountBefore<Scalar>{chains, Splits{1}}(block, 0, 1, g);
        SortSet<Scalar>{chains}(block, 0, 1, g);
        block.each([](int) {});
        // Without a barrier: the lane that compares a point of the first tile also settles it.
        FindDominatorsInTiles<Scalar, kObjectives>{chains, tile}(block, 0, 1, g);
        chains.of(g).template settle<kObjectives>(block, 0, chains.batch.points, tile);
        WriteRanks<Scalar>{chains, ranks}(block, 0, 1, g);
    }
};

// Ranks of large sets, the first step of several operations: compiled once, in gpu/rank_large.hpp.
// The chains start at the scratch of `place`. ranks must not be null.
template <typename Place, typename Scalar>
void rank_large(Place place, Batch<Scalar> batch, std::int32_t* ranks);

}  // namespace paretopo::gpu
