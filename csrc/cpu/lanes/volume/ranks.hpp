// Vectors of ranks, two bytes each: four times the lanes of a vector of doubles. Sweeps only
// compare coordinates, and their ranks compare in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Slices are usually so small that 32 bytes hold most of their ranks, whatever the instruction set.
inline constexpr int kRankBytes = kVectorBytes < 32 ? kVectorBytes : 32;
using Rank = std::int16_t;  // 0: the largest coordinate
typedef Rank Ranks __attribute__((vector_size(kRankBytes)));

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
inline constexpr std::size_t kRankLanes = kRankBytes / sizeof(Rank);
inline constexpr Rank kNoRank = 0x7fff;  // below every coordinate

PARETOPO_INLINE Ranks load(const Rank* from) {
    Ranks vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
}
PARETOPO_INLINE void store(Rank* to, Ranks vector) { std::memcpy(to, &vector, sizeof vector); }

PARETOPO_INLINE Ranks numbers() {
    Ranks lane;
    for (std::size_t k = 0; k < kRankLanes; ++k) lane[k] = static_cast<Rank>(k);
    return lane;
}

// The ranks moved to the next lane, after the last of `before`.
PARETOPO_INLINE Ranks after_one(Ranks before, Ranks ranks) {
#if defined(__AVX2__)
    return __builtin_shufflevector(before, ranks, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                                   27, 28, 29, 30);
#else
    return __builtin_shufflevector(before, ranks, 7, 8, 9, 10, 11, 12, 13, 14);
#endif
}

struct RankBits {
    std::uint64_t a, b;
};

using RankMask = Ranks;
PARETOPO_INLINE Ranks all_ranks(Rank rank) { return rank - Ranks{}; }
PARETOPO_INLINE RankMask above(Ranks a, Ranks b) { return a > b; }
PARETOPO_INLINE RankMask no_ranks() { return Ranks{}; }
PARETOPO_INLINE std::uint64_t bits_of(RankMask mask) {
#if defined(__AVX2__)
    const __m256i lanes = (__m256i)mask;
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
#else
    std::uint64_t found = 0;
    for (std::size_t k = 0; k < kRankLanes; ++k) found |= std::uint64_t{mask[k] != 0} << k;
    return found;
#endif
}
PARETOPO_INLINE RankBits bits_of(RankMask a, RankMask b) {
#if defined(__AVX2__)
    const __m256i bytes = _mm256_packs_epi16((__m256i)a, (__m256i)b);
    const auto both =
        static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_permute4x64_epi64(bytes, 0xd8)));
    return {both & 0xffff, both >> 16};
#else
    return {bits_of(a), bits_of(b)};
#endif
}
PARETOPO_INLINE Ranks choose(RankMask mask, Ranks a, Ranks b) {
#if defined(__AVX2__)
    return (Ranks)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)mask);
#else
    return (a & mask) | (b & ~mask);
#endif
}
PARETOPO_INLINE Ranks lowered_without(Ranks a, RankMask mask, Ranks b) {
#if defined(__AVX2__)
    return (Ranks)_mm256_min_epu16((__m256i)a, (__m256i)(b | mask));
#else
    const Ranks other = b | (mask & kNoRank);
    return a < other ? a : other;
#endif
}
PARETOPO_INLINE Ranks kept(RankMask mask, Ranks a) { return a | (~mask & kNoRank); }

PARETOPO_INLINE bool every(RankMask mask) {
    return bits_of(mask) == (std::uint64_t{1} << kRankLanes) - 1;
}

PARETOPO_INLINE Rank smallest(Ranks ranks) {
#if defined(__AVX2__)
    const __m256i half = (__m256i)ranks;
    const __m128i eight =
        _mm_min_epi16(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    return static_cast<Rank>(_mm_cvtsi128_si32(_mm_minpos_epu16(eight)));
#else
    Rank least = ranks[0];
    for (std::size_t k = 1; k < kRankLanes; ++k) least = ranks[k] < least ? ranks[k] : least;
    return least;
#endif
}

// Rows that do not cover each other, in ascending order of the last of kRanks ranks. Columns: a
// number for each row, then its ranks. A row that was removed has kNoRank in all columns but the
// last. After the rows comes a vector of kNoRank.
template <int kRanks>
struct RankedRows {
    static constexpr int kColumns = kRanks + 1;
    Rank* column[kColumns];
    std::size_t count = 0;

    static constexpr std::size_t room(std::size_t rows) {
        return (rows / kRankLanes + 2) * kRankLanes;
    }
    RankedRows(Buffer<Rank>& buffer, std::size_t rows) {
        Rank* memory = buffer.of(kColumns * room(rows));
        for (int m = 0; m < kColumns; ++m)
            column[m] = memory + static_cast<std::size_t>(m) * room(rows);
        for (std::size_t i = 0; i < kColumns * room(rows); i += kRankLanes) {
            store(memory + i, all_ranks(kNoRank));
        }
    }

    // `own`: the number and the ranks of a row, in every lane. Removes the rows that it covers, and
    // inserts it before those of equal last rank.
    PARETOPO_INLINE void insert(const Ranks* own) {
        Ranks before[kColumns];
        for (int m = 0; m < kColumns; ++m) before[m] = all_ranks(Rank{-1});
        std::size_t i = 0;
        const Rank* last = column[kRanks] + kRankLanes - 1;
        const Rank own_last = own[kRanks][0];
        while (i + kRankLanes <= count && last[i] < own_last) i += kRankLanes;
        for (; i <= count; i += kRankLanes) {
            Ranks here[kColumns];
            for (int m = 0; m < kColumns; ++m) here[m] = load(column[m] + i);
            const RankMask stays = above(own[kRanks], here[kRanks]);
            RankMask lives = stays;
            for (int m = 1; m < kRanks; ++m) lives = lives | above(own[m], here[m]);
            for (int m = 1; m < kRanks; ++m) here[m] = kept(lives, here[m]);
            Ranks moved[kColumns];
            for (int m = 0; m < kColumns; ++m) moved[m] = after_one(before[m], here[m]);
            const RankMask is_first = above(own[kRanks], moved[kRanks]);
            for (int m = 0; m < kColumns; ++m) {
                store(column[m] + i, choose(stays, here[m], choose(is_first, own[m], moved[m])));
                before[m] = here[m];
            }
        }
        ++count;
    }

    PARETOPO_INLINE void append(const Rank* row) {
        for (int m = 0; m < kColumns; ++m) column[m][count] = row[m];
        ++count;
    }

    // Closes the gaps of removed rows.
    PARETOPO_INLINE void compact() {
        if (count <= kRankLanes) return;
        std::size_t left = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const bool lives = column[1][i] != kNoRank;
            for (int m = 0; m < kColumns; ++m) column[m][left] = column[m][i];
            left += lives ? 1 : 0;
        }
        for (std::size_t i = left; i < count; ++i) {
            for (int m = 0; m < kColumns; ++m) column[m][i] = kNoRank;
        }
        count = left;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
