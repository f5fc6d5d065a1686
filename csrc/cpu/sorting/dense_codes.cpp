#include "cpu/sorting/dense_codes.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {
template <typename Scalar>
void SortedCodes::sort(const Scalar* values, std::int32_t points, std::int32_t objectives,
                       std::uint64_t minimised) {
    const auto size = static_cast<std::size_t>(points);
    const auto width = static_cast<std::size_t>(objectives);
    if (objectives == 3 && sort_cells(values, points, minimised)) return;
    codes.resize(width);
    unsorted_.resize(width);
    different_.resize(width);
    order_.resize(size);
    distinct_of.resize(size);
    first_of.resize(size);
    distinct = 0;
    if (points == 0) return;

    for (std::size_t m = width; m-- > 0;) {  // objective 0 last: later steps start from its order
        const bool flip = m < 64 && (minimised >> m & 1) != 0;
        const ObjectiveOrder order(values, points, objectives, static_cast<std::int32_t>(m),
                                   From::kBest, flip, *scratch_);
        check_interrupt();
        unsorted_[m].resize(size);
        std::int32_t code = -1;
        for (std::size_t k = 0; k < size; ++k) {
            order_[k] = order.point(k);
            code += order.repeats(k) ? 0 : 1;
            unsorted_[m][static_cast<std::size_t>(order_[k])] = code;
        }
        different_[m] = code + 1;
    }

    if (different_[0] == points) {
        distinct = points;
        distinct_of = unsorted_[0];
        first_of = order_;
    } else {
        sort_ties();
    }
    for (std::size_t m = 0; m < width; ++m) {
        check_interrupt();
        codes[m].resize(static_cast<std::size_t>(distinct));
        for (std::size_t d = 0; d < codes[m].size(); ++d) {
            codes[m][d] = unsorted_[m][static_cast<std::size_t>(first_of[d])];
        }
    }
}

template <typename Scalar>
bool SortedCodes::sort_cells(const Scalar* values, std::int32_t points, std::uint64_t minimised) {
    const auto size = static_cast<std::size_t>(points);
    const auto read = [&](std::size_t i) {
        Cells<3>::Keys keys;
        for (std::size_t m = 0; m < keys.size(); ++m) {
            keys[m] = best_first(values[3 * i + m], (minimised >> m & 1) != 0);
        }
        return keys;
    };
    const Cells<3>& cells = *cells_;
    if (points == 0 || !cells_->fill(size, read)) return false;
    distinct = 0;
    distinct_of.resize(size);
    order_.resize(cells.size());  // the distinct point of each cell
    codes.assign(3, {});
    for (std::size_t cell = 0; cell < cells.size(); ++cell) {
        if (!cells.holds_points(cell)) continue;
        order_[cell] = distinct++;
        const std::size_t row = cell / cells.extent(2);
        codes[0].push_back(static_cast<std::int32_t>(row / cells.extent(1)));
        codes[1].push_back(static_cast<std::int32_t>(row % cells.extent(1)));
        codes[2].push_back(static_cast<std::int32_t>(cell % cells.extent(2)));
    }
    first_of.resize(static_cast<std::size_t>(distinct));
    for (std::size_t i = size; i-- > 0;) {
        distinct_of[i] = order_[cells.of(i)];
        first_of[static_cast<std::size_t>(distinct_of[i])] = static_cast<std::int32_t>(i);
    }
    return true;
}

// Sorts by one key that packs all objectives that fit its bits; the others break ties.
void SortedCodes::sort_ties() {
    const std::size_t size = order_.size();
    const std::size_t width = unsorted_.size();
    KeyOrder& packed_order = *scratch_;
    packed_order.keys.resize(size);
    std::fill_n(packed_order.keys.data(), size, 0);
    std::size_t packed = 0;
    for (int left = 64; packed < width; ++packed) {
        check_interrupt();
        const int bits = std::bit_width(static_cast<std::uint32_t>(different_[packed] - 1));
        if (bits > left) break;
        left -= bits;
        for (std::size_t i = 0; i < size; ++i) {
            packed_order.keys[i] =
                packed_order.keys[i] << bits | static_cast<std::uint32_t>(unsorted_[packed][i]);
        }
    }
    packed_order.sort();

    const auto compare_others = [&](std::int32_t a, std::int32_t b) {
        for (std::size_t m = packed; m < width; ++m) {
            const std::int32_t ca = unsorted_[m][static_cast<std::size_t>(a)];
            const std::int32_t cb = unsorted_[m][static_cast<std::size_t>(b)];
            if (ca != cb) return ca < cb ? -1 : 1;
        }
        return 0;
    };
    const auto goes_before = [&](std::int32_t a, std::int32_t b) {
        const int sign = compare_others(a, b);
        return sign != 0 ? sign < 0 : a < b;
    };
    Poller poller;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        poller.step();
        for (; end == first || (end < size && packed_order.repeats(end)); ++end) {
            order_[end] = static_cast<std::int32_t>(packed_order.at(end));
        }
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = order_.begin() + static_cast<std::ptrdiff_t>(end);
        if (packed < width && !std::is_sorted(begin, stop, goes_before)) {
            std::sort(begin, stop, goes_before);
        }
        for (std::size_t k = first; k < end; ++k) {
            if (k == first || compare_others(order_[k - 1], order_[k]) != 0) {
                first_of[static_cast<std::size_t>(distinct++)] = order_[k];
            }
            distinct_of[static_cast<std::size_t>(order_[k])] = distinct - 1;
        }
    }
}

template bool SortedCodes::sort_cells(const float*, std::int32_t, std::uint64_t);
template bool SortedCodes::sort_cells(const double*, std::int32_t, std::uint64_t);
template void SortedCodes::sort(const float*, std::int32_t, std::int32_t, std::uint64_t);
template void SortedCodes::sort(const double*, std::int32_t, std::int32_t, std::uint64_t);

}  // namespace paretopo::cpu
