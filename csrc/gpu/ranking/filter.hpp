// The non-dominated points of large sets. Killers, which are good points of a sample, exclude most
// points of most sets. The survivors are sorted along a curve, and each searches a tree of maxima
// for a point that dominates it.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/ranking/chain.hpp"
#include "gpu/sorting/curve.hpp"
#include "gpu/sorting/order.hpp"
#include "gpu/sorting/tree.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Memory of one set.
template <typename Scalar>
struct Filter {
    Key<Scalar>* given;    // (points, objectives)
    Key<Scalar>* killers;  // (limits.killers, objectives)
    std::int32_t* survivors;
    Spans<Scalar> spans;
    Order<Scalar> order;     // of the survivors
    Tree<Key<Scalar>> tree;  // above the sorted survivors

    PARETOPO_HD Filter(Arena& arena, const Batch<Scalar>& batch, const Limits& limits)
        : given(arena.array<Key<Scalar>>(std::int64_t{batch.points} * batch.objectives)),
          killers(arena.array<Key<Scalar>>(std::int64_t{limits.killers} * batch.objectives)),
          survivors(arena.array<std::int32_t>(1)),
          spans(arena, batch.objectives),
          order(arena, given, batch.points, batch.objectives, limits.run_bits, false),
          tree(arena, batch.points, batch.objectives, limits.fan_bits) {}

    PARETOPO_HD const Key<Scalar>* row(std::int64_t i) const {
        return given + i * order.objectives;
    }
};

template <typename Scalar>
struct Filters {
    char* scratch;
    Batch<Scalar> batch;
    Limits limits;
    std::int64_t each = bytes(batch, limits);

    PARETOPO_HD Filter<Scalar> of(std::int64_t g) const {
        Arena arena(scratch + g * each);
        return Filter<Scalar>(arena, batch, limits);
    }
    PARETOPO_HD static std::int64_t bytes(const Batch<Scalar>& batch, const Limits& limits) {
        Arena arena(nullptr);
        Filter<Scalar>(arena, batch, limits);
        return arena.bytes();
    }
    PARETOPO_HD Order<Scalar> order(std::int64_t g) const {
        const auto filter = of(g);
        return filter.order.first(*filter.survivors);
    }
    PARETOPO_HD Tree<Key<Scalar>> tree(std::int64_t g) const {
        const auto filter = of(g);
        return filter.tree.of_first(*filter.survivors);
    }
    PARETOPO_HD bool is_present(std::int64_t g, std::int64_t i) const {
        const std::uint8_t* mask = batch.group_mask(g);
        return !mask || mask[i] != 0;
    }
};

// ---- The steps as jobs: (block, part, parts, group) ----

template <typename Scalar>
struct ReadGiven {
    Filters<Scalar> filters;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto filter = filters.of(g);
        block.each_unsynced([&](int lane) {
            read_keys(filters.batch, g, part * block.lanes() + lane, parts * block.lanes(),
                      filter.given);
            if (part == 0 && lane == 0) *filter.survivors = 0;
        });
    }
};

// Takes the best point of each share of the sample as a killer: the point with the largest sum of
// objectives, scaled by their spans. Most shares weigh the objectives differently, so that their
// killers come from all over a front.
template <typename Scalar>
struct ChooseKillers {
    Filters<Scalar> filters;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        const auto filter = filters.of(g);
        const Spans<Scalar>& spans = filter.spans;
        const std::int32_t objectives = filters.batch.objectives;
        const Sample sample{filters.batch.points, filters.limits.sample};
        spans.measure(block, filter.given, sample);
        block.each([](int) {});
        const std::int64_t killers = filters.limits.killers;
        block.each_unsynced([&](int lane) {
            for (std::int64_t k = lane; k < killers; k += block.lanes()) {
                std::int64_t best = -1;
                double most = -1.0;
                sample.each(k, killers, [&](std::int64_t i) {
                    double sum = 0.0;
                    for (std::int32_t m = 0; m < objectives; ++m) {
                        sum += weight(k, m) * spans.share(m, filter.row(i)[m]);
                    }
                    if (sum > most) {
                        most = sum;
                        best = i;
                    }
                });
                for (std::int32_t m = 0; m < objectives; ++m) {
                    filter.killers[k * objectives + m] =
                        best < 0 ? kLowestKey<Scalar> : filter.row(best)[m];
                }
            }
        });
    }

  private:
    // 1 for one killer in four; otherwise a number in 0..1 that looks random.
    PARETOPO_HD static double weight(std::int64_t killer, std::int32_t m) {
        if (killer % 4 == 0) return 1.0;
        const auto mixed = static_cast<std::uint32_t>(killer * 64 + m + 1) * 2654435769U;
        return static_cast<double>((mixed ^ mixed >> 15) * 2246822519U >> 8) / (1 << 24);
    }
};

