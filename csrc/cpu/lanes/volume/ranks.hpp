// Vectors of ranks, one byte each in small sets and two in others: many more lanes than a vector of
// doubles. Sweeps only compare coordinates, and their ranks compare in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Slices are usually so small that 32 bytes hold most of their ranks, whatever the instruction set.
inline constexpr int kRankBytes = kVectorBytes < 32 ? kVectorBytes : 32;
using Rank = std::int16_t;                       // 0: the largest coordinate
using ByteRank = std::int8_t;                    // a rank less 127
inline constexpr std::size_t kMaxInBytes = 253;  // rows

// The sides of a row in 4 objectives, and their ranks.
typedef double FourSides __attribute__((vector_size(32)));
typedef Rank FourRanks __attribute__((vector_size(8)));
// References, because the ABI for passing wide vectors by value depends on the instruction set.
PARETOPO_INLINE void limit(FourSides& a, const FourSides& b) {
#if defined(__AVX2__)
    a = _mm256_min_pd(a, b);
#else
    a = a < b ? a : b;
#endif
}
PARETOPO_INLINE void raise(FourSides& a, const FourSides& b) {
#if defined(__AVX2__)
    a = _mm256_max_pd(a, b);
#else
    a = a > b ? a : b;
#endif
}

#if defined(__AVX2__)
// of[bits]: the chosen bytes of eight, next to each other.
struct ChosenBytes {
    std::uint64_t of[256];

    constexpr ChosenBytes() : of() {
        for (int chosen = 0; chosen < 256; ++chosen) {
            int kept = 0;
            for (std::uint64_t lane = 0; lane < 8; ++lane) {
                if ((chosen >> lane & 1) != 0) of[chosen] |= lane << (8 * kept++);
            }
        }
    }
};
inline constexpr ChosenBytes kChosenBytes;
#endif

// The operations on a vector of ranks.
template <typename Item>
struct RankVector {
    typedef Item Ranks __attribute__((vector_size(kRankBytes)));
    using Mask = Ranks;
    static constexpr std::size_t kLanes = kRankBytes / sizeof(Item);
    static constexpr bool kIsByte = sizeof(Item) == 1;
    static constexpr Item kNone = std::numeric_limits<Item>::max();  // below every coordinate
    static constexpr std::uint64_t kEvery = (std::uint64_t{1} << kLanes) - 1;

    static PARETOPO_INLINE Item code(Rank rank) {
        return static_cast<Item>(kIsByte ? rank - 127 : rank);
    }
    static PARETOPO_INLINE Rank rank(Item code) {
        return static_cast<Rank>(kIsByte ? code + 127 : code);
    }
    static PARETOPO_INLINE Ranks load(const Item* from) {
        Ranks vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }
    static PARETOPO_INLINE void store(Item* to, Ranks vector) {
        std::memcpy(to, &vector, sizeof vector);
    }
    static PARETOPO_INLINE Ranks all(Item code) { return code - Ranks{}; }
    static PARETOPO_INLINE Ranks numbers() {
        Ranks lane;
        for (std::size_t k = 0; k < kLanes; ++k) lane[k] = code(static_cast<Rank>(k));
        return lane;
    }
    static PARETOPO_INLINE Mask above(Ranks a, Ranks b) { return a > b; }

