// Crowding distances of sets that exceed a warp: for each objective, sort the points by front and
// value, and add the gap between the neighbours of each.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/crowding.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/sorting/order.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// The memory and the steps of one objective of each set.
template <typename Scalar>
struct Gaps {
    char* scratch;
    Batch<Scalar> batch;
    std::int32_t run_bits;
    std::int32_t objective = 0;

    // Rows have one column, the complement of the key, so that the smallest key comes first.
    PARETOPO_HD Order<Scalar> order(std::int64_t g) const {
        Arena sizes(nullptr);
        order_in(sizes);
        Arena arena(scratch + g * sizes.bytes());
        return order_in(arena);
    }
    std::int64_t bytes() const {
        Arena sizes(nullptr);
        order_in(sizes);
        return sizes.bytes();
    }

  private:
    PARETOPO_HD Order<Scalar> order_in(Arena& arena) const {
        const auto* column = arena.array<Key<Scalar>>(batch.points);
        return Order<Scalar>(arena, column, batch.points, 1, run_bits, false);
    }
};

// ---- The steps as jobs: (block, part, parts, group) ----

template <typename Scalar>
struct ReadColumn {
    Gaps<Scalar> gaps;
    const std::int32_t* ranks;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto order = gaps.order(g);
        const Batch<Scalar>& batch = gaps.batch;
        const std::int32_t m = gaps.objective;
        auto* column = const_cast<Key<Scalar>*>(order.rows);
        for_each_in_part(block, part, parts, 0, batch.points, [&](std::int64_t i) {
            const Scalar value = batch.group(g)[i * batch.objectives + m];
            column[i] = ~key_of(value, batch.is_minimised(m));
            const auto rank = static_cast<std::uint32_t>(ranks[g * batch.points + i]);
            order.given[i] = {rank, i};
        });
    }
};

template <typename Scalar>
struct AddGaps {
    Gaps<Scalar> gaps;
    double* distances;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto order = gaps.order(g);
        const Item* items = order.sorted();
        for_each_in_part(block, part, parts, 0, order.count, [&](std::int64_t place) {
            double* distance = distances + g * order.count + items[place].at;
            const double before = gaps.objective == 0 ? 0.0 : *distance;
            *distance = with_gap(order, items, place, before);
        });
    }

  private:
    PARETOPO_HD double with_gap(const Order<Scalar>& order, const Item* items, std::int64_t place,
                                double distance) const {
        const std::uint64_t front = items[place].code;
        if (front == static_cast<std::uint32_t>(kUnranked)) return 0.0;
        const std::int64_t first = first_of(items, order.count, front);
        const std::int64_t last = first_of(items, order.count, front + 1) - 1;
        const auto key = [&](std::int64_t k) { return ~order.rows[items[k].at]; };
        const auto value = [&](std::int64_t k) {
            return static_cast<double>(value_of<Scalar>(key(k)));
        };
        if (first < last && key(first) == key(last) && (place == first || place == last)) {
            return distance;  // flat: it has no ends
        }
        if (place == first || place == last) return kAtAnEnd;
        if (distance == kAtAnEnd) return distance;
        return distance +
               crowding_gap(value(place - 1), value(place + 1), value(first), value(last));
    }
    // The first place of a front, or of the next one if it has no points.
    PARETOPO_HD static std::int64_t first_of(const Item* items, std::int64_t count,
                                             std::uint64_t front) {
        std::int64_t low = 0;
        std::int64_t high = count;
        while (low < high) {
            const std::int64_t middle = (low + high) / 2;
            if (items[middle].code < front) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }
};

template <typename Launcher, typename Scalar>
void add_gaps(const Launcher& launcher, Gaps<Scalar> gaps, const std::int32_t* ranks,
              double* distances) {
    const Batch<Scalar>& batch = gaps.batch;
    const std::int64_t parts = launcher.parts(batch.points);
    for (gaps.objective = 0; gaps.objective < batch.objectives; ++gaps.objective) {
        launcher.blocks(parts, batch.groups, ReadColumn<Scalar>{gaps, ranks});
        sort(launcher, gaps, batch.points, batch.groups, gaps.run_bits);
        launcher.blocks(parts, batch.groups, AddGaps<Scalar>{gaps, distances});
    }
}

}  // namespace paretopo::gpu
