// Transposes one vector per column to one vector per row, and back.
#pragma once

#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

#if defined(__AVX512F__)
// As many instructions as the general version, but faster ones: they move whole quarters of a
// register, or stay within them.
PARETOPO_INLINE void transpose(typename Lanes<double>::F* rows) {
    __m512d pairs[8];  // of rows: their even columns, their odd ones
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
        pairs[r] = _mm512_unpacklo_pd(rows[r], rows[r + 1]);
        pairs[r + 1] = _mm512_unpackhi_pd(rows[r], rows[r + 1]);
    }
#pragma GCC unroll 2
    for (int c = 0; c < 2; ++c) {
        const __m512d a = _mm512_shuffle_f64x2(pairs[c], pairs[c + 2], 0x88);
        const __m512d b = _mm512_shuffle_f64x2(pairs[c + 4], pairs[c + 6], 0x88);
        const __m512d d = _mm512_shuffle_f64x2(pairs[c], pairs[c + 2], 0xdd);
        const __m512d e = _mm512_shuffle_f64x2(pairs[c + 4], pairs[c + 6], 0xdd);
        rows[c] = _mm512_shuffle_f64x2(a, b, 0x88);
        rows[c + 2] = _mm512_shuffle_f64x2(d, e, 0x88);
        rows[c + 4] = _mm512_shuffle_f64x2(a, b, 0xdd);
        rows[c + 6] = _mm512_shuffle_f64x2(d, e, 0xdd);
    }
}
#elif defined(__AVX2__)
// Half the instructions of the general version, which crosses the middle of a register in each
// round.
PARETOPO_INLINE void transpose(typename Lanes<double>::F* rows) {
    const __m256d a = _mm256_permute2f128_pd(rows[0], rows[2], 0x20);
    const __m256d b = _mm256_permute2f128_pd(rows[1], rows[3], 0x20);
    const __m256d c = _mm256_permute2f128_pd(rows[0], rows[2], 0x31);
    const __m256d d = _mm256_permute2f128_pd(rows[1], rows[3], 0x31);
    rows[0] = _mm256_unpacklo_pd(a, b);
    rows[1] = _mm256_unpackhi_pd(a, b);
    rows[2] = _mm256_unpacklo_pd(c, d);
    rows[3] = _mm256_unpackhi_pd(c, d);
}

PARETOPO_INLINE void transpose(typename Lanes<float>::F* rows) {
    __m256d pairs[8];  // of floats
#pragma GCC unroll 4
    for (int r = 0; r < 8; r += 2) {
        pairs[r] = (__m256d)_mm256_unpacklo_ps(rows[r], rows[r + 1]);
        pairs[r + 1] = (__m256d)_mm256_unpackhi_ps(rows[r], rows[r + 1]);
    }
    __m256 quads[8];
#pragma GCC unroll 2
    for (int half = 0; half < 8; half += 4) {
        quads[half] = (__m256)_mm256_unpacklo_pd(pairs[half], pairs[half + 2]);
        quads[half + 1] = (__m256)_mm256_unpackhi_pd(pairs[half], pairs[half + 2]);
        quads[half + 2] = (__m256)_mm256_unpacklo_pd(pairs[half + 1], pairs[half + 3]);
        quads[half + 3] = (__m256)_mm256_unpackhi_pd(pairs[half + 1], pairs[half + 3]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
        rows[r] = _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x20);
        rows[r + 4] = _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x31);
    }
}
#endif

// Makes columns of groups group-major: lane g of column c becomes element g * kColumns + c of the
// concatenated rows. kColumns is a power of two; with as many columns as lanes this transposes.
template <typename Scalar, int kColumns>
PARETOPO_INLINE void rotate_addresses(typename Lanes<Scalar>::F* columns) {
    using V = Lanes<Scalar>;
#if defined(__AVX512F__)
    if constexpr (kColumns == 8 && sizeof(Scalar) == 8) return transpose(columns);
#elif defined(__AVX2__)
    if constexpr (kColumns == V::kLanes) return transpose(columns);
#endif
    constexpr int kHalf = kColumns / 2;
#pragma GCC unroll 4
    for (int round = 1; round < kColumns; round *= 2) {  // one bit of the address at a time
        typename V::F turned[kColumns];
#pragma GCC unroll 8
        for (int c = 0; c < kHalf; ++c) {
            turned[2 * c] = V::zip_first(columns[c], columns[c + kHalf]);
            turned[2 * c + 1] = V::zip_second(columns[c], columns[c + kHalf]);
        }
#pragma GCC unroll 16
        for (int c = 0; c < kColumns; ++c) columns[c] = turned[c];
    }
}

}  // namespace paretopo::cpu::PARETOPO_LANES
