// Rows of eight bytes, several in one vector.
#pragma once

#include <cstdint>

#include "cpu/lanes/simd/simd.hpp"

#if defined(__SSSE3__) && !defined(__AVX2__)
#include <tmmintrin.h>
#endif

namespace paretopo::cpu::PARETOPO_LANES {

struct ByteRows {
    typedef std::uint8_t B __attribute__((vector_size(kVectorBytes)));
    typedef std::uint64_t Row __attribute__((vector_size(kVectorBytes)));

#if defined(__AVX512F__)
    using Mask = __mmask64;
    static PARETOPO_INLINE Mask test_bits(B a, B b) {
        return _mm512_test_epi8_mask((__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE bool any(Mask mask) { return mask != 0; }
    static PARETOPO_INLINE B count_where(Mask mask, B counts) {  // plus one
        return (B)_mm512_mask_sub_epi8((__m512i)counts, mask, (__m512i)counts,
                                       _mm512_set1_epi8(-1));
    }
    // Bit i of byte i of a row, if the mask is set.
    static PARETOPO_INLINE B diagonal_where(Mask mask) {
        return (B)_mm512_maskz_mov_epi8(mask, (__m512i)diagonal());
    }
#else
    using Mask = B;
    static PARETOPO_INLINE Mask test_bits(B a, B b) { return (B)((a & b) != 0); }
    static PARETOPO_INLINE bool any(Mask mask) {
        return Lanes<double>::any((typename Lanes<double>::I)mask);
    }
    static PARETOPO_INLINE B count_where(Mask mask, B counts) { return counts - mask; }
    static PARETOPO_INLINE B diagonal_where(Mask mask) { return mask & diagonal(); }
#endif

    // Every byte becomes the sum of its row, which fits a byte.
    static PARETOPO_INLINE B spread(B rows) {
#if defined(__AVX512F__)
        const __m512i sums = _mm512_sad_epu8((__m512i)rows, _mm512_setzero_si512());
        return (B)_mm512_shuffle_epi8(sums, (__m512i)first_of_row());
#elif defined(__AVX2__)
        const __m256i sums = _mm256_sad_epu8((__m256i)rows, _mm256_setzero_si256());
        return (B)_mm256_shuffle_epi8(sums, (__m256i)first_of_row());
#elif defined(__SSSE3__)
        const __m128i sums = _mm_sad_epu8((__m128i)rows, _mm_setzero_si128());
        return (B)_mm_shuffle_epi8(sums, (__m128i)first_of_row());
#else
        const Row ones = 0x0101010101010101 - Row{};
        return (B)(((Row)rows * ones >> 56) * ones);
#endif
    }

  private:
    static PARETOPO_INLINE B diagonal() { return (B)(0x8040201008040201 - Row{}); }
    // Indices for a byte shuffle, which picks within 16 bytes.
    static PARETOPO_INLINE B first_of_row() {
        Row picks = Row{};
        for (int r = 1; r < kVectorBytes / 8; r += 2) picks[r] = 0x0808080808080808;
        return (B)picks;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
