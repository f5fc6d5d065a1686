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

inline constexpr std::int32_t kMaxInTile = 64;

// Memory and steps of one set. kObjectives 0: any number.
template <typename Scalar>
struct Chain {
    Key<Scalar>* given;         // (points, objectives), the lowest keys for masked points
    Key<Scalar>* sorted;        // the same in lexicographic order, best first
    std::int32_t* order;        // the index of each sorted point
    std::int32_t* ranks;        // of the sorted points; they grow
    std::int32_t* counts;       // of the points before each given point, or of its dominators
    std::int32_t* fronts;       // the number of fronts
    std::uint64_t* dominators;  // of each sorted point, within its tile
    std::int32_t points;
    std::int32_t objectives;

    PARETOPO_HD Chain(Arena& arena, std::int32_t points, std::int32_t objectives)
        : given(arena.array<Key<Scalar>>(std::int64_t{points} * objectives)),
          sorted(arena.array<Key<Scalar>>(std::int64_t{points} * objectives)),
          order(arena.array<std::int32_t>(points)),
          ranks(arena.array<std::int32_t>(points)),
          counts(arena.array<std::int32_t>(points)),
          fronts(arena.array<std::int32_t>(1)),
          dominators(arena.array<std::uint64_t>(points)),
          points(points),
          objectives(objectives) {}

    PARETOPO_HD const Key<Scalar>* row(std::int64_t place) const {
        return sorted + place * objectives;
    }

    // ---- The share of lane `lane` of `lanes` in each step ----

    // A masked point gets the lowest keys, so that it dominates no point.
    PARETOPO_HD void read(const Batch<Scalar>& batch, std::int64_t g, std::int64_t lane,
                          std::int64_t lanes) const {
        const Scalar* values = batch.group(g);
        const std::uint8_t* mask = batch.group_mask(g);
        const std::int64_t count = std::int64_t{points} * objectives;
        for (std::int64_t k = lane; k < count; k += lanes) {
            const bool is_present = !mask || mask[k / objectives] != 0;
            given[k] = is_present
                           ? key_of(values[k], batch.is_minimised(static_cast<int>(k % objectives)))
                           : kLowestKey<Scalar>;
        }
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
        for (std::int64_t i = lane; i < points; i += lanes) {
            const Key<Scalar>* own = given + i * objectives;
            const std::int64_t place = counts[i];
            for (std::int32_t m = 0; m < objectives; ++m) sorted[place * objectives + m] = own[m];
            order[place] = static_cast<std::int32_t>(i);
            ranks[place] = 0;
        }
    }

    // Finds the dominators of each sorted point within its tile.
    template <int kObjectives>
    PARETOPO_HD void find_dominators(std::int32_t tile, std::int64_t lane,
                                     std::int64_t lanes) const {
        for (std::int64_t i = lane; i < points; i += lanes) {
            const std::int64_t from = i / tile * tile;
            std::uint64_t found = 0;
            for (std::int64_t j = from; j < i; ++j) {
                const bool is_dominated = dominates<kObjectives>(row(j), row(i), objectives);
                found |= std::uint64_t{is_dominated} << (j - from);
            }
            dominators[i] = found;
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

    // Raises point i by the points from..to, whose ranks are final, while other lanes raise it,
    // too.
    template <int kObjectives, typename Team>
    PARETOPO_HD void raise_together(Team& team, std::int64_t i, std::int64_t from,
                                    std::int64_t to) const {
        std::int32_t rank = 0;
        for (std::int64_t j = from; j < to; ++j) {
            const std::int32_t reached = ranks[j] + 1;
            if (reached > rank && dominates<kObjectives>(row(j), row(i), objectives)) {
                rank = reached;
            }
        }
        if (rank > 0) team.atomic_max(ranks + i, rank);
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
            block.one_warp([&](auto& warp) { settle_tile(warp, from, to); });
            block.each(
                [&](int lane) { raise<kObjectives>(from, to, to, last, lane, block.lanes()); });
        }
    }

  private:
    PARETOPO_HD bool is_before(const Key<Scalar>* a, const Key<Scalar>* b, bool is_earlier) const {
        for (std::int32_t m = 0; m < objectives; ++m) {
            if (a[m] != b[m]) return a[m] > b[m];
        }
        return is_earlier;
    }

    // Settles up to 64 points, front by front of the tile: a point is settled once its dominators
    // are.
    template <typename Warp>
    PARETOPO_HD void settle_tile(Warp& warp, std::int64_t from, std::int64_t to) const {
        const auto count = static_cast<std::int32_t>(to - from);
        std::uint64_t left = ~std::uint64_t{0} >> (kMaxInTile - count);
        while (left != 0) {
            const std::uint64_t ready = warp.ballot(count, [&](std::int32_t i) {
                return (left >> i & 1) != 0 && (dominators[from + i] & left) == 0;
            });
            for_each(warp, count, [&](std::int64_t i) {
                if ((ready >> i & 1) == 0) return;
                std::int32_t rank = ranks[from + i];
                for (std::uint64_t rest = dominators[from + i]; rest != 0; rest &= rest - 1) {
                    const std::int32_t reached = ranks[from + lowest_bit(rest)] + 1;
                    rank = reached > rank ? reached : rank;
                }
                ranks[from + i] = rank;
            });
            left &= ~ready;
        }
    }
};

}  // namespace paretopo::gpu
