// Ranks a block of groups with 2 objectives, one group per lane: a sorting network puts the points
// in lexicographic order, and patience sorting keeps the best second value of each front.
#pragma once

#include <cstdint>
#include <limits>

#include "batch.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "formulas/sorting_networks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <typename Scalar>
class PlanarBlock {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    using I = typename V::I;
    using Mask = typename V::Mask;
    static constexpr int kCapacity = kMaxValuesInLane / 2;  // points of a group

  public:
    static constexpr int kLanes = V::kLanes;

    // Writes the ranks of the groups from `first` on, group-major. False if a value is not finite,
    // or, with kWatchesTies, if two points of a group may be equal in an objective; nothing is
    // written then.
    template <bool kWatchesTies>
    __attribute__((noinline)) bool rank(const Batch<Scalar>& batch, std::int64_t first, int groups,
                                        std::int32_t* ranks) {
        points_ = batch.points;
        const int width = 2 * points_;
        const bool last = (first + kLanes) * width + kLanes > batch.groups * width;
        F columns[kMaxValuesInLane];
        read_columns<Scalar>(batch.group(first), width, groups, last, columns);
        if (!take(columns, batch)) return false;
        for_each_network_pair(
            points_, [this](int i, int j) __attribute__((always_inline)) {
                exchange<kWatchesTies>(sorted_[i], sorted_[j]);
            });
        if (!find_ranks<kWatchesTies>()) return false;
        for (int g = 0; g < groups; ++g, ranks += points_) {
            for (int i = 0; i < points_; ++i) {
                ranks[sorted_[i].place[g]] = static_cast<std::int32_t>(ranks_[i][g]);
            }
        }
        return true;
    }

  private:
    struct Point {
        F first, second;
        I place;  // before the sort
    };

    // The values as numbers, larger is better, -0 as +0; false if one is NaN or infinite.
    bool take(const F* columns, const Batch<Scalar>& batch) {
        const F sign[2] = {V::all(batch.is_minimised(0) ? -1 : 1),
                           V::all(batch.is_minimised(1) ? -1 : 1)};
        I not_finite{};
        for (int i = 0; i < points_; ++i) {
            const F first = columns[2 * i] * sign[0] + V::all(0);
            const F second = columns[2 * i + 1] * sign[1] + V::all(0);
            sorted_[i] = {first, second, V::all_int(i)};
            not_finite |= (I)(first - first) | (I)(second - second);
        }
        return !V::any(V::test_bits(not_finite, not_finite));
    }

    // Puts the better of two points first. With kWatchesTies, their order does not matter if they
    // tie.
    template <bool kWatchesTies>
    static PARETOPO_INLINE void exchange(Point& a, Point& b) {
        Mask moves = V::greater(b.first, a.first);
        if constexpr (!kWatchesTies) {
            const Mask ties = V::equal((I)a.first, (I)b.first);
            moves = V::either(moves, V::both(ties, V::greater(b.second, a.second)));
        }
        const F first = V::larger(a.first, b.first);
        b.first = V::smaller(a.first, b.first);
        a.first = first;
        V::exchange_where(moves, a.second, b.second);
        V::exchange_where(moves, a.place, b.place);
    }

    // tails_[f] is the best second value of front f so far, and descends. Each point takes the
    // place of the first tail that is lower.
    template <bool kWatchesTies>
    bool find_ranks() {
        const F lowest = V::all(-std::numeric_limits<Scalar>::infinity());
        int fronts = 0;
        tails_[0] = lowest;
        Mask has_ties = V::none();
        for (int i = 0; i < points_; ++i) {
            F own = sorted_[i].second;
            Mask repeats = V::none();
            if (i > 0) {
                const Mask ties = V::equal((I)sorted_[i].first, (I)sorted_[i - 1].first);
                if constexpr (kWatchesTies) {
                    has_ties = V::either(has_ties, ties);
                } else {  // a point that repeats the one before it takes no place
                    repeats = V::both(ties, V::equal((I)own, (I)sorted_[i - 1].second));
                    own = V::choose(repeats, lowest, own);
                }
            }
            I rank = V::all_int(fronts + 1);
            Mask is_above = V::none();  // the tail before is lower
            for (int f = 0; f <= fronts; ++f) {
                const F tail = tails_[f];
                const Mask is_lower = V::greater(own, tail);
                rank = V::add_where(is_lower, rank, V::all_int(-1));
                tails_[f] = V::larger_where(V::without(V::all_lanes(), is_above), own, tail);
                if constexpr (kWatchesTies) {
                    has_ties = V::either(has_ties, V::equal((I)own, (I)tail));
                }
                is_above = is_lower;
            }
            ranks_[i] = i > 0 ? V::choose(repeats, ranks_[i - 1], rank) : rank;
            if (V::any(V::greater(tails_[fronts], lowest))) tails_[++fronts] = lowest;
        }
        return !V::any(has_ties);
    }

    int points_ = 0;
    Point sorted_[kCapacity];
    I ranks_[kCapacity];  // of the sorted points
    F tails_[kCapacity + 1];
};

}  // namespace paretopo::cpu::PARETOPO_LANES
