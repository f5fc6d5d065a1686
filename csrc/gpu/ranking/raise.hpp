// The ranks of large sets. Points are sorted so that no point dominates an earlier one. A block
// settles the points of a run. Whenever 2^k runs in line are complete, they raise the next 2^k
// runs: they are sorted along a curve, below a tree of maxima of keys and ranks, in which each
// later point searches for a dominator that raises it. So each point searches once per k, and the
// host knows all launches.
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
            order.given[i] = {searches.is_along_curve ? search.spans.code(row) : order.code(row[0]),
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

template <typename Scalar, int kObjectives>
struct SettleRun {
    Searches<Scalar> searches;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        searches.chains.of(g).template settle<kObjectives>(block, searches.from, searches.to,
                                                           searches.limits.tile);
    }
};

// Arranges the settled runs from..to, sorted as one run of 2^bits, as the rows of the tree.
template <typename Scalar>
struct ArrangeSettled {
    Searches<Scalar> searches;
    std::int32_t bits;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = searches.chains.of(g);
        const auto search = searches.of(g);
        const Item* items = search.order.runs(bits) + searches.from;
        const std::int32_t columns = search.tree.columns;
        for_each_in_part(block, part, parts, 0, (searches.to - searches.from) * columns,
                         [&](std::int64_t k) {
                             const std::int64_t place = items[k / columns].at;
                             const auto m = static_cast<std::int32_t>(k % columns);
                             search.tree.nodes[k] =
                                 m < chain.objectives ? chain.row(place)[m] : chain.ranks[place];
                         });
    }
};

// Lets the settled runs from..to raise the points to..last. Along the curve the worst points come
// first, whose ranks are the largest, so that most of the tree is skipped.
template <typename Scalar, int kObjectives>
struct RaiseLater {
    Searches<Scalar> searches;
    std::int64_t last;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = searches.chains.of(g);
        const auto tree = searches.tree(g);
        const std::int32_t objectives = chain.objectives;
        for_each_in_part(block, part, parts, searches.to, last, [&](std::int64_t place) {
            const Key<Scalar>* own = chain.row(place);
            std::int32_t rank = chain.ranks[place];
            const auto raises = [&](const Key<Scalar>* node) {
                return node[objectives] >= rank && dominates<kObjectives>(node, own, objectives);
            };
            for (std::int64_t i = tree.next(0, raises); i < tree.count;
                 i = tree.next(i + 1, raises)) {
                rank = static_cast<std::int32_t>(tree.nodes[i * tree.columns + objectives]) + 1;
            }
            chain.ranks[place] = rank;
        });
    }
};

// Raises all later points that the run ending at `to`, and the complete runs before it, can raise.
template <int kObjectives, typename Launcher, typename Scalar>
void raise_after(const Launcher& launcher, Searches<Scalar> searches, std::int64_t to) {
    const Batch<Scalar>& batch = searches.chains.batch;
    std::int32_t bits = searches.limits.run_bits;
    searches.from = to - (std::int64_t{1} << bits);
    searches.to = to;
    while ((to >> bits & 1) == 0) {
        searches.from = to - (std::int64_t{2} << bits);
        launcher.blocks(launcher.parts(to - searches.from), batch.groups,
                        MergeRuns<Searches<Scalar>>{searches, bits, searches.from, to});
        ++bits;
    }
    const std::int64_t size = to - searches.from;
    launcher.blocks(launcher.parts(size), batch.groups, ArrangeSettled<Scalar>{searches, bits});
    build_trees(launcher, searches, searches.tree(0), batch.groups);
    const std::int64_t last = std::min<std::int64_t>(to + size, batch.points);
    launcher.blocks(launcher.parts(last - to), batch.groups,
                    RaiseLater<Scalar, kObjectives>{searches, last});
}

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
    launch(parts, FindDominatorsInTiles<Scalar, kObjectives>{chains, limits.tile});
    searches.is_along_curve = true;
    launch(parts, CodePoints<Scalar>{searches});
    launch(parts, SortRuns<Searches<Scalar>>{searches});
    const std::int64_t run = std::int64_t{1} << limits.run_bits;
    for (searches.from = 0; searches.from < points; searches.from = searches.to) {
        searches.to = std::min(searches.from + run, points);
        launch(1, SettleRun<Scalar, kObjectives>{searches});
        if (searches.to < points) raise_after<kObjectives>(launcher, searches, searches.to);
    }
}

}  // namespace paretopo::gpu
