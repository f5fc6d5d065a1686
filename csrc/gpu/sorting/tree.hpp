// A tree of maxima above sorted rows: each node has the largest value of its children in each
// column. A search skips every node whose maxima cannot satisfy it. It needs no stack: from a node
// it goes down to the first child, or on to the next node, which may be higher up.
#pragma once

#include <cstdint>

#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

template <typename Number>
struct Tree {
    Number* nodes;  // the rows, then level after level
    std::int64_t capacity;
    std::int64_t count;  // of the rows, up to the capacity
    std::int32_t columns;
    std::int32_t fan_bits;  // a node has 2^fan_bits children

    PARETOPO_HD Tree(Arena& arena, std::int64_t capacity, std::int32_t columns,
                     std::int32_t fan_bits)
        // Every thread does this: a bound of the nodes is cheaper than their number.
        : nodes(arena.array<Number>((capacity + (capacity >> (fan_bits - 1)) + 32) * columns)),
          capacity(capacity),
          count(capacity),
          columns(columns),
          fan_bits(fan_bits) {}

    PARETOPO_HD Tree of_first(std::int64_t rows) const {
        Tree tree = *this;
        tree.count = rows;
        return tree;
    }

    PARETOPO_HD std::int64_t width(std::int32_t level, std::int64_t rows) const {
        const std::int32_t bits = fan_bits * level;
        return (rows + (std::int64_t{1} << bits) - 1) >> bits;
    }
    // The highest level, of up to 2^fan_bits nodes.
    PARETOPO_HD std::int32_t top() const {
        std::int32_t level = 0;
        while (width(level, count) > std::int64_t{1} << fan_bits) ++level;
        return level;
    }
    PARETOPO_HD Number* level(std::int32_t level) const {
        Number* start = nodes;
        for (std::int32_t k = 0; k < level; ++k) start += width(k, capacity) * columns;
        return start;
    }

    // Sets column `m` of node i, whose children are complete.
    PARETOPO_HD void raise(std::int32_t level, const Number* children, Number* own, std::int64_t i,
                           std::int32_t m) const {
        const std::int64_t all = width(level - 1, count);
        const std::int64_t first = i << fan_bits;
        const std::int64_t next = (i + 1) << fan_bits;
        Number largest = children[first * columns + m];
        for (std::int64_t k = first + 1; k < (next < all ? next : all); ++k) {
            const Number value = children[k * columns + m];
            largest = value > largest ? value : largest;
        }
        own[i * columns + m] = largest;
    }

    // Raises column `m` of row i and of the nodes above it to at least `value`.
    template <typename Team>
    PARETOPO_HD void enter(Team& team, std::int64_t i, std::int32_t m, Number value) const {
        Number* row = nodes;
        for (std::int32_t level = 0; level <= top(); ++level, i >>= fan_bits) {
            team.atomic_max(row + i * columns + m, value);
            row += stride(level);
        }
    }

    // The first row from `from` on that passes, or `count`. A node must pass if one of its rows
    // does.
    template <typename Passes>
    PARETOPO_HD std::int64_t next(std::int64_t from, Passes passes) const {
        const std::uint32_t last_child = (1U << fan_bits) - 1;
        const std::int32_t highest = top();
        const Number* row = nodes;
        auto i = static_cast<std::uint32_t>(from);
        std::int32_t level = 0;
        for (std::uint32_t all = count_at(level);; ++i) {
            for (; level < highest && (i & last_child) == 0; i >>= fan_bits) {
                row += stride(level);
                all = count_at(++level);
            }
            if (i >= all) return count;
            while (passes(row + std::int64_t{i} * columns)) {
                if (level == 0) return i;
                all = count_at(--level);
                i <<= fan_bits;
                row -= stride(level);
            }
        }
    }

