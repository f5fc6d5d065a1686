// A stable merge sort of items whose number only the device knows. The launches have the size of
// the largest number, and those that find nothing to do end at once. Each item finds its place in
// the merged run by a binary search in the other run: O(n log^2 n) steps, all items at once.
#pragma once

#include <cstdint>

#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Row `at` of a set, and the code by which it is sorted.
struct alignas(16) Item {
    std::uint64_t code;
    std::int64_t at;
};

// Items by code, then by rows in lexicographic order, best first, then by index: equal rows become
// neighbours. If rows are in that order already, items of one code come worst first.
template <typename Scalar>
struct Order {
    const Key<Scalar>* rows;  // (points, objectives)
    Item* given;              // the items to sort; they move between two buffers
    Item* other;
    std::int64_t count;
    std::int32_t objectives;
    std::int32_t run_bits;  // a block sorts 2^run_bits items
    bool has_ordered_rows;

    PARETOPO_HD Order(Arena& arena, const Key<Scalar>* rows, std::int32_t points,
                      std::int32_t objectives, std::int32_t run_bits, bool has_ordered_rows)
        : rows(rows),
          given(arena.array<Item>(points)),
          other(arena.array<Item>(points)),
          count(points),
          objectives(objectives),
          run_bits(run_bits),
          has_ordered_rows(has_ordered_rows) {}

    PARETOPO_HD Order first(std::int64_t items) const {
        Order order = *this;
        order.count = items;
        return order;
    }

    // The code that sorts by a key, largest first.
    PARETOPO_HD static std::uint64_t code(Key<Scalar> key) {
        return ~(static_cast<std::uint64_t>(std::int64_t{key}) ^ std::uint64_t{1} << 63);
    }

    PARETOPO_HD bool have_equal_rows(const Item& a, const Item& b) const {
        for (std::int32_t m = 0; m < objectives; ++m) {
            if (rows[a.at * objectives + m] != rows[b.at * objectives + m]) return false;
        }
        return true;
    }

    PARETOPO_HD bool is_before(const Item& a, const Item& b) const {
        if (a.code != b.code) return a.code < b.code;
        if (has_ordered_rows) return a.at > b.at;
        for (std::int32_t m = 0; m < objectives; ++m) {
            const Key<Scalar> x = rows[a.at * objectives + m];
            const Key<Scalar> y = rows[b.at * objectives + m];
            if (x != y) return x > y;
        }
        return a.at < b.at;
    }

    // Moves item i of a run of 2^bits items to its place in a run of twice the size.
    PARETOPO_HD void merge(std::int32_t bits, std::int64_t i) const {
        const Item* from = runs(bits);
        const Item own = from[i];
        const std::int64_t run = i >> bits;
        const std::int64_t beside = (run ^ 1) << bits;
        std::int64_t low = beside < count ? beside : count;
        std::int64_t high = beside + (std::int64_t{1} << bits);
        high = high < count ? high : count;
        const std::int64_t begin = low;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (is_before(from[middle], own)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        const std::int64_t before = i - (run << bits) + (low - begin);
        runs(bits + 1)[(run >> 1 << (bits + 1)) + before] = own;
    }

    // The items in sorted runs of 2^bits.
    PARETOPO_HD Item* runs(std::int32_t bits) const { return (bits & 1) == 0 ? given : other; }

    PARETOPO_HD const Item* sorted() const {
        std::int32_t bits = run_bits;
        while (std::int64_t{1} << bits < count) ++bits;
        return runs(bits);
    }
};

// ---- As jobs: sets.order(g) is the Order of a set ----

template <typename Sets>
struct SortRuns {
    Sets sets;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto order = sets.order(g);
        const std::int64_t size = std::int64_t{1} << order.run_bits;
        for (std::int64_t from = part * size; from < order.count; from += parts * size) {
            const std::int64_t to = from + size < order.count ? from + size : order.count;
            for (std::int32_t bits = 0; bits < order.run_bits; ++bits) {
                for_each(block, to - from, [&](std::int64_t i) { order.merge(bits, from + i); });
            }
        }
    }
};

// Merges pairs of runs of 2^bits items; from..to has whole pairs, or ends with the items.
template <typename Sets>
struct MergeRuns {
    Sets sets;
    std::int32_t bits;
    std::int64_t from, to;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto order = sets.order(g);
        if (std::int64_t{1} << bits >= order.count) return;
        for_each_in_part(block, part, parts, from, (to < order.count ? to : order.count),
                         [&](std::int64_t i) { order.merge(bits, i); });
    }
};

// Sorts up to `most` items of each set.
template <typename Launcher, typename Sets>
void sort(const Launcher& launcher, const Sets& sets, std::int64_t most, std::int64_t groups,
          std::int32_t run_bits) {
    const std::int64_t parts = launcher.parts(most);
    launcher.blocks(parts, groups, SortRuns<Sets>{sets});
    for (std::int32_t bits = run_bits; std::int64_t{1} << bits < most; ++bits) {
        launcher.blocks(parts, groups, MergeRuns<Sets>{sets, bits, 0, most});
    }
}

}  // namespace paretopo::gpu
