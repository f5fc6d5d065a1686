#include "cpu/key_order.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {
namespace {

constexpr std::uint64_t mask_of(int bits) { return (std::uint64_t{1} << bits) - 1; }

// Stable least-significant-digit radix sort of the bits first_bit..first_bit + kDigits *
// kDigitBits; digits that all share are skipped. Says whether the result is in `spare`.
template <int kDigitBits, int kDigits>
bool sort_by_digits(std::uint64_t* items, std::uint64_t* spare, std::size_t size, int first_bit) {
    constexpr std::size_t kValues = std::size_t{1} << kDigitBits;
    std::array<std::array<std::uint32_t, kValues>, kDigits> counts{};
    const auto digit = [first_bit](std::uint64_t item, int d) {
        return item >> (first_bit + d * kDigitBits) & mask_of(kDigitBits);
    };
    for (std::size_t i = 0; i < size; ++i) {
        for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][digit(items[i], d)];
    }
    bool is_in_spare = false;
    for (int d = 0; d < kDigits; ++d) {
        auto& start = counts[static_cast<std::size_t>(d)];
        if (start[digit(items[0], d)] == size) continue;
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) sum += std::exchange(count, sum);
        for (std::size_t i = 0; i < size; ++i) spare[start[digit(items[i], d)]++] = items[i];
        std::swap(items, spare);
        is_in_spare = !is_in_spare;
    }
    return is_in_spare;
}

bool sort_few(std::uint64_t* items, std::uint64_t* spare, std::size_t size, int bits) {
    // Three passes as a rule.
    if (bits <= 8) return sort_by_digits<8, 1>(items, spare, size, 32);
    if (bits <= 16) return sort_by_digits<8, 2>(items, spare, size, 32);
    if (bits <= 21) return sort_by_digits<7, 3>(items, spare, size, 32);
    if (bits <= 24) return sort_by_digits<8, 3>(items, spare, size, 32);
    return sort_by_digits<8, 4>(items, spare, size, 32);
}

}  // namespace

void KeyOrder::sort() {
    constexpr std::size_t kRadixFrom = 96;  // below it a comparison sort is faster
    const std::size_t size = keys.size();
    packed_.resize(size);
    is_exact_ = true;
    if (size == 0) return;
    std::uint64_t least = keys[0];
    std::uint64_t most = keys[0];
    std::uint64_t differing = 0;
    bool is_sorted = true;
    for_each_item(size - 1, [&](std::size_t i) {
        const std::uint64_t own = keys[i + 1];
        least = std::min(least, own);
        most = std::max(most, own);
        differing |= own ^ keys[0];
        is_sorted &= keys[i] <= own;
    });
    // Enough bits that among random keys hardly any agree in all of them. Few are sorted in two
    // passes of eight bits, and those that agree are put right afterwards.
    constexpr std::size_t kMostInTwoPasses = 1024;
    const int worth =
        size <= kMostInTwoPasses ? 16 : std::min(32, static_cast<int>(std::bit_width(size)) + 10);
    const int alike = differing == 0 ? 0 : std::countr_zero(differing);
    const int range = static_cast<int>(std::bit_width(most - least));
    const int dropped = std::max(alike, range - worth);
    is_exact_ = dropped == alike;
    for_each_item(size,
                  [&](std::size_t i) { packed_[i] = (keys[i] - least) >> dropped << 32 | i; });
    if (is_sorted) return;
    if (size < kRadixFrom) {
        std::sort(packed_.begin(), packed_.end());
    } else {
        sort_by_bits(range - dropped);
    }
    if (!is_exact_) sort_within_equal_bits();
}

// By the `bits` above the indices. Many items are first dealt out by their highest bits, so that
// the passes over the others stay in the cache.
void KeyOrder::sort_by_bits(int bits) {
    constexpr int kPartBits = 11;  // items that a part has if all have the same
    constexpr int kMostDealt = 10;
    const std::size_t size = packed_.size();
    spare_.resize(size);
    const int dealt =
        std::min({static_cast<int>(std::bit_width(size)) - kPartBits, kMostDealt, bits});
    if (dealt < 4) {
        if (sort_few(packed_.data(), spare_.data(), size, bits)) packed_.swap(spare_);
        return;
    }
    const int shift = 32 + bits - dealt;
    std::array<std::uint32_t, (std::size_t{1} << kMostDealt) + 1> starts{};
    for_each_item(size, [&](std::size_t i) { ++starts[(packed_[i] >> shift) + 1]; });
    for (std::size_t p = 1; p < starts.size(); ++p) starts[p] += starts[p - 1];
    auto next = starts;
    for_each_item(size, [&](std::size_t i) { spare_[next[packed_[i] >> shift]++] = packed_[i]; });
    const auto parts = std::size_t{1} << dealt;
    for (std::size_t p = 0; p < parts; ++p) {
        check_interrupt();
        std::uint64_t* part = spare_.data() + starts[p];
        std::uint64_t* room = packed_.data() + starts[p];
        const std::size_t count = starts[p + 1] - starts[p];
        if (count < 64) {
            std::sort(part, part + count);
        } else if (sort_few(part, room, count, bits - dealt)) {
            continue;
        }
        std::copy_n(part, count, room);
    }
}

void KeyOrder::sort_within_equal_bits() {
    const auto goes_before = [this](std::uint64_t a, std::uint64_t b) {
        const std::uint64_t key_a = keys[static_cast<std::uint32_t>(a)];
        const std::uint64_t key_b = keys[static_cast<std::uint32_t>(b)];
        return key_a != key_b ? key_a < key_b : a < b;
    };
    const auto agree = [this](std::size_t a, std::size_t b) {
        return (packed_[a] ^ packed_[b]) >> 32 == 0;
    };
    for_each_item(packed_.size() - 1, [&](std::size_t first) {
        if (!agree(first, first + 1) || (first > 0 && agree(first - 1, first))) return;
        std::size_t end = first + 2;
        while (end < packed_.size() && agree(first, end)) ++end;
        const auto begin = packed_.begin() + static_cast<std::ptrdiff_t>(first);
        const auto stop = packed_.begin() + static_cast<std::ptrdiff_t>(end);
        if (!std::is_sorted(begin, stop, goes_before)) std::sort(begin, stop, goes_before);
    });
}

}  // namespace paretopo::cpu
