// Sorts by networks, one set per lane.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/lanes/simd/doubles.hpp"
#include "formulas/sorting_networks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <int kPoints>
inline constexpr SortingNetwork<kPoints> kNetwork{};

// Calls exchange(k) for the pairs 0, 1, ... of a network of rows of kWidth numbers. Without a loop
// narrow rows take half the time; wide ones gain nothing and take long to compile.
template <int kPoints, int kWidth, typename Exchange>
PARETOPO_INLINE void for_each_pair(const Exchange& exchange) {
    constexpr std::size_t kSize = kNetwork<kPoints>.size;
    if constexpr (kWidth < 4 || kPoints <= 16) {
        [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
            (exchange(kAt), ...);
        }
        (std::make_index_sequence<kSize>{});
    } else {
        for (std::size_t k = 0; k < kSize; ++k) exchange(k);
    }
}

// Sorts points by their last objective, descending, in every lane.
template <int kPoints, int kObjectives>
PARETOPO_INLINE void sort_points(Doubles* points) {
    constexpr int kLast = kObjectives - 1;
    for_each_pair<kPoints, kObjectives>([points](std::size_t at) __attribute__((always_inline)) {
        Doubles* a = points + kNetwork<kPoints>.pairs[at].first * kObjectives;
        Doubles* b = points + kNetwork<kPoints>.pairs[at].second * kObjectives;
        const Mask is_after = above(b[kLast], a[kLast]);
        const Doubles high = larger(a[kLast], b[kLast]);
        b[kLast] = smaller(a[kLast], b[kLast]);
        a[kLast] = high;
        for (int m = 0; m < kLast; ++m) {
            const Doubles one = a[m];
            a[m] = choose(is_after, b[m], one);
            b[m] = choose(is_after, one, b[m]);
        }
    });
}

// Sorts rows of kWidth numbers by the first, ascending, in every lane. `moved`, if not null,
// receives the lanes that exchanged them, pair by pair.
template <int kPoints, int kWidth>
PARETOPO_INLINE void sort_rows(Doubles* rows, Mask* moved) {
    for_each_pair<kPoints, kWidth>([=](std::size_t at) __attribute__((always_inline)) {
        Doubles* a = rows + kNetwork<kPoints>.pairs[at].first * kWidth;
        Doubles* b = rows + kNetwork<kPoints>.pairs[at].second * kWidth;
        const Mask is_after = above(a[0], b[0]);
        if (moved) moved[at] = is_after;
        const Doubles high = larger(a[0], b[0]);
        a[0] = smaller(a[0], b[0]);
        b[0] = high;
        for (int m = 1; m < kWidth; ++m) {
            const Doubles one = a[m];
            a[m] = choose(is_after, b[m], one);
            b[m] = choose(is_after, one, b[m]);
        }
    });
}

// Moves values that belong to rows back to the positions that the rows had before `sort_rows`.
template <int kPoints>
PARETOPO_INLINE void unsort_values(Doubles* values, const Mask* moved) {
    constexpr std::size_t kSize = kNetwork<kPoints>.size;
    for_each_pair<kPoints, 1>([=](std::size_t later) __attribute__((always_inline)) {
        const std::size_t at = kSize - 1 - later;
        Doubles& a = values[kNetwork<kPoints>.pairs[at].first];
        Doubles& b = values[kNetwork<kPoints>.pairs[at].second];
        const Doubles one = a;
        a = choose(moved[at], b, one);
        b = choose(moved[at], one, b);
    });
}

}  // namespace paretopo::cpu::PARETOPO_LANES
