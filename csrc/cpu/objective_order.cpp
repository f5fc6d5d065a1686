#include "cpu/objective_order.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {
namespace {

// Stable least-significant-digit radix sort on the upper halves; digits that all share are skipped.
template <int kDigitBits>
void sort_by_upper_half(std::vector<std::uint64_t>& items, std::vector<std::uint64_t>& spare) {
    constexpr std::size_t kValues = std::size_t{1} << kDigitBits;
    constexpr int kDigits = (32 + kDigitBits - 1) / kDigitBits;
    std::array<std::array<std::uint32_t, kValues>, kDigits> counts{};
    const auto digit = [](std::uint64_t item, int d) {
        return item >> (32 + d * kDigitBits) & (kValues - 1);
    };
    for (const std::uint64_t item : items) {
        for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][digit(item, d)];
    }
    spare.resize(items.size());
    for (int d = 0; d < kDigits; ++d) {
        auto& start = counts[static_cast<std::size_t>(d)];
        if (start[digit(items[0], d)] == items.size()) continue;
        check_interrupt();
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) sum += std::exchange(count, sum);
        for (const std::uint64_t item : items) spare[start[digit(item, d)]++] = item;
        items.swap(spare);
    }
}

}  // namespace

template <typename Scalar>
ObjectiveOrder<Scalar>::ObjectiveOrder(const Scalar* values, std::int32_t points,
                                       std::int32_t objectives, std::int32_t m, bool minimised,
                                       OrderScratch& scratch)
    : values_(values + m), objectives_(objectives), minimised_(minimised), packed_(scratch.packed) {
    constexpr int kUpper = sizeof(Scalar) == 4 ? 0 : 32;
    constexpr std::int32_t kRadixFrom = 256;     // below it a comparison sort is faster
    constexpr std::int32_t kWideFrom = 1 << 14;  // from it counting many digit values pays
    packed_.resize(static_cast<std::size_t>(points));
    bool is_sorted = true;
    decltype(key(0)) before = 0;
    for (std::int32_t i = 0; i < points; ++i) {
        const auto own = key(i);
        const std::uint64_t upper = own >> kUpper;
        packed_[static_cast<std::size_t>(i)] = upper << 32 | static_cast<std::uint32_t>(i);
        is_sorted = is_sorted && before <= own;
        before = own;
    }
    if (is_sorted) return;
    if (points < kRadixFrom) {
        std::sort(packed_.begin(), packed_.end());
    } else if (points < kWideFrom) {
        sort_by_upper_half<8>(packed_, scratch.spare);
    } else {
        sort_by_upper_half<11>(packed_, scratch.spare);
    }
    if constexpr (kUpper != 0) order_within_equal_upper_halves();
}

template <typename Scalar>
void ObjectiveOrder<Scalar>::order_within_equal_upper_halves() {
    const auto goes_before = [this](std::uint64_t a, std::uint64_t b) {
        const auto key_a = key(point_of(a));
        const auto key_b = key(point_of(b));
        return key_a != key_b ? key_a < key_b : a < b;
    };
    Pace pace;
    for (auto first = packed_.begin(); first != packed_.end();) {
        pace.step();
        auto end = first + 1;
        while (end != packed_.end() && *end >> 32 == *first >> 32) ++end;
        if (end - first > 1 && !std::is_sorted(first, end, goes_before)) {
            std::sort(first, end, goes_before);
        }
        first = end;
    }
}

template class ObjectiveOrder<float>;
template class ObjectiveOrder<double>;

}  // namespace paretopo::cpu
