// The sweep of sweep.hpp for large sets of up to 3 objectives. Searches in a tree find the steps of
// a point's sweep, where small sets are scanned. There are O(n) steps in all, because the point
// covers all but the last from then on.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/sorting/curve.hpp"
#include "gpu/sorting/order.hpp"
#include "gpu/sorting/tree.hpp"
#include "gpu/volume/sides.hpp"
#include "gpu/volume/sweep.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Memory of one set. A row of the tree: the place in the order of x and the turn in that of z, both
// negative, so that larger is further out, and the key of y.
struct LargeSweep {
    SweepOfPieces sweep;
    std::int64_t* turns;  // of the places
    Order<double> order;
    Tree<std::int64_t> tree;

    PARETOPO_HD LargeSweep(Arena& arena, std::int32_t points, const Limits& limits)
        : sweep(arena, points),
          turns(arena.array<std::int64_t>(points)),
          order(arena, nullptr, points, 0, limits.run_bits, false),
          tree(arena, points, 3, limits.fan_bits) {}
};

template <typename Scalar>
struct LargeSweeps {
    Batch<Scalar> batch;
    Reference ref;
    double* volumes;
    char* scratch;
    Limits limits;
    std::int64_t each = bytes(batch.points, limits);

    PARETOPO_HD static std::int64_t bytes(std::int32_t points, const Limits& limits) {
        Arena arena(nullptr);
        LargeSweep(arena, points, limits);
        return arena.bytes();
    }
    PARETOPO_HD LargeSweep of(std::int64_t g) const {
        Arena arena(scratch + g * each);
        return LargeSweep(arena, batch.points, limits);
    }
    PARETOPO_HD Order<double> order(std::int64_t g) const { return of(g).order; }
    PARETOPO_HD Tree<std::int64_t> tree(std::int64_t g) const { return of(g).tree; }
    // With fewer objectives, every z is 1.
    PARETOPO_HD bool has_z() const { return batch.objectives == 3; }
};

enum class LargeSweepStep { kRead, kPut, kCode, kTakeTurns, kFurthest, kCover, kNearest, kMeasure };

template <typename Scalar>
struct DoLargeSweep {
    LargeSweeps<Scalar> sweeps;
    LargeSweepStep step;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const LargeSweep own = sweeps.of(g);
        const Item* items = own.order.sorted();
        const auto code = [&](double side) { return own.order.code(key_of(side, false)); };
        block.each_unsynced([&](int lane) {
            const std::int64_t first = part * block.lanes() + lane;
            const std::int64_t lanes = parts * block.lanes();
            if (step == LargeSweepStep::kRead) {
                own.sweep.read(sweeps.batch, g, sweeps.ref, first, lanes);
            }
            for (std::int64_t k = first; k < own.sweep.points; k += lanes) {
                if (step == LargeSweepStep::kRead) {
                    own.order.given[k] = {code(own.sweep.given[k].x), k};
                } else if (step == LargeSweepStep::kPut) {
                    own.sweep.sorted[k] = own.sweep.given[items[k].at];
                    own.sweep.check(block, sweeps.batch, g, sweeps.ref, k);
                } else if (step == LargeSweepStep::kCode) {
                    own.order.given[k] = {code(own.sweep.sorted[k].z), k};
                } else if (step == LargeSweepStep::kTakeTurns) {
                    own.turns[sweeps.has_z() ? items[k].at : k] = k;
                } else if (step == LargeSweepStep::kFurthest) {
                    own.order.given[k] = {curve_code(-k, -own.turns[k]), k};
                } else if (step == LargeSweepStep::kCover) {
                    own.sweep.pieces[k] = height_before(own, k);
                } else if (step == LargeSweepStep::kNearest) {
                    own.order.given[k] = {curve_code(k, -own.turns[k]), k};
                } else {
                    own.sweep.pieces[k] = piece(own, k, own.sweep.pieces[k]);
                }
            }
        });
    }

  private:
    PARETOPO_HD static std::uint64_t curve_code(std::int64_t place, std::int64_t turn) {
        return spread(static_cast<std::uint32_t>(place), 32, 0, 2) |
               spread(static_cast<std::uint32_t>(turn), 32, 1, 2);
    }
    // The height that rows further out and before row i cover, or some height beyond the row. On
    // the curve the furthest in and the last are first: mostly the highest.
    PARETOPO_HD static double height_before(const LargeSweep& own, std::int64_t i) {
        const Tree<std::int64_t>& tree = own.tree;
        const std::int64_t turn = -own.turns[i];
        const std::int64_t most = key_of(own.sweep.sorted[i].y, false);
        std::int64_t height = 0;  // the key of 0.0
        const auto covers = [&](const std::int64_t* node) {
            return node[0] > -i && node[1] > turn && node[2] > height;
        };
        for (std::int64_t k = tree.next(0, covers); k < tree.count && height < most;
             k = tree.next(k + 1, covers)) {
            height = tree.nodes[3 * k + 2];
        }
        return value_of<double>(height);
    }
    // Rows before i and higher than those further out are further in, and the one that is furthest
    // out is the next step. On the curve the furthest out and the last are first.
    PARETOPO_HD static double piece(const LargeSweep& own, std::int64_t i, double height) {
        const Tree<std::int64_t>& tree = own.tree;
        const std::int64_t turn = -own.turns[i];
        if (height >= own.sweep.sorted[i].y) return 0.0;
        const auto next = [&](std::int64_t, double covered) {
            const std::int64_t least = key_of(covered, false);
            std::int64_t furthest = -tree.count;
            const auto is_next = [&](const std::int64_t* node) {
                return node[0] > furthest && node[1] > turn && node[2] > least;
            };
            for (std::int64_t k = tree.next(0, is_next); k < tree.count;
                 k = tree.next(k + 1, is_next)) {
                furthest = tree.nodes[3 * k];
            }
            return -furthest;
        };
        return volume_beyond(own.sweep.sorted, own.sweep.points, i, i + 1, height, next);
    }
};

