#include "cpu/sorting/key_order.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/runtime/for_each_group.hpp"

namespace paretopo::cpu {
namespace {

constexpr double kMoveCost = 2.0;  // ns to read, count or move an item

constexpr std::uint64_t mask_of(int bits) { return (std::uint64_t{1} << bits) - 1; }

// Stable least-significant-digit radix sort of the bits first_bit..first_bit + kDigits *
// kDigitBits; skips digits that all items share. Returns true if the result is in `spare`.
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
    // Usually three passes.
    if (bits <= 8) return sort_by_digits<8, 1>(items, spare, size, 32);
    if (bits <= 16) return sort_by_digits<8, 2>(items, spare, size, 32);
    if (bits <= 21) return sort_by_digits<7, 3>(items, spare, size, 32);
    if (bits <= 24) return sort_by_digits<8, 3>(items, spare, size, 32);
    return sort_by_digits<8, 4>(items, spare, size, 32);
}

}  // namespace

KeyRange KeyOrder::measure() const {
    const KeyKernels& kernel = kernels().keys;
    if (keys.size() <= kChunk) return kernel.measure(keys.data(), keys.size());
    std::vector<KeyRange> of_chunks(chunks_of(keys.size()));
    for_each_chunk(keys.size(), kMoveCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        of_chunks[c] = kernel.measure(keys.data() + first, end - first);
    });
    KeyRange all = of_chunks[0];
    for (std::size_t c = 1; c < of_chunks.size(); ++c) {
        const KeyRange& chunk = of_chunks[c];
        const std::size_t first = c * kChunk;
        all.least = std::min(all.least, chunk.least);
        all.most = std::max(all.most, chunk.most);
        all.differing |= chunk.differing | (keys[first] ^ keys[0]);
        all.is_sorted = all.is_sorted && chunk.is_sorted && keys[first - 1] <= keys[first];
    }
    return all;
}

void KeyOrder::sort() {
    const std::size_t size = keys.size();
    packed_.resize(size);
    is_exact_ = true;
    if (size == 0) return;
    const KeyKernels& kernel = kernels().keys;
    const KeyRange range = measure();
    const bool in_words = size <= kernels().tuning.most_keys_in_words && !range.is_sorted;
    // Enough bits that few random keys agree in all of them; those are sorted afterwards. Counting
    // sorts few keys in two passes of eight bits.
    constexpr std::size_t kMaxInTwoPasses = 1024;
    const int worth = in_words ? 32 - bits_of_places(size)
                      : size <= kMaxInTwoPasses
                          ? 16
                          : std::min(32, static_cast<int>(std::bit_width(size)) + 10);
    const int alike = range.differing == 0 ? 0 : std::countr_zero(range.differing);
    const int differing = static_cast<int>(std::bit_width(range.most - range.least));
    const int dropped = std::max(alike, differing - worth);
    is_exact_ = dropped == alike;
    if (in_words) {
        kernel.sort(keys.data(), size, range.least, dropped, packed_.data());
        if (!is_exact_) kernel.sort_agreeing(keys.data(), packed_.data(), 0, size);
        return;
    }
    for_each_chunk(size, kMoveCost, [&](std::size_t, std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) {
            packed_[i] = (keys[i] - range.least) >> dropped << 32 | i;
        }
    });
    if (!range.is_sorted) sort_by_bits(differing - dropped);
}

// Sorts by the `bits` above the indices. Many items are first distributed by their highest bits,
// into parts that fit the cache.
void KeyOrder::sort_by_bits(int bits) {
    constexpr int kMaxDealt = 10;
    constexpr double kSortCost = 10.0;  // ns an item
    const KeyKernels& kernel = kernels().keys;
    // Expected bits per part, if all parts have the same size: fewer if networks sort them.
    const int part_bits = kernels().tuning.most_keys_in_words >= 1024 ? 9 : 11;
    const std::size_t size = packed_.size();
    spare_.resize(size);
    const int dealt =
        std::min({static_cast<int>(std::bit_width(size)) - part_bits, kMaxDealt, bits});
    if (dealt < 4) {
        if (sort_few(packed_.data(), spare_.data(), size, bits)) packed_.swap(spare_);
        if (!is_exact_) kernel.sort_agreeing(keys.data(), packed_.data(), 0, size);
        return;
    }
    const int shift = 32 + bits - dealt;
    const auto parts = std::size_t{1} << dealt;
    // The destination of a chunk's items in each part: after those of the previous chunks.
    using PerPart = std::array<std::uint32_t, std::size_t{1} << kMaxDealt>;
    std::vector<PerPart> next(chunks_of(size));
    for_each_chunk(size, kMoveCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        PerPart counts{};
        for (std::size_t i = first; i < end; ++i) ++counts[packed_[i] >> shift];
        next[c] = counts;
    });
    std::vector<std::uint32_t> starts(parts + 1);
    std::uint32_t sum = 0;
    for (std::size_t p = 0; p < parts; ++p) {
        starts[p] = sum;
        for (PerPart& of_chunk : next) sum += std::exchange(of_chunk[p], sum);
    }
    starts[parts] = sum;
    for_each_chunk(size, kMoveCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        PerPart to = next[c];
        for (std::size_t i = first; i < end; ++i) spare_[to[packed_[i] >> shift]++] = packed_[i];
    });
    const double part_cost = kSortCost * static_cast<double>(size) / static_cast<double>(parts);
    for_each_group(static_cast<std::int64_t>(parts), part_cost, [&](std::int64_t at) {
        const auto p = static_cast<std::size_t>(at);
        std::uint64_t* part = spare_.data() + starts[p];
        std::uint64_t* room = packed_.data() + starts[p];
        const std::size_t count = starts[p + 1] - starts[p];
        if (count <= kernels().tuning.most_keys_in_words &&
            bits - dealt + bits_of_places(count) <= 32) {
            kernel.sort_packed(part, count, bits - dealt, room);
        } else if (!sort_few(part, room, count, bits - dealt)) {
            std::copy_n(part, count, room);
        }
        if (!is_exact_) {
            kernel.sort_agreeing(keys.data(), packed_.data(), starts[p], starts[p + 1]);
        }
    });
}

}  // namespace paretopo::cpu
