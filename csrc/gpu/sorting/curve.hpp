// Positions of points on a curve that fills space (Morton's): neighbours in the order of their
// codes are mostly neighbours in space. Codes only decide how much work a search has.
#pragma once

#include <cstdint>

#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/sorting/order.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Puts the bits of `cell` at the places first, first + step, first + 2 step, ...
PARETOPO_HD inline std::uint64_t spread(std::uint64_t cell, std::int32_t bits, std::int32_t first,
                                        std::int32_t step) {
    std::uint64_t code = 0;
    for (std::int32_t bit = 0; bit < bits; ++bit) code |= (cell >> bit & 1) << (bit * step + first);
    return code;
}

// At most `size` of the points of a set, at equal distances.
struct Sample {
    std::int64_t points;
    std::int64_t size;

    // Calls visit(i) for every `step`-th point of the sample.
    template <typename Visit>
    PARETOPO_HD void each(std::int64_t first, std::int64_t step, Visit visit) const {
        const std::int64_t count = points < size ? points : size;
        for (std::int64_t s = first; s < count; s += step) visit(s * points / count);
    }
};

// The span of each objective in a sample of a set, without infinities.
template <typename Scalar>
struct Spans {
    Key<Scalar>* lowest;
    Key<Scalar>* highest;
    std::int32_t objectives;

    PARETOPO_HD Spans(Arena& arena, std::int32_t objectives)
        : lowest(arena.array<Key<Scalar>>(objectives)),
          highest(arena.array<Key<Scalar>>(objectives)),
          objectives(objectives) {}

    // Without a barrier at the end.
    template <typename Block>
    PARETOPO_HD void measure(Block& block, const Key<Scalar>* rows, const Sample& sample) const {
        for_each(block, objectives, [&](std::int64_t m) {
            lowest[m] = kHighestKey<Scalar>;
            highest[m] = kLowestKey<Scalar>;
        });
        block.each_unsynced([&](int lane) {
            for (std::int32_t m = 0; m < objectives; ++m) {
                Key<Scalar> low = kHighestKey<Scalar>;
                Key<Scalar> high = kLowestKey<Scalar>;
                sample.each(lane, block.lanes(), [&](std::int64_t i) {
                    const Key<Scalar> key = rows[i * objectives + m];
                    constexpr Key<Scalar> kInfinity = KeyOf<Scalar>::kInfinity;
                    if (key >= kInfinity || key <= -kInfinity) return;
                    low = key < low ? key : low;
                    high = key > high ? key : high;
                });
                block.atomic_min(lowest + m, low);
                block.atomic_max(highest + m, high);
            }
        });
    }

    // Where a value lies in the span, in 0..1; NaN lies at 0. Halves, so that no span overflows.
    PARETOPO_HD double share(std::int32_t m, Key<Scalar> key) const {
        const auto half = [](Key<Scalar> k) {
            return 0.5 * static_cast<double>(value_of<Scalar>(k));
        };
        const double low = half(lowest[m]);
        const double found = (half(key) - low) / (half(highest[m]) - low);
        return found > 0.0 ? (found < 1.0 ? found : 1.0) : 0.0;
    }

    // The code that sorts by the sum of all objectives, largest first. The code of a point is at
    // most that of a point that it dominates.
    PARETOPO_HD std::uint64_t sum_code(const Key<Scalar>* row) const {
        double sum = 0.0;
        for (std::int32_t m = 0; m < objectives; ++m) sum += share(m, row[m]);
        return Order<double>::code(key_of(sum, false));
    }

    // The code by the objectives from `first` on.
    PARETOPO_HD std::uint64_t code(const Key<Scalar>* row, std::int32_t first) const {
        constexpr std::int32_t kMost = 16;
        const std::int32_t sides = objectives - first < kMost ? objectives - first : kMost;
        const std::int32_t bits = sides == 1 ? 32 : 64 / sides;
        const auto cells = static_cast<double>((std::uint64_t{1} << bits) - 1);
        std::uint64_t code = 0;
        for (std::int32_t m = 0; m < sides; ++m) {
            const auto cell = static_cast<std::uint64_t>(share(m + first, row[m + first]) * cells);
            code |= spread(cell, bits, m, sides);
        }
        return code;
    }
};

}  // namespace paretopo::gpu
