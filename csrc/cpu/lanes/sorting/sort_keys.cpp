// Sorts integer keys by networks: words of 32 bits, with the highest bits of a key above its
// position, so that all words differ and sorting moves nothing else. There are no branches on the
// data: every order of the keys takes the same time.
//
// Columns of kLanes words are sorted first and transposed into sorted runs of one vector each. Then
// runs are merged in pairs. Sources: Batcher, 1968, "Sorting networks and their applications"
// (bitonic merge); Inoue et al., 2007, "AA-Sort: a new parallel sorting algorithm for multi-core
// SIMD processors" (columns first); Bramas, 2017, "A novel hybrid quicksort algorithm vectorized
// using AVX-512 on Intel Skylake" (bitonic merges between registers).
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "cpu/lanes/simd/transpose.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/runtime/interrupt.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "formulas/sorting_networks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

using V = Lanes<float>;
using Words = V::U;

constexpr int kLanes = V::kLanes;
constexpr std::size_t kBlock = std::size_t{kLanes} * kLanes;  // words that are sorted as columns

constexpr std::uint64_t mask_of(int bits) { return (std::uint64_t{1} << bits) - 1; }

template <typename Vector, typename Item>
PARETOPO_INLINE Vector load(const Item* from) {
    Vector items;
    std::memcpy(&items, from, sizeof items);
    return items;
}

PARETOPO_INLINE void store(std::uint32_t* to, Words words) {
    std::memcpy(to, &words, sizeof words);
}

// ---- Networks ----

PARETOPO_INLINE void exchange(Words& low, Words& high) {
    const Words smaller = low < high ? low : high;
    high = low < high ? high : low;
    low = smaller;
}

template <int... k>
PARETOPO_INLINE Words reverse(Words words, std::integer_sequence<int, k...>) {
    return __builtin_shufflevector(words, words, (kLanes - 1 - k)...);
}

// Like `exchange`, for two vectors that both ascend: the words of `high`, afterwards reversed, are
// no longer ascending.
PARETOPO_INLINE void exchange_reversed(Words& low, Words& high) {
    high = reverse(high, std::make_integer_sequence<int, kLanes>());
    exchange(low, high);
}

PARETOPO_INLINE void zip(Words& a, Words& b) {
    const Words first = (Words)V::zip_first((V::F)a, (V::F)b);
    b = (Words)V::zip_second((V::F)a, (V::F)b);
    a = first;
}

// Sorts each of two vectors whose words ascend and then descend, or the reverse. Each zip rotates
// the address of a word, its vector and lane, by one bit. Words at a distance of half a vector meet
// in the same lane, then those at a quarter, until all are back.
PARETOPO_INLINE void merge_within(Words& a, Words& b) {
#pragma GCC unroll 4
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        zip(a, b);
        exchange(a, b);
    }
    zip(a, b);
}

// Sorts kLanes columns, then transposes them to rows.
PARETOPO_INLINE void sort_columns(Words* rows) {
    static constexpr SortingNetwork<kLanes> kNetwork{};
    [=]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
        (exchange(rows[kNetwork.pairs[kAt].first], rows[kNetwork.pairs[kAt].second]), ...);
    }
    (std::make_index_sequence<kNetwork.size>{});
    V::F columns[kLanes];
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) columns[k] = (V::F)rows[k];
    rotate_addresses<float, kLanes>(columns);
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) rows[k] = (Words)columns[k];
}

// Sorts each vector of a block; the first `width` words of each row are kept, the others dropped.
PARETOPO_INLINE void sort_block(std::uint32_t* words, std::size_t width) {
    Words lane;
    for (int k = 0; k < kLanes; ++k) lane[k] = static_cast<std::uint32_t>(k);
    const Words dropped = (Words)(lane >= static_cast<std::uint32_t>(width) - Words{});
    Words rows[kLanes];
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) {
        rows[k] = load<Words>(words + static_cast<std::size_t>(k) * width) | dropped;
    }
    sort_columns(rows);
#pragma GCC unroll 16
    for (int k = 0; k < kLanes; ++k) store(words + k * kLanes, rows[k]);
}

struct FourVectors {
    Words at[4];

