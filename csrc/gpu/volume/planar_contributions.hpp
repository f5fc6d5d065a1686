// Contributions of large sets with 2 objectives: sort the points, best first, and search the
// neighbours of each on the staircase in a tree of maxima of the second objective.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/sorting/order.hpp"
#include "gpu/sorting/tree.hpp"
#include "gpu/volume/sides.hpp"
#include "gpu/volume/sweep.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Memory of one set. Masked points and those outside have the lowest keys, and sides of 0.
template <typename Scalar>
struct PlanarSet {
    Key<Scalar>* given;  // (points, 2)
    Box* sorted;
    std::int32_t* refused;  // nonzero if a value is refused
    Order<Scalar> order;
    Tree<Key<Scalar>> tree;  // the second key

    PARETOPO_HD PlanarSet(Arena& arena, std::int32_t points, const Limits& limits)
        : given(arena.array<Key<Scalar>>(std::int64_t{points} * 2)),
          sorted(arena.array<Box>(points)),
          refused(arena.array<std::int32_t>(1)),
          order(arena, given, points, 2, limits.run_bits, false),
          tree(arena, points, 1, limits.fan_bits) {}
};

template <typename Scalar>
struct PlanarSets {
    Batch<Scalar> batch;
    Reference ref;
    char* scratch;
    Limits limits;
    std::int64_t each = bytes(batch.points, limits);

    PARETOPO_HD static std::int64_t bytes(std::int32_t points, const Limits& limits) {
        Arena arena(nullptr);
        PlanarSet<Scalar>(arena, points, limits);
        return arena.bytes();
    }
    PARETOPO_HD PlanarSet<Scalar> of(std::int64_t g) const {
        Arena arena(scratch + g * each);
        return PlanarSet<Scalar>(arena, batch.points, limits);
    }
    PARETOPO_HD Order<Scalar> order(std::int64_t g) const { return of(g).order; }
    PARETOPO_HD Tree<Key<Scalar>> tree(std::int64_t g) const { return of(g).tree; }
    PARETOPO_HD double side(std::int64_t g, std::int64_t i, std::int32_t m) const {
        return side_as_given(batch.group(g)[2 * i + m], ref.at[m], batch.is_minimised(m));
    }
};

// ---- The steps as jobs: (block, part, parts, group) ----

template <typename Scalar>
struct ReadPlanar {
    PlanarSets<Scalar> sets;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto own = sets.of(g);
        const Batch<Scalar>& batch = sets.batch;
        const std::uint8_t* mask = batch.group_mask(g);
        for_each_in_part(block, part, parts, 0, batch.points, [&](std::int64_t i) {
            const bool is_inside =
                (!mask || mask[i] != 0) && sets.side(g, i, 0) > 0.0 && sets.side(g, i, 1) > 0.0;
            for (std::int32_t m = 0; m < 2; ++m) {
                own.given[2 * i + m] =
                    is_inside ? key_of(batch.group(g)[2 * i + m], batch.is_minimised(m))
                              : kLowestKey<Scalar>;
            }
            own.order.given[i] = {own.order.code(own.given[2 * i]), i};
            if (i == 0) *own.refused = 0;
        });
    }
};

template <typename Scalar>
struct ArrangePlanar {
    PlanarSets<Scalar> sets;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto own = sets.of(g);
        const Item* items = own.order.sorted();
        const auto corner = [&](std::int32_t m) { return sets.ref.at[m]; };
        for_each_in_part(block, part, parts, 0, own.order.count, [&](std::int64_t place) {
            const std::int64_t i = items[place].at;
            own.tree.nodes[place] = own.given[2 * i + 1];
            own.sorted[place] = own.given[2 * i] == kLowestKey<Scalar>
                                    ? Box{0.0, 0.0, 0.0}
                                    : Box{sets.side(g, i, 0), sets.side(g, i, 1), 1.0};
            if (is_refused_point(sets.batch, g, i, corner)) block.atomic_max(own.refused, 1);
        });
    }
};

template <typename Scalar>
struct MeasurePlanar {
    PlanarSets<Scalar> sets;
    bool ignore_dominated;
    double* contributions;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto own = sets.of(g);
        const Item* items = own.order.sorted();
        for_each_in_part(block, part, parts, 0, own.order.count, [&](std::int64_t place) {
            contributions[g * own.order.count + items[place].at] =
                *own.refused != 0 ? kNoVolume : contribution(own, items, place);
        });
    }

  private:
    // Points before this one are at least as far out. It dominates later points up to its height.
    PARETOPO_HD double contribution(const PlanarSet<Scalar>& own, const Item* items,
                                    std::int64_t place) const {
        const Tree<Key<Scalar>>& tree = own.tree;
        const Key<Scalar> most = tree.nodes[place];
        Key<Scalar> covered = kLowestKey<Scalar>;
        double height = 0.0;
        const auto rises = [&](const Key<Scalar>* node) { return *node > covered; };
        for (std::int64_t k = tree.previous(place - 1, rises); k >= 0;
             k = tree.previous(k - 1, rises)) {
            covered = tree.nodes[k];
            height = own.sorted[k].y;
            if (covered >= most) return 0.0;
        }
        const bool is_repeated =
            place + 1 < tree.count && own.order.have_equal_rows(items[place], items[place + 1]);
        if (is_repeated) return 0.0;
        if (ignore_dominated) covered = most;
        return volume_beyond(own.sorted, tree.count, place, place + 1, height,
                             [&](std::int64_t j, double) {
                                 const std::int64_t k = tree.next(j, rises);
                                 if (k < tree.count) covered = tree.nodes[k];
                                 return k;
                             });
    }
};

template <typename Launcher, typename Scalar>
void launch_planar_contributions(const Launcher& launcher, const PlanarSets<Scalar>& sets,
                                 bool ignore_dominated, double* contributions) {
    const Batch<Scalar>& batch = sets.batch;
    const std::int64_t parts = launcher.parts(batch.points);
    launcher.blocks(parts, batch.groups, ReadPlanar<Scalar>{sets});
    sort(launcher, sets, batch.points, batch.groups, sets.limits.run_bits);
    launcher.blocks(parts, batch.groups, ArrangePlanar<Scalar>{sets});
    build_trees(launcher, sets, sets.tree(0), batch.groups);
    launcher.blocks(parts, batch.groups,
                    MeasurePlanar<Scalar>{sets, ignore_dominated, contributions});
}

}  // namespace paretopo::gpu