    // The ranks moved to the next lane, after the last of `before`.
    static PARETOPO_INLINE Ranks after_one(Ranks before, Ranks ranks) {
#if defined(__AVX2__)
        if constexpr (kIsByte) {
            const __m256i middle = _mm256_permute2x128_si256((__m256i)before, (__m256i)ranks, 0x21);
            return (Ranks)_mm256_alignr_epi8((__m256i)ranks, middle, 15);
        } else {
            return __builtin_shufflevector(before, ranks, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                                           25, 26, 27, 28, 29, 30);
        }
#else
        if constexpr (kIsByte) {
            return __builtin_shufflevector(before, ranks, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                                           25, 26, 27, 28, 29, 30);
        } else {
            return __builtin_shufflevector(before, ranks, 7, 8, 9, 10, 11, 12, 13, 14);
        }
#endif
    }
    static PARETOPO_INLINE std::uint64_t bits(Mask mask) {
#if defined(__AVX2__)
        const __m256i lanes = (__m256i)mask;
        if constexpr (kIsByte) return static_cast<std::uint32_t>(_mm256_movemask_epi8(lanes));
        const __m128i bytes =
            _mm_packs_epi16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
        return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
        std::uint64_t found = 0;
        for (std::size_t k = 0; k < kLanes; ++k) found |= std::uint64_t{mask[k] != 0} << k;
        return found;
#endif
    }
    struct Pair {
        std::uint64_t a, b;
    };
    static PARETOPO_INLINE Pair bits(Mask a, Mask b) {
#if defined(__AVX2__)
        if constexpr (!kIsByte) {
            const __m256i bytes = _mm256_packs_epi16((__m256i)a, (__m256i)b);
            const auto both = static_cast<std::uint32_t>(
                _mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
            return {both & 0xffff, both >> 16};
        }
#endif
        return {bits(a), bits(b)};
    }
    static PARETOPO_INLINE Ranks choose(Mask mask, Ranks a, Ranks b) {
#if defined(__AVX2__)
        return (Ranks)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)mask);
#else
        return (a & mask) | (b & ~mask);
#endif
    }
    // The smaller of a and b in the lanes that are not chosen, a elsewhere.
    static PARETOPO_INLINE Ranks lowered_without(Ranks a, Mask mask, Ranks b) {
#if defined(__AVX2__)
        if constexpr (kIsByte) {
            return (Ranks)_mm256_min_epi8((__m256i)a, (__m256i)choose(mask, all(kNone), b));
        }
        return (Ranks)_mm256_min_epu16((__m256i)a, (__m256i)(b | mask));
#else
        const Ranks other = choose(mask, all(kNone), b);
        return a < other ? a : other;
#endif
    }
    static PARETOPO_INLINE Rank smallest(Ranks ranks) {
#if defined(__AVX2__)
        const __m128i first = _mm256_castsi256_si128((__m256i)ranks);
        const __m128i second = _mm256_extracti128_si256((__m256i)ranks, 1);
        if constexpr (kIsByte) {
            const __m128i least = _mm_xor_si128(_mm_min_epi8(first, second), _mm_set1_epi8(-128));
            const __m128i pairs = _mm_min_epu8(least, _mm_srli_epi16(least, 8));
            return static_cast<Rank>(_mm_cvtsi128_si32(_mm_minpos_epu16(pairs)) - 1);
        }
        return static_cast<Rank>(_mm_cvtsi128_si32(_mm_minpos_epu16(_mm_min_epi16(first, second))));
#else
        Item least = ranks[0];
        for (std::size_t k = 1; k < kLanes; ++k) least = ranks[k] < least ? ranks[k] : least;
        return rank(least);
#endif
    }
    static PARETOPO_INLINE bool every(Mask mask) { return bits(mask) == kEvery; }
    static PARETOPO_INLINE Ranks kept(Mask mask, Ranks a) {
        return kIsByte ? choose(mask, a, all(kNone)) : a | (~mask & kNone);
    }
};

// Rows that do not cover each other, in ascending order of the last of kRanks ranks. Columns: a
// number for each row, then its ranks. A row that was removed has no rank in all columns but the
// last. After the rows comes a vector without ranks.
template <typename Item, int kRanks>
struct RankedRows {
    using V = RankVector<Item>;
    using Ranks = typename V::Ranks;
    static constexpr int kColumns = kRanks + 1;
    Item* column[kColumns];
    std::size_t count = 0;

    static constexpr std::size_t room(std::size_t rows) {
        return (rows / V::kLanes + 2) * V::kLanes;
    }
    RankedRows(Buffer<Rank>& buffer, std::size_t rows) {
        auto* memory = reinterpret_cast<Item*>(buffer.of(kColumns * room(rows)));
        for (int m = 0; m < kColumns; ++m) {
            column[m] = memory + static_cast<std::size_t>(m) * room(rows);
        }
        for (std::size_t i = 0; i < kColumns * room(rows); i += V::kLanes) {
            V::store(memory + i, V::all(V::kNone));
        }
    }

