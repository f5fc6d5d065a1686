// Sorts by networks, one set per lane.
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/lanes/doubles.hpp"
#include "formulas/sorting_networks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <int kPoints>
inline constexpr SortingNetwork<kPoints> kNetwork{};

// Sorts points by their last objective, descending, in every lane.
template <int kPoints, int kObjectives>
PARETOPO_INLINE void sort_points(Doubles* points) {
    constexpr int kLast = kObjectives - 1;
    const auto exchange = [points](int first, int second) __attribute__((always_inline)) {
        Doubles* a = points + first * kObjectives;
        Doubles* b = points + second * kObjectives;
        const Mask is_after = above(b[kLast], a[kLast]);
        const Doubles high = larger(a[kLast], b[kLast]);
        b[kLast] = smaller(a[kLast], b[kLast]);
        a[kLast] = high;
        for (int m = 0; m < kLast; ++m) {
            const Doubles one = a[m];
            a[m] = choose(is_after, b[m], one);
            b[m] = choose(is_after, one, b[m]);
        }
    };
    [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
        (exchange(kNetwork<kPoints>.pairs[kAt].first, kNetwork<kPoints>.pairs[kAt].second), ...);
    }
    (std::make_index_sequence<kNetwork<kPoints>.size>{});
}

// Sorts rows of kWidth numbers by the first, ascending, in every lane; `moved`, if not null, gets
// which lanes exchanged them, pair by pair.
template <int kPoints, int kWidth>
PARETOPO_INLINE void sort_rows(Doubles* rows, Mask* moved) {
    const auto exchange = [=](std::size_t at) __attribute__((always_inline)) {
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
    };
    [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
        (exchange(kAt), ...);
    }
    (std::make_index_sequence<kNetwork<kPoints>.size>{});
}

// Brings what belongs to rows that `sort_rows` moved back to where they came from.
template <int kPoints>
PARETOPO_INLINE void unsort_values(Doubles* values, const Mask* moved) {
    constexpr std::size_t kSize = kNetwork<kPoints>.size;
    const auto exchange = [=](std::size_t at) __attribute__((always_inline)) {
        Doubles& a = values[kNetwork<kPoints>.pairs[at].first];
        Doubles& b = values[kNetwork<kPoints>.pairs[at].second];
        const Doubles one = a;
        a = choose(moved[at], b, one);
        b = choose(moved[at], one, b);
    };
    [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
        (exchange(kSize - 1 - kAt), ...);
    }
    (std::make_index_sequence<kSize>{});
}

}  // namespace paretopo::cpu::PARETOPO_LANES