// Lists the present points that no killer dominates.
template <typename Scalar, int kObjectives>
struct ListSurvivors {
    Filters<Scalar> filters;
    std::uint8_t* nondominated;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto filter = filters.of(g);
        for_each_in_part(block, part, parts, 0, filters.batch.points, [&](std::int64_t i) {
            nondominated[g * filters.batch.points + i] = 0;
            if (!filters.is_present(g, i) || is_killed(filter, filter.row(i))) return;
            const std::int32_t place = block.atomic_add(filter.survivors, 1);
            // Points on a front need no more than all objectives but the first.
            const std::int32_t first = filters.batch.objectives > 1 ? 1 : 0;
            filter.order.given[place] = {filter.spans.code(filter.row(i), first), i};
        });
    }

  private:
    PARETOPO_HD bool is_killed(const Filter<Scalar>& filter, const Key<Scalar>* own) const {
        const std::int32_t objectives = filters.batch.objectives;
        for (std::int32_t k = 0; k < filters.limits.killers; ++k) {
            if (dominates<kObjectives>(filter.killers + k * objectives, own, objectives)) {
                return true;
            }
        }
        return false;
    }
};

template <typename Scalar>
struct ArrangeSurvivors {
    Filters<Scalar> filters;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto filter = filters.of(g);
        const auto order = filters.order(g);
        const Item* items = order.sorted();
        for_each_in_part(block, part, parts, 0, order.count * order.objectives,
                         [&](std::int64_t k) {
                             filter.tree.nodes[k] =
                                 filter.row(items[k / order.objectives].at)[k % order.objectives];
                         });
    }
};

// Equal survivors are neighbours, the first one first.
template <typename Scalar, int kObjectives>
struct SearchDominators {
    Filters<Scalar> filters;
    bool keep_duplicates;
    std::uint8_t* nondominated;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto tree = filters.tree(g);
        const auto order = filters.order(g);
        const Item* items = order.sorted();
        for_each_in_part(block, part, parts, 0, order.count, [&](std::int64_t i) {
            const bool is_left_out =
                !keep_duplicates && i > 0 && order.have_equal_rows(items[i - 1], items[i]);
            if (is_left_out) return;
            const Key<Scalar>* own = tree.nodes + i * tree.columns;
            const std::int64_t found = tree.next(0, [&](const Key<Scalar>* node) {
                return dominates<kObjectives>(node, own, tree.columns);
            });
            nondominated[g * filters.batch.points + items[i].at] = found == tree.count;
        });
    }
};

template <int kObjectives, typename Launcher, typename Scalar>
void filter_large(const Launcher& launcher, const Filters<Scalar>& filters, bool keep_duplicates,
                  std::uint8_t* nondominated) {
    const Batch<Scalar>& batch = filters.batch;
    const std::int64_t parts = launcher.parts(batch.points);
    const auto launch = [&](std::int64_t blocks, const auto& job) {
        launcher.blocks(blocks, batch.groups, job);
    };
    launch(parts, ReadGiven<Scalar>{filters});
    launch(1, ChooseKillers<Scalar>{filters});
    launch(parts, ListSurvivors<Scalar, kObjectives>{filters, nondominated});
    sort(launcher, filters, batch.points, batch.groups, filters.limits.run_bits);
    launch(parts, ArrangeSurvivors<Scalar>{filters});
    build_trees(launcher, filters, filters.of(0).tree, batch.groups);
    launch(parts, SearchDominators<Scalar, kObjectives>{filters, keep_duplicates, nondominated});
}

}  // namespace paretopo::gpu
