#include "cpu/dense_codes.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {
template <typename Scalar>
void SortedCodes::sort(const Scalar* values, std::int32_t points, std::int32_t objectives,
                       std::uint64_t minimised) {
    const auto size = static_cast<std::size_t>(points);
    const auto width = static_cast<std::size_t>(objectives);
    codes.resize(width);
    unsorted_.resize(width);
    order_.resize(size);
    distinct_of.resize(size);
    first_of.resize(size);
    distinct = 0;
    if (points == 0) return;

    std::int32_t values_of_first = 0;        // different ones
    for (std::size_t m = width; m-- > 0;) {  // objective 0 last: its order is the one to start from
        const bool flip = m < 64 && (minimised >> m & 1) != 0;
        const ObjectiveOrder order(values, points, objectives, static_cast<std::int32_t>(m),
                                   From::kBest, flip, scratch_);
        check_interrupt();
        unsorted_[m].resize(size);
        std::int32_t code = -1;
        for (std::size_t k = 0; k < size; ++k) {
            order_[k] = order.point(k);
            code += order.repeats(k) ? 0 : 1;
            unsorted_[m][static_cast<std::size_t>(order_[k])] = code;
        }
        values_of_first = code + 1;
    }

    const std::vector<std::int32_t>& best = unsorted_[0];
    if (values_of_first < points / 2) sort_by_codes();

    const auto compare_from = [&](std::size_t m, std::int32_t a, std::int32_t b) {
        for (; m < width; ++m) {
            const std::int32_t ca = unsorted_[m][static_cast<std::size_t>(a)];
            const std::int32_t cb = unsorted_[m][static_cast<std::size_t>(b)];
            if (ca != cb) return ca < cb ? -1 : 1;
        }
        return 0;
    };
    Pace pace;
    for (std::size_t first = 0, end = 0; first < size; first = end) {
        pace.step();
        const std::int32_t code = best[static_cast<std::size_t>(order_[first])];
        while (end < size && best[static_cast<std::size_t>(order_[end])] == code) ++end;
        if (end - first == 1) continue;
        const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = order_.begin() + static_cast<std::ptrdiff_t>(end);
        const auto goes_before = [&](std::int32_t a, std::int32_t b) {
            const int sign = compare_from(1, a, b);
            return sign != 0 ? sign < 0 : a < b;
        };
        if (!std::is_sorted(begin, stop, goes_before)) std::sort(begin, stop, goes_before);
    }

    for (std::size_t k = 0; k < size; ++k) {
        pace.step();
        if (k == 0 || compare_from(0, order_[k - 1], order_[k]) != 0) {
            first_of[static_cast<std::size_t>(distinct++)] = order_[k];
        }
        distinct_of[static_cast<std::size_t>(order_[k])] = distinct - 1;
    }
    for (std::size_t m = 0; m < width; ++m) {
        check_interrupt();
        codes[m].resize(static_cast<std::size_t>(distinct));
        for (std::size_t d = 0; d < codes[m].size(); ++d) {
            codes[m][d] = unsorted_[m][static_cast<std::size_t>(first_of[d])];
        }
    }
}

// Lexicographically: by the last objective first, and where the next has equal codes, they stay as
// they are.
void SortedCodes::sort_by_codes() {
    const std::size_t size = order_.size();
    std::iota(order_.begin(), order_.end(), 0);
    std::vector<std::int32_t> before(size);
    for (std::size_t m = unsorted_.size(); m-- > 0;) {
        check_interrupt();
        before.swap(order_);
        scratch_.keys.resize(size);
        for (std::size_t k = 0; k < size; ++k) {
            scratch_.keys[k] =
                static_cast<std::uint64_t>(unsorted_[m][static_cast<std::size_t>(before[k])]);
        }
        scratch_.sort();
        for (std::size_t k = 0; k < size; ++k) order_[k] = before[scratch_.at(k)];
    }
}

template void SortedCodes::sort(const float*, std::int32_t, std::int32_t, std::uint64_t);
template void SortedCodes::sort(const double*, std::int32_t, std::int32_t, std::uint64_t);

}  // namespace paretopo::cpu
