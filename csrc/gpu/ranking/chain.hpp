// Ranks of ONE large set. The rank of a point is the length of the longest chain of points that
// dominate each other and end in it. Points are sorted so that no point dominates an earlier one,
// and chains grow tile by tile: settle the tile, then raise all later points ("right-looking"). The
// number of steps depends only on the size of the set, so the host launches all of them without
// waiting.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Reads the keys of a set, (points, objectives). A masked point gets the lowest keys, so that it
// dominates no point.
template <typename Scalar>
PARETOPO_HD void read_keys(const Batch<Scalar>& batch, std::int64_t g, std::int64_t lane,
                           std::int64_t lanes, Key<Scalar>* keys) {
    const Scalar* values = batch.group(g);
    const std::uint8_t* mask = batch.group_mask(g);
    const std::int32_t objectives = batch.objectives;
    for (std::int64_t k = lane; k < std::int64_t{batch.points} * objectives; k += lanes) {
        const bool is_present = !mask || mask[k / objectives] != 0;
        keys[k] = is_present
                      ? key_of(values[k], batch.is_minimised(static_cast<int>(k % objectives)))
                      : kLowestKey<Scalar>;
    }
}

// Memory and steps of one set. kObjectives 0: any number.
template <typename Scalar>
struct Chain {
    Key<Scalar>* given;         // (points, objectives), the lowest keys for masked points
    Key<Scalar>* sorted;        // the same in lexicographic order, best first
    std::int32_t* order;        // the index of each sorted point
    std::int32_t* ranks;        // of the sorted points; they grow
    std::int32_t* counts;       // of the points before each given point, or of its dominators
    std::int32_t* fronts;       // the number of fronts
    std::uint32_t* dominators;  // of each sorted point, within its tile
    std::int32_t points;
    std::int32_t objectives;

    PARETOPO_HD Chain(Arena& arena, std::int32_t points, std::int32_t objectives)
        : given(arena.array<Key<Scalar>>(std::int64_t{points} * objectives)),
          sorted(arena.array<Key<Scalar>>(std::int64_t{points} * objectives)),
          order(arena.array<std::int32_t>(points)),
          ranks(arena.array<std::int32_t>(points)),
          counts(arena.array<std::int32_t>(points)),
          fronts(arena.array<std::int32_t>(1)),
          dominators(arena.array<std::uint32_t>(points)),
          points(points),
          objectives(objectives) {}

    PARETOPO_HD const Key<Scalar>* row(std::int64_t place) const {
        return sorted + place * objectives;
    }

    // ---- The share of lane `lane` of `lanes` in each step ----

    PARETOPO_HD void read(const Batch<Scalar>& batch, std::int64_t g, std::int64_t lane,
                          std::int64_t lanes) const {
        read_keys(batch, g, lane, lanes, given);
        for (std::int64_t i = lane; i < points; i += lanes) counts[i] = 0;
        if (lane == 0) *fronts = 0;
    }

    // Counts the points of from..to that come before point i in lexicographic order.
    template <typename Team>
    PARETOPO_HD void count(Team& team, std::int64_t i, std::int64_t from, std::int64_t to) const {
        const Key<Scalar>* own = given + i * objectives;
        std::int32_t found = 0;
        for (std::int64_t j = from; j < to; ++j) {
            found += is_before(given + j * objectives, own, j < i);
        }
        team.atomic_add(counts + i, found);
    }

    // The position of a point is the number of points before it.
    PARETOPO_HD void sort(std::int64_t lane, std::int64_t lanes) const {
        for (std::int64_t i = lane; i < points; i += lanes) put(i, counts[i]);
    }

    // Puts point i at its place in the order.
    PARETOPO_HD void put(std::int64_t i, std::int64_t place) const {
        const Key<Scalar>* own = given + i * objectives;
        for (std::int32_t m = 0; m < objectives; ++m) sorted[place * objectives + m] = own[m];
        order[place] = static_cast<std::int32_t>(i);
        ranks[place] = 0;
    }

    // The points of the tile from..to that dominate point i, as bits. If this is its own tile, its
    // own bit tells whether it dominates another point.
    template <int kObjectives>
    PARETOPO_HD std::uint32_t compare_with_tile(std::int64_t i, std::int64_t from,
                                                std::int64_t to) const {
        const Key<Scalar>* own = row(i);
        const Key<Scalar>* other = row(from);
        std::uint32_t found = 0;
        for (std::int64_t j = from; j < (to < i ? to : i); ++j, other += objectives) {
            found |= std::uint32_t{dominates<kObjectives>(other, own, objectives)} << (j - from);
        }
        for (std::int64_t j = i + 1; j < to; ++j) {
            found |= std::uint32_t{dominates<kObjectives>(own, row(j), objectives)} << (i - from);
        }
        return found;
    }

