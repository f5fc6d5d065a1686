// The ranks of large sets. Points are sorted by the sum of their objectives, scaled by their spans,
// so that no point dominates an earlier one, and few points of a run in line dominate each other.
// Run after run, each point of the run searches a tree of maxima of keys and ranks for dominators
// in earlier runs; the points of the run are compared with each other at the same time; then a
// block settles the run, and enters its ranks in the tree. The host knows all launches: two for
// each run.
#pragma once

#include <algorithm>
#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/ranking/large_sets.hpp"
#include "gpu/sorting/order.hpp"
#include "gpu/sorting/tree.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// ---- The steps as jobs: (block, part, parts, group) ----

template <typename Scalar>
struct MeasureSpans {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        const auto chain = searches.chains.of(g);
        searches.of(g).spans.measure(block, chain.given,
                                     Sample{chain.points, searches.limits.sample});
    }
};

template <typename Scalar>
struct CodePoints {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto search = searches.of(g);
        const auto& order = search.order;
        for_each_in_part(block, part, parts, 0, order.count, [&](std::int64_t i) {
            const Key<Scalar>* row = order.rows + i * order.objectives;
            order.given[i] = {
                searches.is_along_curve ? search.spans.code(row, 0) : search.spans.sum_code(row),
                i};
        });
    }
};

template <typename Scalar>
struct PutInOrder {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = searches.chains.of(g);
        const Item* items = searches.order(g).sorted();
        for_each_in_part(block, part, parts, 0, chain.points,
                         [&](std::int64_t place) { chain.put(items[place].at, place); });
    }
};

// Arranges the points along the curve as the rows of the tree. Their ranks are not known yet.
template <typename Scalar>
struct ArrangePoints {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto search = searches.of(g);
        const auto& order = search.order;
        const Item* items = order.sorted();
        for_each_in_part(block, part, parts, 0, order.count, [&](std::int64_t k) {
            const std::int64_t place = items[k].at;
            Key<Scalar>* row = search.tree.nodes + k * search.tree.columns;
            for (std::int32_t m = 0; m < order.objectives; ++m) {
                row[m] = order.rows[place * order.objectives + m];
            }
            row[order.objectives] = kUnranked;
            search.rows[place] = static_cast<std::int32_t>(k);
            if (k < searches.limits.run_points) search.tiles[k] = 0;
        });
    }
};

// The jobs of warps: search for the dominators of a point in earlier runs, or compare two tiles of
// the run.
template <typename Scalar, int kObjectives>
struct FindDominators {
    Searches<Scalar> searches;

    PARETOPO_HD std::int32_t points() const {
        return static_cast<std::int32_t>(searches.to - searches.from);
    }
    PARETOPO_HD std::int32_t tiles() const {
        return (points() + searches.limits.tile - 1) / searches.limits.tile;
    }
    PARETOPO_HD std::int32_t jobs() const { return points() + tiles() * tiles(); }

    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t k, char*) const {
        const std::int64_t g = k / jobs();
        const auto job = static_cast<std::int32_t>(k - g * jobs());
        const auto chain = searches.chains.of(g);
        const auto search = searches.of(g);
        if (job < points()) return raise(warp, chain, search, searches.from + job);
        compare(warp, chain, search, (job - points()) / tiles(), (job - points()) % tiles());
    }

  private:
    // Dominators follow a point along the curve, the nearest ones first, whose ranks are largest.
    template <typename Warp>
    PARETOPO_HD void raise(Warp& warp, const Chain<Scalar>& chain, const Search<Scalar>& search,
                           std::int64_t place) const {
        const Tree<Key<Scalar>>& tree = search.tree;
        const Key<Scalar>* own = chain.row(place);
        const std::int32_t objectives = chain.objectives;
        std::int32_t rank = 0;
        tree.search(
            warp, search.rows[place] + 1,
            [&](const Key<Scalar>* node) {
                return node[objectives] >= rank && dominates<kObjectives>(node, own, objectives);
            },
            [&](std::int64_t i) {
                rank = static_cast<std::int32_t>(tree.nodes[i * tree.columns + objectives]) + 1;
            });
        warp.each_unsynced([&](int lane) {
            if (lane == 0) chain.ranks[place] = rank;
        });
    }
    template <typename Warp>
    PARETOPO_HD void compare(Warp& warp, const Chain<Scalar>& chain, const Search<Scalar>& search,
                             std::int32_t own, std::int32_t other) const {
        if (other > own) return;
        const std::int32_t tile = searches.limits.tile;
        const std::int64_t from = searches.from + other * tile;
        const std::int64_t to = from + tile < searches.to ? from + tile : searches.to;
        warp.each_unsynced([&](int lane) {
            const std::int32_t k = own * tile + lane;
            if (lane >= tile || k >= points()) return;
            const std::uint32_t above =
                chain.template compare_with_tile<kObjectives>(searches.from + k, from, to);
            search.above[other * searches.limits.run_points + k] = above;
            if (above != 0) {
                warp.atomic_add(search.tiles + k, static_cast<std::int32_t>(1U << other));
            }
        });
    }
};

