// Sorting networks: the pairs to compare, in order, to sort any `kPoints` items. Source: Batcher,
// 1968, "Sorting networks and their applications" (odd-even merge; Knuth, TAOCP 3, algorithm
// 5.2.2M, for any number of items).
#pragma once

#include <cstddef>

namespace paretopo {

template <int kPoints>
struct SortingNetwork {
    struct Pair {
        int first, second;
    };
    Pair pairs[kPoints * kPoints / 2 + 1] = {};
    std::size_t size = 0;

    constexpr SortingNetwork() {
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

}  // namespace paretopo