template <typename Scalar>
struct ArrangeSteps {
    LargeSweeps<Scalar> sweeps;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const LargeSweep own = sweeps.of(g);
        const Item* items = own.order.sorted();
        for_each_in_part(block, part, parts, 0, own.sweep.points, [&](std::int64_t k) {
            const std::int64_t place = items[k].at;
            own.tree.nodes[3 * k] = -place;
            own.tree.nodes[3 * k + 1] = -own.turns[place];
            own.tree.nodes[3 * k + 2] = key_of(own.sweep.sorted[place].y, false);
        });
    }
};

template <typename Scalar>
struct AddPieces {
    LargeSweeps<Scalar> sweeps;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        const LargeSweep own = sweeps.of(g);
        const double total = own.sweep.total(block);
        block.each([&](int lane) {
            if (lane == 0) sweeps.volumes[g] = own.sweep.volume(total);
        });
    }
};

template <typename Launcher, typename Scalar>
void launch_large_sweep(Launcher& launcher, const LargeSweeps<Scalar>& sweeps) {
    const Batch<Scalar>& batch = sweeps.batch;
    const std::int64_t parts = launcher.parts(batch.points);
    const auto launch = [&](LargeSweepStep step) {
        launcher.blocks(parts, batch.groups, DoLargeSweep<Scalar>{sweeps, step});
    };
    const auto launch_sort = [&] {
        sort(launcher, sweeps, batch.points, batch.groups, sweeps.limits.run_bits);
    };
    const auto plant = [&](LargeSweepStep order) {
        launch(order);
        launch_sort();
        launcher.blocks(parts, batch.groups, ArrangeSteps<Scalar>{sweeps});
        build_trees(launcher, sweeps, sweeps.tree(0), batch.groups);
    };
    launch(LargeSweepStep::kRead);
    launch_sort();
    launch(LargeSweepStep::kPut);
    if (sweeps.has_z()) {
        launch(LargeSweepStep::kCode);
        launch_sort();
    }
    launch(LargeSweepStep::kTakeTurns);
    plant(LargeSweepStep::kFurthest);
    launch(LargeSweepStep::kCover);
    if (sweeps.has_z()) plant(LargeSweepStep::kNearest);
    launch(LargeSweepStep::kMeasure);
    launcher.blocks(1, batch.groups, AddPieces<Scalar>{sweeps});
}

}  // namespace paretopo::gpu