    // The number of the row at this place.
    PARETOPO_INLINE std::size_t number(std::size_t place) const {
        return V::kIsByte ? static_cast<std::uint8_t>(column[0][place])
                          : static_cast<std::size_t>(column[0][place]);
    }

    // `own`: the number and the ranks of a row, in every lane. Removes the rows that it covers, and
    // inserts it before those of equal last rank.
    PARETOPO_INLINE void insert(const Ranks* own) {
        Ranks before[kColumns];
        for (int m = 0; m < kColumns; ++m) before[m] = V::all(std::numeric_limits<Item>::min());
        std::size_t i = 0;
        const Item* last = column[kRanks] + V::kLanes - 1;
        const Item own_last = own[kRanks][0];
        while (i + V::kLanes <= count && last[i] < own_last) i += V::kLanes;
        for (; i <= count; i += V::kLanes) {
            Ranks here[kColumns];
            for (int m = 0; m < kColumns; ++m) here[m] = V::load(column[m] + i);
            const auto stays = V::above(own[kRanks], here[kRanks]);
            auto lives = stays;
            for (int m = 1; m < kRanks; ++m) lives = lives | V::above(own[m], here[m]);
            for (int m = 1; m < kRanks; ++m) here[m] = V::kept(lives, here[m]);
            Ranks moved[kColumns];
            for (int m = 0; m < kColumns; ++m) moved[m] = V::after_one(before[m], here[m]);
            const auto is_first = V::above(own[kRanks], moved[kRanks]);
            for (int m = 0; m < kColumns; ++m) {
                V::store(column[m] + i,
                         V::choose(stays, here[m], V::choose(is_first, own[m], moved[m])));
                before[m] = here[m];
            }
        }
        ++count;
    }

    // Appends a row with these ranks.
    PARETOPO_INLINE void append(std::size_t number, const Rank* ranks) {
        column[0][count] = static_cast<Item>(number);
        for (int m = 0; m < kRanks; ++m) column[m + 1][count] = V::code(ranks[m]);
        ++count;
    }

    // Closes the gaps of removed rows.
    PARETOPO_INLINE void compact() {
        if (count <= V::kLanes) return;
        std::size_t left = 0;
#if defined(__AVX2__)
        if constexpr (V::kIsByte) {
            for (std::size_t first = 0; first < count; first += V::kLanes) {
                std::uint64_t lives =
                    V::bits(V::above(V::all(V::kNone), V::load(column[1] + first)));
                for (std::size_t i = first; i < first + V::kLanes; i += 8, lives >>= 8) {
                    const __m128i chosen =
                        _mm_cvtsi64_si128(static_cast<long long>(kChosenBytes.of[lives & 0xff]));
                    for (int m = 0; m < kColumns; ++m) {
                        const __m128i here =
                            _mm_loadl_epi64(reinterpret_cast<const __m128i*>(column[m] + i));
                        _mm_storel_epi64(reinterpret_cast<__m128i*>(column[m] + left),
                                         _mm_shuffle_epi8(here, chosen));
                    }
                    left += static_cast<std::size_t>(__builtin_popcountll(lives & 0xff));
                }
            }
            close(left);
            return;
        }
#endif
        for (std::size_t i = 0; i < count; ++i) {
            const bool lives = column[1][i] != V::kNone;
            for (int m = 0; m < kColumns; ++m) column[m][left] = column[m][i];
            left += lives ? 1 : 0;
        }
        close(left);
    }

  private:
    // Shortens the columns to `left` rows.
    PARETOPO_INLINE void close(std::size_t left) {
        for (int m = 0; m < kColumns; ++m) {
            for (std::size_t i = left; i <= count; i += V::kLanes) {
                V::store(column[m] + i, V::all(V::kNone));
            }
        }
        count = left;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
