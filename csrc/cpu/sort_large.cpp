#include "cpu/sort_large.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "cpu/lanes/large_sets.hpp"
#include "cpu/lanes/on_lanes.hpp"
#include "cpu/staircase.hpp"

namespace paretopo::cpu {
namespace {

// The first front that does not dominate a point. If front f dominates it, so do all before f.
template <typename Dominates>
std::size_t first_front_free(std::size_t fronts, const Dominates& dominates) {
    std::size_t low = 0;
    std::size_t high = fronts;
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (dominates(middle)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

constexpr auto kIgnore = [](const auto&) {};

void rank_3d(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    std::vector<Staircase<std::int32_t>> fronts;
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        const std::int32_t y = sorted.codes[1][d];
        const std::int32_t z = sorted.codes[2][d];
        const std::size_t rank =
            first_front_free(fronts.size(), [&](std::size_t f) { return fronts[f].covers(y, z); });
        if (rank == fronts.size()) fronts.emplace_back();
        fronts[rank].insert(y, z, kIgnore);
        ranks[d] = static_cast<std::int32_t>(rank);
    }
}

}  // namespace

void rank_distinct(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    ranks.resize(static_cast<std::size_t>(sorted.distinct));
    switch (sorted.codes.size()) {
        case 1:
            std::copy(sorted.codes[0].begin(), sorted.codes[0].end(), ranks.begin());
            return;
        case 3:
            return rank_3d(sorted, ranks);
        default:
            return PARETOPO_ON_LANES(rank_many, sorted, ranks);
    }
}

void filter_distinct(const SortedCodes& sorted, std::vector<std::uint8_t>& chosen) {
    const auto size = static_cast<std::size_t>(sorted.distinct);
    chosen.assign(size, 0);
    switch (sorted.codes.size()) {
        case 1:
            if (size > 0) chosen[0] = 1;
            return;
        case 2: {
            std::int32_t best = std::numeric_limits<std::int32_t>::max();
            for (std::size_t d = 0; d < size; ++d) {
                chosen[d] = sorted.codes[1][d] < best;
                best = std::min(best, sorted.codes[1][d]);
            }
            return;
        }
        case 3: {
            Staircase<std::int32_t> front;
            for (std::size_t d = 0; d < size; ++d) {
                const std::int32_t y = sorted.codes[1][d];
                const std::int32_t z = sorted.codes[2][d];
                if (front.covers(y, z)) continue;
                front.insert(y, z, kIgnore);
                chosen[d] = 1;
            }
            return;
        }
        default:
            return PARETOPO_ON_LANES(filter_many, sorted, chosen);
    }
}

template <typename Scalar>
std::int32_t PlanarRanker::rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                                std::int32_t* ranks) {
    sort_objective(values, points, 2, 0, (minimised & 1) != 0, keyed_, spare_);
    const auto second = [&](std::int32_t point) {
        return best_first(values[2 * std::int64_t{point} + 1], (minimised & 2) != 0);
    };
    tails_.clear();
    const std::size_t size = keyed_.size();
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        const std::uint64_t x = keyed_[first].key;
        while (end < size && keyed_[end].key == x) {
            keyed_[end].key = second(keyed_[end].point);
            ++end;
        }
        const auto lower = [](const KeyedPoint& a, const KeyedPoint& b) { return a.key < b.key; };
        const auto begin = keyed_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = keyed_.begin() + static_cast<std::ptrdiff_t>(end);
        if (!std::is_sorted(begin, stop, lower)) std::sort(begin, stop, lower);
        for (std::size_t k = first; k < end; ++k) {
            const auto [y, point] = keyed_[k];
            if (k > first && y == keyed_[k - 1].key) {
                ranks[point] = ranks[keyed_[k - 1].point];
                continue;
            }
            const auto free = std::upper_bound(tails_.begin(), tails_.end(), y);
            ranks[point] = static_cast<std::int32_t>(free - tails_.begin());
            if (free == tails_.end()) {
                tails_.push_back(y);
            } else {
                *free = y;
            }
        }
    }
    return static_cast<std::int32_t>(tails_.size());
}

template std::int32_t PlanarRanker::rank(const float*, std::int32_t, std::uint64_t, std::int32_t*);
template std::int32_t PlanarRanker::rank(const double*, std::int32_t, std::uint64_t, std::int32_t*);

}  // namespace paretopo::cpu
