#include "cpu/key_order.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace paretopo::cpu {
namespace {

// Stable least-significant-digit radix sort on the upper halves; digits that all share are skipped.
template <int kDigitBits, int kDigits>
void sort_by_digits(std::vector<std::uint64_t>& items, std::vector<std::uint64_t>& spare) {
    constexpr std::size_t kValues = std::size_t{1} << kDigitBits;
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
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) sum += std::exchange(count, sum);
        for (const std::uint64_t item : items) spare[start[digit(item, d)]++] = item;
        items.swap(spare);
    }
}

template <int kDigitBits>
void sort_by_upper_half(int bits, std::vector<std::uint64_t>& items,
                        std::vector<std::uint64_t>& spare) {
    if (bits <= kDigitBits) return sort_by_digits<kDigitBits, 1>(items, spare);
    if (bits <= 2 * kDigitBits) return sort_by_digits<kDigitBits, 2>(items, spare);
    if (bits <= 3 * kDigitBits) return sort_by_digits<kDigitBits, 3>(items, spare);
    sort_by_digits<kDigitBits, 4>(items, spare);
}

}  // namespace

void KeyOrder::sort() {
    constexpr std::size_t kRadixFrom = 96;                   // below it a comparison sort is faster
    constexpr std::size_t kWideFrom = std::size_t{1} << 14;  // from it counting many values pays
    const std::size_t size = keys.size();
    packed_.resize(size);
    is_exact_ = true;
    if (size == 0) return;
    std::uint64_t least = keys[0];
    std::uint64_t most = keys[0];
    std::uint64_t differing = 0;
    bool is_sorted = true;
    for (std::size_t i = 1; i < size; ++i) {
        const std::uint64_t own = keys[i];
        least = std::min(least, own);
        most = std::max(most, own);
        differing |= own ^ keys[0];
        is_sorted &= keys[i - 1] <= own;
    }
    // As many bits as are worth it: among random keys few agree in twice the bits that number them.
    const int worth = std::min(32, 2 * static_cast<int>(std::bit_width(size)) + 4);
    const int alike = differing == 0 ? 0 : std::countr_zero(differing);
    const int range = static_cast<int>(std::bit_width(most - least));
    const int dropped = std::max(alike, range - worth);
    is_exact_ = dropped == alike;
    for (std::size_t i = 0; i < size; ++i) packed_[i] = (keys[i] - least) >> dropped << 32 | i;
    if (is_sorted) return;
    if (size < kRadixFrom) {
        std::sort(packed_.begin(), packed_.end());
    } else if (size < kWideFrom) {
        sort_by_upper_half<8>(range - dropped, packed_, spare_);
    } else {
        sort_by_upper_half<11>(range - dropped, packed_, spare_);
    }
    if (!is_exact_) sort_within_equal_bits();
}

void KeyOrder::sort_within_equal_bits() {
    const auto goes_before = [this](std::uint64_t a, std::uint64_t b) {
        const std::uint64_t key_a = keys[static_cast<std::uint32_t>(a)];
        const std::uint64_t key_b = keys[static_cast<std::uint32_t>(b)];
        return key_a != key_b ? key_a < key_b : a < b;
    };
    for (std::size_t first = 0, end = 0; first < packed_.size(); first = end) {
        for (++end; end < packed_.size() && packed_[end] >> 32 == packed_[first] >> 32;) ++end;
        if (end - first == 1) continue;
        const auto begin = packed_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = packed_.begin() + static_cast<std::ptrdiff_t>(end);
        if (!std::is_sorted(begin, stop, goes_before)) std::sort(begin, stop, goes_before);
    }
}

}  // namespace paretopo::cpu
