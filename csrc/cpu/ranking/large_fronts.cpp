#include "cpu/ranking/large_fronts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/sorting/count_leading.hpp"
#include "cpu/tuning/instruction_sets.hpp"

namespace paretopo::cpu {
namespace {

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
    StaircaseFronts<std::int32_t> fronts;
    Poller poller;
    for (std::size_t d = 0; d < ranks.size(); ++d) {
        poller.step();
        ranks[d] = fronts.enter(sorted.codes[1][d], sorted.codes[2][d]);
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
            if (sorted.distinct > kernels().tuning.most_paired_of_3) return rank_3d(sorted, ranks);
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
                nondominated[d] = front.enter(y, z);
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

// The rank of a point that no later point of its column dominates, and that is worse than all
// points so far in the first objective, or equal.
std::int32_t PlanarRanker::place(std::uint64_t y) {
    const std::size_t rank = count_up_to(tails_, y);
    if (rank == tails_.size()) {
        tails_.push_back(y);
    } else {
        tails_[rank] = y;
    }
    return static_cast<std::int32_t>(rank);
}

void PlanarRanker::place_run(const std::uint64_t* keys, std::size_t size, std::int32_t* ranks) {
    constexpr std::uint64_t kNoTail = ~std::uint64_t{0};  // also the key of NaN
    constexpr std::size_t kWorthwhile = 16;
    std::size_t placed = 0;
    const std::size_t fronts = tails_.size();
    if (size >= kWorthwhile && fronts < kMaxHeldTails &&
        (fronts == 0 || tails_.back() != kNoTail)) {
        tails_.resize(kMaxHeldTails, kNoTail);
        placed = kernels().tails.place(tails_.data(), keys, size, ranks);
        tails_.erase(std::find(tails_.begin(), tails_.end(), kNoTail), tails_.end());
    }
    for (; placed < size; ++placed) ranks[placed] = place(keys[placed]);
}

void PlanarRanker::rank_cells(const Cells<2>& cells, std::int32_t points, std::int32_t* ranks) {
    cell_ranks_.resize(cells.size());
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        if (cells.holds_points(cell)) cell_ranks_[cell] = place(cell % cells.extent(1));
    }
    for (std::int32_t i = 0; i < points; ++i) {
        ranks[i] = cell_ranks_[cells.of(static_cast<std::size_t>(i))];
    }
}

template <typename Scalar>
std::int32_t PlanarRanker::rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                                std::int32_t* ranks) {
    tails_.clear();
    const auto second = [&](std::int32_t point) -> std::uint64_t {
        return best_first(values[2 * std::int64_t{point} + 1], (minimised & 2) != 0);
    };
    const auto read = [&](std::size_t point) {
        return Cells<2>::Keys{best_first(values[2 * point], (minimised & 1) != 0),
                              best_first(values[2 * point + 1], (minimised & 2) != 0)};
    };
    if (cells_->fill(static_cast<std::size_t>(points), read)) {
        rank_cells(*cells_, points, ranks);
        return static_cast<std::int32_t>(tails_.size());
    }
    const ObjectiveOrder order(values, points, 2, 0, From::kBest, (minimised & 1) != 0, *scratch_);
    if (improves_along(scratch_->sorted(), values, (minimised & 2) != 0)) {
        std::fill_n(ranks, points, 0);
        return 1;
    }
    const std::size_t size = order.size();
    constexpr std::size_t kMaxRun = 1024;
    std::array<std::uint64_t, kMaxRun> keys;
    std::array<std::int32_t, kMaxRun> found;
    Poller poller;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        poller.step();
        // A run of points that differ in the first objective.
        for (; end < size && end - first < kMaxRun && !(end + 1 < size && order.repeats(end + 1));
             ++end) {
            constexpr std::size_t kAhead = 128;  // points, whose values are at random addresses
            const std::int64_t ahead = order.point(end + kAhead < size ? end + kAhead : end);
            __builtin_prefetch(values + 2 * ahead);
            __builtin_prefetch(ranks + ahead, 1);
            keys[end - first] = second(order.point(end));
        }
        place_run(keys.data(), end - first, found.data());
        for (std::size_t k = first; k < end; ++k) ranks[order.point(k)] = found[k - first];
        if (end == size || end - first == kMaxRun) continue;

        column_.clear();
        do {
            column_.push_back({second(order.point(end)), order.point(end)});
        } while (++end < size && order.repeats(end));
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

template <typename Scalar>
std::int32_t SpatialRanker::rank(const Scalar* values, std::int32_t points, std::uint64_t minimised,
                                 std::int32_t* ranks) {
    const ObjectiveOrder order(values, points, 3, 0, From::kBest, (minimised & 1) != 0, *order_);
    const auto read = [&](std::int32_t point) {
        const Scalar* own = values + 3 * std::int64_t{point};
        return KeyedPoint{best_first(own[1], (minimised & 2) != 0),
                          best_first(own[2], (minimised & 4) != 0), point};
    };
    fronts_.clear();
    const std::size_t size = order.size();
    Poller poller;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        poller.step();
        constexpr std::size_t kAhead = 32;  // points, whose values are at random addresses
        if (first + kAhead < size) {
            __builtin_prefetch(values + 3 * std::int64_t{order.point(first + kAhead)});
        }
        for (++end; end < size && order.repeats(end);) ++end;
        if (end - first == 1) {
            const KeyedPoint item = read(order.point(first));
            ranks[item.point] = fronts_.enter(item.y, item.z);
            continue;
        }
        column_.clear();
        for (std::size_t k = first; k < end; ++k) column_.push_back(read(order.point(k)));
        std::sort(column_.begin(), column_.end());
        std::int32_t rank = 0;
        for (std::size_t k = 0; k < column_.size(); ++k) {
            const KeyedPoint& item = column_[k];
            if (k == 0 || !item.equals(column_[k - 1])) rank = fronts_.enter(item.y, item.z);
            ranks[item.point] = rank;
        }
    }
    return fronts_.count();
}

template std::int32_t SpatialRanker::rank(const float*, std::int32_t, std::uint64_t, std::int32_t*);
template std::int32_t SpatialRanker::rank(const double*, std::int32_t, std::uint64_t,
                                          std::int32_t*);

}  // namespace paretopo::cpu
