// Ranks and filter of one large set with 4 objectives or more, and a quick way to thin out a set.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/lanes/block.hpp"
#include "cpu/lanes/exports.hpp"
#include "cpu/lanes/front.hpp"
#include "cpu/lanes/interrupt.hpp"
#include "formulas/dominance.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

Coarse coarse_of(const CodeColumns& set) {
    Coarse coarse(set.points, set.objectives);
    std::vector<std::int32_t> highest;
    for (int m = 0; m < set.objectives; ++m) {
        const std::int32_t* column = set.codes[m];
        highest.push_back(set.points == 0 ? 0 : *std::max_element(column, column + set.points));
    }
    coarse.set_ranges(highest);
    return coarse;
}

}  // namespace

void rank_distinct(CodeColumns set, std::int32_t* ranks) {
    const Coarse coarse = coarse_of(set);
    Query query(coarse, set.objectives - 1);
    std::vector<Front> fronts;
    Pace pace;
    for (std::int32_t d = 0; d < set.points; ++d) {
        pace.step();
        query.take(set, d);
        // If front f dominates a point, so do all fronts before it.
        std::size_t low = 0;
        std::size_t high = fronts.size();
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (fronts[middle].dominates(query)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low == fronts.size()) fronts.emplace_back();
        fronts[low].add(query);
        ranks[d] = static_cast<std::int32_t>(low);
    }
}

void find_distinct_nondominated(CodeColumns set, std::uint8_t* nondominated) {
    const Coarse coarse = coarse_of(set);
    Query query(coarse, set.objectives - 1);
    Front front;
    Pace pace;
    for (std::int32_t d = 0; d < set.points; ++d) {
        pace.step();
        query.take(set, d);
        nondominated[d] = !front.dominates(query);
        if (nondominated[d] != 0) front.add(query);
    }
}

template <typename Scalar>
std::int32_t drop_dominated(const Scalar* values, std::int32_t points, std::int32_t objectives,
                            std::uint64_t minimised, const std::int32_t* pivots, int pivot_count,
                            std::int32_t* survivors) {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    constexpr int kLanes = V::kLanes;
    const auto key_of = [&](typename V::F column, int m) {
        return ordered<Scalar>(column, m < 64 && (minimised >> m & 1) != 0);
    };
    std::vector<I> keys(static_cast<std::size_t>(pivot_count * objectives));
    for (int p = 0; p < pivot_count; ++p) {
        for (int m = 0; m < objectives; ++m) {
            keys[static_cast<std::size_t>(p * objectives + m)] =
                key_of(V::all(values[std::int64_t{pivots[p]} * objectives + m]), m);
        }
    }
    std::int32_t count = 0;
    typename V::F columns[kMostValues + kLanes];
    I point[kMostValues];
    for (std::int64_t first = 0; first < points; first += kLanes) {  // may pass the last int32
        const auto here = static_cast<int>(std::min<std::int64_t>(kLanes, points - first));
        const bool last =
            (first + kLanes) * objectives + kLanes > std::int64_t{points} * objectives;
        read_columns<Scalar>(values + first * objectives, objectives, here, last, columns);
        for (int m = 0; m < objectives; ++m) point[m] = key_of(columns[m], m);
        typename V::Mask dominated = V::none();
        for (int p = 0; p < pivot_count; ++p) {
            const I* pivot = &keys[static_cast<std::size_t>(p * objectives)];
            const auto found = compare<V, 0>(pivot, point, objectives);
            dominated = V::either(dominated, found.a_dominates());
            if (V::every(dominated)) break;
        }
        const unsigned bits = V::bits(dominated);
        for (int k = 0; k < here; ++k) {
            survivors[count] = static_cast<std::int32_t>(first + k);
            count += (bits >> k & 1) == 0;
        }
    }
    return count;
}

PARETOPO_INSTANTIATE_KERNEL(drop_dominated)

}  // namespace paretopo::cpu::PARETOPO_LANES
