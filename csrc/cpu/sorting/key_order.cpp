#include "cpu/sorting/key_order.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/tuning/instruction_sets.hpp"

namespace paretopo::cpu {
namespace {

constexpr double kMoveCost = 2.0;  // ns to read, count or move an item

constexpr std::uint64_t mask_of(int bits) { return (std::uint64_t{1} << bits) - 1; }

constexpr int kMaxDigitBits = 12;

// Stable radix sort of packed keys by the `bits` above their indices, from the lowest of kDigits
// digits. Skips digits that all keys share. `read(i)` returns the i-th key in the order of the
// indices; it may read `sorted`, which receives the result.
template <int kDigits, typename Read>
void sort_by_digits(const Read& read, std::size_t size, int bits, bool is_in_sorted,
                    std::uint64_t* sorted, std::uint64_t* spare) {
    const int digit_bits = (bits + kDigits - 1) / kDigits;
    const std::uint64_t mask = mask_of(digit_bits);
    const auto digit = [=](std::uint64_t key, int d) {
        return key >> (32 + d * digit_bits) & mask;
    };
    std::uint32_t counts[kDigits][std::size_t{1} << kMaxDigitBits];
    for (auto& of_digit : counts) std::fill_n(of_digit, mask + 1, 0);
    for (std::size_t i = 0; i < size; ++i) {
        const std::uint64_t key = read(i);
        for (int d = 0; d < kDigits; ++d) ++counts[d][digit(key, d)];
    }
    std::array<int, kDigits> differing{};
    int passes = 0;
    for (int d = 0; d < kDigits; ++d) {
        if (counts[d][digit(read(0), d)] != size) differing[passes++] = d;
    }
    std::uint64_t* to = is_in_sorted || passes % 2 == 0 ? spare : sorted;
    const auto move_to = [&](const auto& from, int d) {
        std::uint32_t sum = 0;
        for (std::uint64_t v = 0; v <= mask; ++v) sum += std::exchange(counts[d][v], sum);
        std::uint64_t* const items = to;
        for (std::size_t i = 0; i < size; ++i) {
            const std::uint64_t key = from(i);
            items[counts[d][digit(key, d)]++] = key;
        }
        to = to == sorted ? spare : sorted;
        return items;
    };
    if (passes == 0 && is_in_sorted) return;
    if (passes == 0) {
        for (std::size_t i = 0; i < size; ++i) sorted[i] = read(i);
        return;
    }
    const std::uint64_t* items = move_to(read, differing[0]);
    for (int pass = 1; pass < passes; ++pass) {
        items = move_to([items](std::size_t i) { return items[i]; }, differing[pass]);
    }
    if (items != sorted) std::copy_n(items, size, sorted);
}

template <typename Read>
void sort_by_bits(const Read& read, std::size_t size, int bits, bool is_in_sorted,
                  std::uint64_t* sorted, std::uint64_t* spare) {
    if (bits <= kMaxDigitBits) {
        sort_by_digits<1>(read, size, bits, is_in_sorted, sorted, spare);
    } else if (bits <= 2 * kMaxDigitBits) {
        sort_by_digits<2>(read, size, bits, is_in_sorted, sorted, spare);
    } else {
        sort_by_digits<3>(read, size, bits, is_in_sorted, sorted, spare);
    }
}

// Enough bits that few random keys agree in all of them; those are sorted afterwards. A few more of
// these cost less than a third digit, above all if the keys differ in few bits: doubles between a
// few powers of two are spread more evenly over their keys than those of any size. If two digits
// are too few, a packed key has room for 32 bits.
int worthwhile_bits(std::size_t size, int differing) {
    constexpr int kInTwoDigits = 2 * kMaxDigitBits;
    constexpr int kEven = 55;
    const int enough = static_cast<int>(std::bit_width(size)) + 10;
    const int spared = differing <= kEven ? 3 : 2;
    return enough <= kInTwoDigits + spared ? std::min(kInTwoDigits, enough & ~1) : 32;
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
    const int alike = range.differing == 0 ? 0 : std::countr_zero(range.differing);
    const int differing = static_cast<int>(std::bit_width(range.most - range.least));
    const int worth = in_words ? 32 - bits_of_places(size) : worthwhile_bits(size, differing);
    const int dropped = std::max(alike, differing - worth);
    is_exact_ = dropped == alike;
    if (in_words) {
        kernel.sort(keys.data(), size, range.least, dropped, packed_.data());
        if (!is_exact_) kernel.sort_agreeing(keys.data(), packed_.data(), 0, size);
        return;
    }
    const auto pack = [of = keys.data(), least = range.least, dropped](std::size_t i) {
        return (of[i] - least) >> dropped << 32 | i;
    };
    constexpr std::size_t kMaxUndealt = std::size_t{1} << 17;
    const int bits = differing - dropped;
    if (range.is_sorted) {
        for_each_chunk(size, kMoveCost, [&](std::size_t, std::size_t first, std::size_t end) {
            for (std::size_t i = first; i < end; ++i) packed_[i] = pack(i);
        });
    } else if (size < kMaxUndealt) {
        spare_.resize(size);
        sort_by_bits(pack, size, bits, false, packed_.data(), spare_.data());
        if (!is_exact_) kernel.sort_agreeing(keys.data(), packed_.data(), 0, size);
    } else {
        deal(pack, bits);
    }
}

// Distributes many keys by their highest bits into parts, and sorts them one by one, in the cache.
// Most values can be in a few of the parts, as doubles are between two powers of two. So there are
// many parts, and small ones are sorted together.
template <typename Pack>
void KeyOrder::deal(const Pack& pack, int bits) {
    constexpr int kMaxDealt = 12;
    constexpr int kPartBits = 9;             // expected bits per part of equal size
    constexpr std::size_t kFewItems = 4096;  // are in the cache together
    constexpr double kSortCost = 10.0;       // ns an item
    const std::size_t size = keys.size();
    const int dealt =
        std::min({static_cast<int>(std::bit_width(size)) - kPartBits, kMaxDealt, bits});
    const int shift = 32 + bits - dealt;
    const auto parts = std::size_t{1} << dealt;
    // The destination of a chunk's items in each part: after those of the previous chunks.
    using PerPart = std::array<std::uint32_t, std::size_t{1} << kMaxDealt>;
    std::vector<PerPart> next(chunks_of(size));
    for_each_chunk(size, kMoveCost, [&](std::size_t c, std::size_t first, std::size_t end) {
        PerPart counts{};
        for (std::size_t i = first; i < end; ++i) ++counts[pack(i) >> shift];
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
        std::uint64_t* dealt_to = packed_.data();
        for (std::size_t i = first; i < end; ++i) {
            const std::uint64_t key = pack(i);
            dealt_to[to[key >> shift]++] = key;
        }
    });
    // One part, or neighbours whose numbers share all but the lowest bits.
    struct Run {
        std::size_t first, end;
        int bits;  // in which its items differ
    };
    std::vector<Run> runs;
    std::size_t longest = 0;
    for (std::size_t part = 0; part < parts;) {
        int merged = 0;
        for (std::size_t width = 2; part % width == 0 && part + width <= parts; width *= 2) {
            if (starts[part + width] - starts[part] > kFewItems) break;
            ++merged;
        }
        const std::size_t next_part = part + (std::size_t{1} << merged);
        const Run run{starts[part], starts[next_part], bits - dealt + merged};
        if (run.end - run.first > 1) runs.push_back(run);
        longest = std::max(longest, run.end - run.first);
        part = next_part;
    }
    const auto sort_run = [&, spare = ScratchArray<std::uint64_t>()](std::int64_t at) mutable {
        const Run run = runs[static_cast<std::size_t>(at)];
        spare.resize(longest);
        std::uint64_t* items = packed_.data() + run.first;
        sort_by_bits([items](std::size_t i) { return items[i]; }, run.end - run.first, run.bits,
                     true, items, spare.data());
        if (is_exact_) return;
        kernels().keys.sort_agreeing(keys.data(), packed_.data(), run.first, run.end);
    };
    const auto count = static_cast<std::int64_t>(runs.size());
    for_each_group(count, kSortCost * static_cast<double>(size) / static_cast<double>(count),
                   sort_run);
}

}  // namespace paretopo::cpu