    explicit PARETOPO_INLINE FourVectors(const std::uint32_t* words) {
        for (int k = 0; k < 4; ++k) at[k] = load<Words>(words + k * kLanes);
    }
    PARETOPO_INLINE void store_to(std::uint32_t* words) const {
        for (int k = 0; k < 4; ++k) store(words + k * kLanes, at[k]);
    }
    PARETOPO_INLINE void exchange_neighbours() {
        exchange(at[0], at[1]);
        exchange(at[2], at[3]);
    }
    PARETOPO_INLINE void merge_each() {
        merge_within(at[0], at[1]);
        merge_within(at[2], at[3]);
    }
};

// Merges four vectors into one run.
PARETOPO_INLINE void merge_four(std::uint32_t* words) {
    FourVectors four(words);
    exchange_reversed(four.at[0], four.at[1]);
    exchange_reversed(four.at[2], four.at[3]);
    four.merge_each();
    exchange_reversed(four.at[0], four.at[3]);
    exchange_reversed(four.at[1], four.at[2]);
    four.exchange_neighbours();
    four.merge_each();
    four.store_to(words);
}

// Merges the run of `run` vectors from `first` and the one after it, which ends at `end`. The
// length of a run is a power of two, from four on. The second run may be shorter by a multiple of
// four: the merge treats missing vectors as larger words.
PARETOPO_INLINE void merge(std::uint32_t* words, std::size_t first, std::size_t run,
                           std::size_t end) {
    const auto at = [words](std::size_t vector) { return words + vector * kLanes; };
    for (std::size_t high = first + run; high < end; ++high) {
        const std::size_t low = 2 * (first + run) - 1 - high;
        Words a = load<Words>(at(low));
        Words b = load<Words>(at(high));
        exchange_reversed(a, b);
        store(at(low), a);
        store(at(high), b);
    }
    for (std::size_t apart = run / 2; apart >= 4; apart /= 2) {
        for (std::size_t base = first; base + apart < end; base += 2 * apart) {
            const std::size_t stop = base + 2 * apart < end ? base + 2 * apart : end;
            for (std::size_t high = base + apart; high < stop; ++high) {
                Words a = load<Words>(at(high - apart));
                Words b = load<Words>(at(high));
                exchange(a, b);
                store(at(high - apart), a);
                store(at(high), b);
            }
        }
    }
    for (std::size_t v = first; v < end; v += 4) {
        FourVectors four(at(v));
        exchange(four.at[0], four.at[2]);
        exchange(four.at[1], four.at[3]);
        four.exchange_neighbours();
        four.merge_each();
        four.store_to(at(v));
    }
}

// `words` has room for kBlock more.
void sort_words(std::uint32_t* words, std::size_t size) {
    std::size_t first = 0;
    for (; first + kBlock <= size; first += kBlock) sort_block(words + first, kLanes);
    std::size_t vectors = first / kLanes;
    if (first < size) {
        for (std::size_t i = size; i < first + kBlock; ++i) words[i] = ~std::uint32_t{0};
        const std::size_t width = (size - first + kLanes - 1) / kLanes;
        sort_block(words + first, width);
        vectors += (width + 3) / 4 * 4;
    }
    for (std::size_t at = 0; at < vectors; at += 4) merge_four(words + at * kLanes);
    for (std::size_t run = 4; run < vectors; run *= 2) {
        for (std::size_t at = 0; at + run < vectors; at += 2 * run) {
            merge(words, at, run, at + 2 * run < vectors ? at + 2 * run : vectors);
        }
    }
}

// ---- Kernels ----

static_assert(kTuning.most_keys_in_words <= kMaxInWords);

KeyRange measure_keys(const std::uint64_t* keys, std::size_t size) {
    using U = Lanes<double>::U;
    constexpr std::size_t kWide = Lanes<double>::kLanes;
    constexpr std::size_t kPollInterval = std::size_t{1} << 18;
    const U first = keys[0] - U{};
    U least = first;
    U most = first;
    U differing{};
    U descending{};
    std::size_t i = 0;
    for (std::size_t stop = 0; i + kWide < size;) {
        if (i > 0) check_interrupt();
        stop = size - i > kPollInterval ? i + kPollInterval : size;
        for (; i + kWide < stop; i += kWide) {
            const U own = load<U>(keys + i);
            least = own < least ? own : least;
            most = own > most ? own : most;
            differing |= own ^ first;
            descending |= (U)(own > load<U>(keys + i + 1));
        }
    }
    KeyRange range{keys[0], keys[0], 0, true};
    for (std::size_t k = 0; k < kWide; ++k) {
        range.least = least[k] < range.least ? least[k] : range.least;
        range.most = most[k] > range.most ? most[k] : range.most;
        range.differing |= differing[k];
        range.is_sorted &= descending[k] == 0;
    }
    for (; i < size; ++i) {
        range.least = keys[i] < range.least ? keys[i] : range.least;
        range.most = keys[i] > range.most ? keys[i] : range.most;
        range.differing |= keys[i] ^ keys[0];
        range.is_sorted &= i + 1 == size || keys[i] <= keys[i + 1];
    }
    return range;
}

