// Sorting networks: the pairs to compare, in order, to sort any `kPoints` items. Source: Batcher,
// 1968, "Sorting networks and their applications" (odd-even merge; Knuth, TAOCP 3, algorithm
// 5.2.2M, for any number of items).
#pragma once

#include <cstddef>

namespace paretopo {

// Calls visit(i, j), i < j, for the pairs that sort `points` items.
template <typename Visit>
constexpr void for_each_network_pair(int points, const Visit& visit) {
    int top = 1;
    while (2 * top < points) top *= 2;
    for (int p = top; p > 0; p /= 2) {
        int q = top;
        int r = 0;
        for (int d = p;; d = q - p, q /= 2, r = p) {
            for (int run = r; run + d < points; run += 2 * p) {
                const int end = run + p < points - d ? run + p : points - d;
                for (int i = run; i < end; ++i) visit(i, i + d);
            }
            if (q == p) break;
        }
    }
}

// The same pairs at compile time.
template <int kPoints>
struct SortingNetwork {
    struct Pair {
        int first, second;
    };
    Pair pairs[kPoints * kPoints / 2 + 1] = {};
    std::size_t size = 0;

    constexpr SortingNetwork() {
        for_each_network_pair(kPoints, [this](int i, int j) { pairs[size++] = {i, j}; });
    }
};

}  // namespace paretopo