    // Finds the dominators of each sorted point within its tile.
    template <int kObjectives>
    PARETOPO_HD void find_dominators(std::int32_t tile, std::int64_t lane,
                                     std::int64_t lanes) const {
        for (std::int64_t i = lane; i < points; i += lanes) {
            const std::int64_t from = i / tile * tile;
            const std::int64_t to = from + tile < points ? from + tile : points;
            dominators[i] = compare_with_tile<kObjectives>(i, from, to);
        }
    }

    // Raises the points first..last by the points from..to, whose ranks are final.
    template <int kObjectives>
    PARETOPO_HD void raise(std::int64_t from, std::int64_t to, std::int64_t first,
                           std::int64_t last, std::int64_t lane, std::int64_t lanes) const {
        for (std::int64_t i = first + lane; i < last; i += lanes) {
            std::int32_t rank = ranks[i];
            for (std::int64_t j = from; j < to; ++j) {
                const std::int32_t reached = ranks[j] + 1;
                if (reached > rank && dominates<kObjectives>(row(j), row(i), objectives)) {
                    rank = reached;
                }
            }
            ranks[i] = rank;
        }
    }

    // Writes ranks in the order of the given points, and the number of fronts.
    template <typename Team>
    PARETOPO_HD void write(Team& team, const std::uint8_t* mask, std::int32_t* out,
                           std::int64_t lane, std::int64_t lanes) const {
        for (std::int64_t place = lane; place < points; place += lanes) {
            const std::int32_t i = order[place];
            const bool is_present = !mask || mask[i] != 0;
            out[i] = is_present ? ranks[place] : kUnranked;
            if (is_present) team.atomic_max(fronts, ranks[place] + 1);
        }
    }

    // ---- Steps of a whole block ----

    // Makes the ranks of first..last final; all earlier points have already raised them.
    template <int kObjectives, typename Block>
    PARETOPO_HD void settle(Block& block, std::int64_t first, std::int64_t last,
                            std::int32_t tile) const {
        for (std::int64_t from = first; from < last; from += tile) {
            const std::int64_t to = from + tile < last ? from + tile : last;
            block.one_warp([&](auto& warp) { settle_tile(warp, from, to, dominators + from); });
            // Without a barrier: the lane that raises a point of the next tile also settles it.
            block.each_unsynced(
                [&](int lane) { raise<kObjectives>(from, to, to, last, lane, block.lanes()); });
        }
    }

    // Settles up to one point per lane: in their order, each raises those that it dominates.
    // above: the bits that compare_with_tile found.
    template <typename Warp>
    PARETOPO_HD void settle_tile(Warp& warp, std::int64_t from, std::int64_t to,
                                 const std::uint32_t* above) const {
        const auto count = static_cast<std::int32_t>(to - from);
        typename Warp::template Own<std::int32_t> rank;
        std::uint64_t dominating =
            warp.ballot(count, [&](std::int32_t lane) { return (above[lane] >> lane & 1) != 0; });
        if (dominating == 0) return;
        warp.each_unsynced([&](int lane) { rank[lane] = lane < count ? ranks[from + lane] : 0; });
        for (; dominating != 0; dominating &= dominating - 1) {
            const std::int32_t i = lowest_bit(dominating);
            const std::int32_t reached = warp.of_lane(rank, i) + 1;
            warp.each_unsynced([&](int lane) {
                const bool is_raised = lane != i && lane < count && (above[lane] >> i & 1) != 0;
                if (is_raised && reached > rank[lane]) rank[lane] = reached;
            });
        }
        warp.each_unsynced([&](int lane) {
            if (lane < count) ranks[from + lane] = rank[lane];
        });
    }

  private:
    PARETOPO_HD bool is_before(const Key<Scalar>* a, const Key<Scalar>* b, bool is_earlier) const {
        for (std::int32_t m = 0; m < objectives; ++m) {
            if (a[m] != b[m]) return a[m] > b[m];
        }
        return is_earlier;
    }
};

}  // namespace paretopo::gpu