void sort_keys(const std::uint64_t* keys, std::size_t size, std::uint64_t least, int dropped,
               std::uint64_t* packed) {
    alignas(kVectorBytes) std::uint32_t words[kMaxInWords + kBlock];
    const int place_bits = bits_of_places(size);
    for (std::size_t i = 0; i < size; ++i) {
        words[i] = static_cast<std::uint32_t>((keys[i] - least) >> dropped << place_bits | i);
    }
    sort_words(words, size);
    const std::uint64_t places = mask_of(place_bits);
    for (std::size_t k = 0; k < size; ++k) {
        const std::uint64_t word = words[k];
        packed[k] = word >> place_bits << 32 | (word & places);
    }
}

// The first k >= from such that packed keys k and k + 1 differ only in their indices, or size.
std::size_t find_agreeing(const std::uint64_t* packed, std::size_t size, std::size_t from) {
    using Pairs = Lanes<double>;
    constexpr std::size_t kWide = Pairs::kLanes;
    constexpr std::size_t kStep = 4 * kWide;
    Poller poller;
    std::size_t k = from;
    for (; k + kStep < size; k += kStep) {
        poller.step();
        Pairs::Mask agree[4];
#pragma GCC unroll 4
        for (std::size_t v = 0; v < 4; ++v) {
            const std::uint64_t* own = packed + k + v * kWide;
            const auto differing = load<Pairs::U>(own) ^ load<Pairs::U>(own + 1);
            agree[v] = Pairs::equal((Pairs::I)(differing >> 32), Pairs::I{});
        }
        const auto either = [](Pairs::Mask a, Pairs::Mask b) { return Pairs::either(a, b); };
        if (!Pairs::any(either(either(agree[0], agree[1]), either(agree[2], agree[3])))) continue;
        std::uint64_t found = 0;
#pragma GCC unroll 4
        for (std::size_t v = 0; v < 4; ++v) {
            found |= std::uint64_t{Pairs::bits(agree[v])} << (v * kWide);
        }
        return k + static_cast<std::size_t>(std::countr_zero(found));
    }
    while (k + 1 < size && (packed[k] ^ packed[k + 1]) >> 32 != 0) ++k;
    return k + 1 < size ? k : size;
}

void sort_agreeing_keys(const std::uint64_t* keys, std::uint64_t* packed, std::size_t from,
                        std::size_t to) {
    const auto goes_before = [keys](std::uint64_t a, std::uint64_t b) {
        const std::uint64_t key_a = keys[static_cast<std::uint32_t>(a)];
        const std::uint64_t key_b = keys[static_cast<std::uint32_t>(b)];
        return key_a != key_b ? key_a < key_b : a < b;
    };
    Poller poller;
    for (std::size_t first = from; (first = find_agreeing(packed, to, first)) < to;) {
        poller.step();
        std::uint64_t* run = packed + first;
        std::size_t end = first + 2;
        while (end < to && (packed[first] ^ packed[end]) >> 32 == 0) ++end;
        if (end - first == 2) {
            const bool is_falling = goes_before(run[1], run[0]);
            const std::uint64_t low = is_falling ? run[1] : run[0];
            run[1] = is_falling ? run[0] : run[1];
            run[0] = low;
        } else if (!std::is_sorted(run, packed + end, goes_before)) {
            std::sort(run, packed + end, goes_before);
        }
        first = end;
    }
}

}  // namespace

const KeyKernels kKeyKernels{
    .measure = measure_keys, .sort = sort_keys, .sort_agreeing = sort_agreeing_keys};

}  // namespace paretopo::cpu::PARETOPO_LANES