// Makes the ranks of the run final, and enters them in the tree.
template <typename Scalar>
struct SettleRun {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        const auto chain = searches.chains.of(g);
        const auto search = searches.of(g);
        const auto count = static_cast<std::int32_t>(searches.to - searches.from);
        std::int32_t* ranks = chain.ranks + searches.from;
        if (!settle_by_rounds(block, search, ranks, count)) {
            settle_by_tiles(block, chain, search, ranks, count);
        }
        // With a barrier, because the next set sums, too.
        for_each(block, count, [&](std::int64_t i) {
            search.tree.enter(block, search.rows[searches.from + i], chain.objectives, ranks[i]);
            search.tiles[i] = 0;
        });
    }

  private:
    // The rank of point i above its dominators in the given tiles.
    PARETOPO_HD std::int32_t raised(const Search<Scalar>& search, const std::int32_t* ranks,
                                    std::int32_t i, std::uint32_t tiles) const {
        const std::int32_t tile = searches.limits.tile;
        std::int32_t rank = ranks[i];
        for (tiles &= static_cast<std::uint32_t>(search.tiles[i]); tiles != 0; tiles &= tiles - 1) {
            const std::int32_t other = lowest_bit(tiles);
            std::uint32_t above = search.above[other * searches.limits.run_points + i];
            if (other == i / tile) above &= ~(1U << i % tile);
            for (; above != 0; above &= above - 1) {
                const std::int32_t reached = ranks[other * tile + lowest_bit(above)] + 1;
                rank = reached > rank ? reached : rank;
            }
        }
        return rank;
    }

    // Raises all points at once until none rises any more. Returns false after some rounds.
    template <typename Block>
    PARETOPO_HD bool settle_by_rounds(Block& block, const Search<Scalar>& search,
                                      std::int32_t* ranks, std::int32_t count) const {
        for (std::int32_t round = 0; round < searches.limits.rounds; ++round) {
            const double rising = block.sum([&](int lane) {
                double found = 0.0;
                for (std::int32_t i = lane; i < count; i += block.lanes()) {
                    search.raised[i] = raised(search, ranks, i, ~0U);
                    if (search.raised[i] != ranks[i]) found = 1.0;
                }
                return found;
            });
            if (rising == 0.0) return true;
            for_each(block, count, [&](std::int64_t i) { ranks[i] = search.raised[i]; });
        }
        return false;
    }

    // Settles tile after tile, with as many steps for every set. Raising takes no barrier, because
    // the lane that raises a point of the next tile also settles it.
    template <typename Block>
    PARETOPO_HD void settle_by_tiles(Block& block, const Chain<Scalar>& chain,
                                     const Search<Scalar>& search, std::int32_t* ranks,
                                     std::int32_t count) const {
        const std::int32_t size = searches.limits.tile;
        const std::int32_t chunk = searches.limits.chunk;
        for (std::int32_t from = 0; from < count; from += chunk) {
            const std::int32_t to = from + chunk < count ? from + chunk : count;
            const std::uint32_t earlier = (1U << from / size) - 1;
            for_each_unsynced(block, to - from, [&](std::int64_t k) {
                const std::int32_t i = from + static_cast<std::int32_t>(k);
                ranks[i] = raised(search, ranks, i, earlier);
            });
            for (std::int32_t first = from; first < to; first += size) {
                const std::int32_t next = first + size < to ? first + size : to;
                const std::int32_t tile = first / size;
                block.one_warp([&](auto& warp) {
                    chain.settle_tile(warp, searches.from + first, searches.from + next,
                                      search.above + tile * searches.limits.run_points + first);
                });
                for_each_unsynced(block, to - next, [&](std::int64_t k) {
                    const std::int32_t i = next + static_cast<std::int32_t>(k);
                    ranks[i] = raised(search, ranks, i, 1U << tile);
                });
            }
        }
    }
};

// The ranks of all points, in the chains.
template <int kObjectives, typename Launcher, typename Scalar>
void rank_by_runs(const Launcher& launcher, const Chains<Scalar>& chains, const Limits& limits) {
    const std::int64_t points = chains.batch.points;
    const std::int64_t groups = chains.batch.groups;
    const std::int64_t parts = launcher.parts(points);
    const auto launch = [&](std::int64_t blocks, const auto& job) {
        launcher.blocks(blocks, groups, job);
    };
    Searches<Scalar> searches{chains, limits};
    launch(parts, ReadSet<Scalar>{chains});
    launch(1, MeasureSpans<Scalar>{searches});
    launch(parts, CodePoints<Scalar>{searches});
    sort(launcher, searches, points, groups, limits.run_bits);
    launch(parts, PutInOrder<Scalar>{searches});
    searches.is_along_curve = true;
    launch(parts, CodePoints<Scalar>{searches});
    sort(launcher, searches, points, groups, limits.run_bits);
    launch(parts, ArrangePoints<Scalar>{searches});
    build_trees(launcher, searches, searches.tree(0), groups);
    for (searches.from = 0; searches.from < points; searches.from = searches.to) {
        searches.to = std::min<std::int64_t>(searches.from + limits.run_points, points);
        const FindDominators<Scalar, kObjectives> find{searches};
        launcher.warps(groups * find.jobs(), 0, find);
        launch(1, SettleRun<Scalar>{searches});
    }
}

}  // namespace paretopo::gpu