    // Calls visit(i) for the rows from `from` on that pass, in their order. A warp tests a node for
    // each lane.
    template <typename Warp, typename Passes, typename Visit>
    PARETOPO_HD void search(Warp& warp, std::int64_t from, Passes passes, Visit visit) const {
        const std::int32_t fan = 1 << fan_bits;
        const std::uint32_t last_child = static_cast<std::uint32_t>(fan) - 1;
        const std::int32_t highest = top();
        const Number* row = nodes;
        auto i = static_cast<std::uint32_t>(from);
        std::int32_t level = 0;
        for (std::uint32_t all = count_at(level);;) {
            const std::uint32_t first = i & ~last_child;
            const std::uint64_t passing = warp.ballot(fan, [&](std::int32_t child) {
                const std::uint32_t k = first + static_cast<std::uint32_t>(child);
                return k >= i && k < all && passes(row + std::int64_t{k} * columns);
            });
            i = passing == 0 ? first + last_child + 1
                             : first + static_cast<std::uint32_t>(lowest_bit(passing));
            if (passing != 0 && level > 0) {
                all = count_at(--level);
                i <<= fan_bits;
                row -= stride(level);
                continue;
            }
            if (passing != 0) visit(i++);
            for (; (i & last_child) == 0; i >>= fan_bits) {
                if (level == highest) return;
                row += stride(level);
                all = count_at(++level);
            }
        }
    }

    // The last row up to `from` that passes, or -1.
    template <typename Passes>
    PARETOPO_HD std::int64_t previous(std::int64_t from, Passes passes) const {
        const std::uint32_t last_child = (1U << fan_bits) - 1;
        const std::int32_t highest = top();
        const Number* row = nodes;
        std::int32_t level = 0;
        for (auto behind = static_cast<std::uint32_t>(from + 1); behind > 0; --behind) {
            for (; level < highest && (behind & last_child) == 0; behind >>= fan_bits) {
                row += stride(level++);
            }
            while (passes(row + std::int64_t{behind - 1} * columns)) {
                if (level == 0) return std::int64_t{behind} - 1;
                const std::uint32_t all = count_at(--level);
                behind <<= fan_bits;
                behind = behind < all ? behind : all;
                row -= stride(level);
            }
        }
        return -1;
    }

  private:
    // As 32 bits, which hold any number of points of a set, and are faster.
    PARETOPO_HD std::uint32_t count_at(std::int32_t level) const {
        const std::int32_t bits = fan_bits * level;
        return (static_cast<std::uint32_t>(count) + (1U << bits) - 1) >> bits;
    }
    PARETOPO_HD std::int64_t stride(std::int32_t level) const {
        const std::int32_t bits = fan_bits * level;
        return std::int64_t{(static_cast<std::uint32_t>(capacity) + (1U << bits) - 1) >> bits} *
               columns;
    }
};

// ---- As a job: sets.tree(g) is the Tree of a set ----

// Builds the levels from + 1..from + levels, a subtree after another by each block.
template <typename Sets>
struct BuildTree {
    Sets sets;
    std::int32_t from, levels;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto tree = sets.tree(g);
        const std::int64_t subtrees = tree.width(from + levels, tree.count);
        for (std::int64_t subtree = part; subtree < subtrees; subtree += parts) {
            for (std::int32_t level = from + 1; level <= from + levels; ++level) {
                const std::int32_t bits = tree.fan_bits * (from + levels - level);
                const std::int64_t all = tree.width(level, tree.count);
                const std::int64_t first = subtree << bits;
                const std::int64_t next = (subtree + 1) << bits;
                const auto* children = tree.level(level - 1);
                auto* own = tree.level(level);
                for_each(block, ((next < all ? next : all) - first) * tree.columns,
                         [&](std::int64_t k) {
                             tree.raise(level, children, own, first + k / tree.columns,
                                        static_cast<std::int32_t>(k % tree.columns));
                         });
            }
        }
    }
};

// Builds the trees of sets of up to `most` rows. `largest` is one of that size, with any memory.
template <typename Launcher, typename Sets, typename Number>
void build_trees(const Launcher& launcher, const Sets& sets, const Tree<Number>& largest,
                 std::int64_t groups) {
    constexpr std::int32_t kLevelsAtOnce = 4;
    const std::int32_t top = largest.top();
    for (std::int32_t from = 0; from < top; from += kLevelsAtOnce) {
        const std::int32_t levels = top - from < kLevelsAtOnce ? top - from : kLevelsAtOnce;
        launcher.blocks(launcher.parts(largest.width(from, largest.count)), groups,
                        BuildTree<Sets>{sets, from, levels});
    }
}

}  // namespace paretopo::gpu
