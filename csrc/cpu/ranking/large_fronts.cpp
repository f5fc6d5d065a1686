#include "cpu/ranking/large_fronts.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "cpu/lanes/isa.hpp"
#include "cpu/ranking/staircase_of_minima.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/sorting/count_leading.hpp"

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

// The number of values at most y, in ascending numbers.
std::size_t count_up_to(const std::vector<std::uint64_t>& ascending, std::uint64_t y) {
    const std::size_t size = ascending.size();
    if (size == 0 || y < ascending.front()) return 0;  // all points are on one front
    if (ascending.back() <= y) return size;            // a chain
    return count_leading(size, [&](std::size_t i) { return ascending[i] <= y; });
}

// Calls work with pointers to the codes, as the vector kernels expect them.
template <typename Work>
void with_columns(const SortedCodes& sorted, Work work) {
    std::vector<const std::int32_t*> columns;
    for (const std::vector<std::int32_t>& codes : sorted.codes) columns.push_back(codes.data());
    work(CodeColumns{columns.data(), static_cast<int>(columns.size()), sorted.distinct});
}

void rank_3d(const SortedCodes& sorted, std::vector<std::int32_t>& ranks) {
    std::vector<StaircaseOfMinima<std::int32_t>> fronts;
    Poller poller;
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        poller.step();
        const std::int32_t y = sorted.codes[1][d];
        const std::int32_t z = sorted.codes[2][d];
        const std::size_t rank =
            first_front_free(fronts.size(), [&](std::size_t f) { return fronts[f].covers(y, z); });
        if (rank == fronts.size()) fronts.emplace_back();
        fronts[rank].insert(y, z);
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
            if (sorted.distinct > kMaxPairedOf3) return rank_3d(sorted, ranks);
            [[fallthrough]];
        default:
            return with_columns(sorted,
                                [&](CodeColumns set) { kernels().codes.rank(set, ranks.data()); });
    }
}

void find_distinct_nondominated(const SortedCodes& sorted,
                                std::vector<std::uint8_t>& nondominated) {
    const auto size = static_cast<std::size_t>(sorted.distinct);
    nondominated.assign(size, 0);
    switch (sorted.codes.size()) {
        case 1:
            if (size > 0) nondominated[0] = 1;
            return;
        case 2: {
            std::int32_t best = std::numeric_limits<std::int32_t>::max();
            for (std::size_t d = 0; d < size; ++d) {
                nondominated[d] = sorted.codes[1][d] < best;
                best = std::min(best, sorted.codes[1][d]);
            }
            return;
        }
        case 3: {
            StaircaseOfMinima<std::int32_t> front;
            Poller poller;
            for (std::size_t d = 0; d < size; ++d) {
                poller.step();
                const std::int32_t y = sorted.codes[1][d];
                const std::int32_t z = sorted.codes[2][d];
                if (front.covers(y, z)) continue;
                front.insert(y, z);
                nondominated[d] = 1;
            }
            return;
        }
        default:
            return with_columns(sorted, [&](CodeColumns set) {
                kernels().codes.find_nondominated(set, nondominated.data());
            });
    }
}

void PlanarRanker::sort_column() {
    if (std::is_sorted(column_.begin(), column_.end())) return;
    const std::size_t size = column_.size();
    if (size < kMinColumnOrdered) return std::sort(column_.begin(), column_.end());
    column_order_.keys.resize(size);
    for (std::size_t k = 0; k < size; ++k) column_order_.keys[k] = column_[k].key;
    column_order_.sort();
    sorted_column_.resize(size);
    for (std::size_t k = 0; k < size; ++k) sorted_column_[k] = column_[column_order_.at(k)];
    column_.swap(sorted_column_);
}

template <typename Scalar>
std::int32_t PlanarRanker::rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                                std::int32_t* ranks) {
    const ObjectiveOrder order(values, points, 2, 0, From::kBest, (minimised & 1) != 0, scratch_);
    const auto second = [&](std::int32_t point) -> std::uint64_t {
        return best_first(values[2 * std::int64_t{point} + 1], (minimised & 2) != 0);
    };
    tails_.clear();
    const auto place = [this](std::uint64_t y) {
        const std::size_t rank = count_up_to(tails_, y);
        if (rank == tails_.size()) {
            tails_.push_back(y);
        } else {
            tails_[rank] = y;
        }
        return static_cast<std::int32_t>(rank);
    };
    const std::size_t size = order.size();
    Poller poller;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        poller.step();
        constexpr std::size_t kAhead = 32;  // points, whose values are at random addresses
        if (first + kAhead < size) {
            const std::int64_t ahead = order.point(first + kAhead);
            __builtin_prefetch(values + 2 * ahead);
            __builtin_prefetch(ranks + ahead, 1);
        }
        for (++end; end < size && order.repeats(end);) ++end;
        if (end - first == 1) {
            ranks[order.point(first)] = place(second(order.point(first)));
            continue;
        }
        column_.clear();
        for (std::size_t k = first; k < end; ++k) {
            column_.push_back({second(order.point(k)), order.point(k)});
        }
        sort_column();
        const KeyedPoint* previous = nullptr;
        for (const KeyedPoint& item : column_) {
            const bool is_equal = previous && previous->key == item.key;
            ranks[item.point] = is_equal ? ranks[previous->point] : place(item.key);
            previous = &item;
        }
    }
    return static_cast<std::int32_t>(tails_.size());
}

template std::int32_t PlanarRanker::rank(const float*, std::int32_t, std::uint64_t, std::int32_t*);
template std::int32_t PlanarRanker::rank(const double*, std::int32_t, std::uint64_t, std::int32_t*);

}  // namespace paretopo::cpu
