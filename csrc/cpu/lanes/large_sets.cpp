#include "cpu/lanes/large_sets.hpp"

#include <cstdint>
#include <vector>

#include "cpu/interrupt.hpp"
#include "cpu/lanes/block.hpp"
#include "cpu/lanes/front.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

Coarse coarse_of(const SortedCodes& sorted) {
    Coarse coarse(sorted.distinct, static_cast<int>(sorted.codes.size()));
    std::vector<std::int32_t> highest;
    for (const std::vector<std::int32_t>& column : sorted.codes) {
        highest.push_back(column.empty() ? 0 : *std::max_element(column.begin(), column.end()));
    }
    coarse.set_ranges(highest);
    return coarse;
}

}  // namespace

void rank_many(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    const Coarse coarse = coarse_of(sorted);
    Query query(coarse, static_cast<int>(sorted.codes.size()) - 1);
    std::vector<Front> fronts;
    Pace pace;
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        pace.step();
        query.take(sorted, d);
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

void filter_many(const SortedCodes& sorted, std::vector<std::uint8_t>& chosen) {
    const Coarse coarse = coarse_of(sorted);
    Query query(coarse, static_cast<int>(sorted.codes.size()) - 1);
    Front front;
    Pace pace;
    for (std::size_t d = 0; d < chosen.size(); ++d) {
        pace.step();
        query.take(sorted, d);
        if (front.dominates(query)) continue;
        front.add(query);
        chosen[d] = 1;
    }
}

// Writes the indices of the points that no pivot dominates; returns how many there are.
template <typename Scalar>
std::int32_t thin_out(const Scalar* values, std::int32_t points, std::int32_t objectives,
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
        typename V::Mask beaten = V::none();
        for (int p = 0; p < pivot_count; ++p) {
            const I* pivot = &keys[static_cast<std::size_t>(p * objectives)];
            typename V::Mask above = V::greater(point[0], pivot[0]);
            typename V::Mask below = V::greater(pivot[0], point[0]);
            for (int m = 1; m < objectives; ++m) {
                above = V::either(above, V::greater(point[m], pivot[m]));
                below = V::either(below, V::greater(pivot[m], point[m]));
            }
            beaten = V::either(beaten, V::without(below, above));
            if (V::every(beaten)) break;
        }
        const unsigned bits = V::bits(beaten);
        for (int k = 0; k < here; ++k) {
            survivors[count] = static_cast<std::int32_t>(first + k);
            count += (bits >> k & 1) == 0;
        }
    }
    return count;
}

template std::int32_t thin_out(const float*, std::int32_t, std::int32_t, std::uint64_t,
                               const std::int32_t*, int, std::int32_t*);
template std::int32_t thin_out(const double*, std::int32_t, std::int32_t, std::uint64_t,
                               const std::int32_t*, int, std::int32_t*);

}  // namespace paretopo::cpu::PARETOPO_LANES
