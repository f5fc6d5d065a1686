// Sorting networks: which pairs to compare, in which order, to sort any `kPoints` items.
// Source: Batcher, 1968, "Sorting networks and their applications" (odd-even merge; Knuth, TAOCP 3,
// algorithm 5.2.2M, for any number of items).
#pragma once

#include <cstddef>
#include <utility>

#include "cpu/lanes/doubles.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <int kPoints>
struct Network {
    struct Pair {
        int first, second;
    };
    Pair pairs[kPoints * kPoints / 2 + 1] = {};
    std::size_t size = 0;

    constexpr Network() {
        int top = 1;
        while (2 * top < kPoints) top *= 2;
        for (int p = top; p > 0; p /= 2) {
            int q = top;
            int r = 0;
            for (int d = p;; d = q - p, q /= 2, r = p) {
                for (int i = 0; i + d < kPoints; ++i) {
                    if ((i & p) == r) pairs[size++] = {i, i + d};
                }
                if (q == p) break;
            }
        }
    }
};

template <int kPoints>
inline constexpr Network<kPoints> kNetwork{};

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

}  // namespace paretopo::cpu::PARETOPO_LANES
