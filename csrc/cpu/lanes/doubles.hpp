// A few doubles at once, as many as the instruction set holds, with the operations that the
// volume algorithms need. Every operation acts on each lane alone or picks lanes in ascending
// order, so that results do not depend on how many lanes there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace paretopo::cpu::PARETOPO_LANES {

#define PARETOPO_LANE inline __attribute__((always_inline))

#if defined(__AVX512F__)
inline constexpr int kLanes = 8;
#elif defined(__AVX2__)
inline constexpr int kLanes = 4;
#else
inline constexpr int kLanes = 2;
#endif
inline constexpr std::size_t kRoom = 8;  // columns are followed by this many zeros, on every path

typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::int64_t Words __attribute__((vector_size(kLanes * sizeof(double))));

PARETOPO_LANE Doubles load(const double* from) {
    Doubles value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
PARETOPO_LANE void store(double* to, Doubles value) { std::memcpy(to, &value, sizeof value); }
PARETOPO_LANE Doubles all(double value) { return value - Doubles{}; }

#if defined(__AVX512F__)

PARETOPO_LANE __m256d upper_half(Doubles a) { return _mm512_maskz_extractf64x4_pd(0xf, a, 1); }

// With a mask of all lanes: GCC 12 warns of its own unmasked forms.
using Mask = __mmask8;
PARETOPO_LANE Doubles smaller(Doubles a, Doubles b) { return _mm512_maskz_min_pd(0xff, a, b); }
PARETOPO_LANE Doubles larger(Doubles a, Doubles b) { return _mm512_maskz_max_pd(0xff, a, b); }
PARETOPO_LANE Mask above(Doubles a, Doubles b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
PARETOPO_LANE Mask reaches(Doubles a, Doubles b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
PARETOPO_LANE Mask both(Mask a, Mask b) { return a & b; }
PARETOPO_LANE Mask either(Mask a, Mask b) { return a | b; }
PARETOPO_LANE Mask without(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
PARETOPO_LANE Mask none() { return 0; }
PARETOPO_LANE unsigned bits(Mask mask) { return mask; }
PARETOPO_LANE Mask lanes_before(int lane) {  // none if negative
    return static_cast<Mask>(lane < 0 ? 0 : lane > 7 ? 0xff : (1 << lane) - 1);
}
PARETOPO_LANE Doubles where(Mask mask, Doubles a) { return _mm512_maskz_mov_pd(mask, a); }
PARETOPO_LANE Doubles choose(Mask mask, Doubles a, Doubles b) {
    return _mm512_mask_blend_pd(mask, b, a);
}
PARETOPO_LANE Mask opposite(Mask mask) { return static_cast<Mask>(~mask); }
// The larger of a and b in the chosen lanes, a elsewhere.
PARETOPO_LANE Doubles raised(Doubles a, Mask mask, Doubles b) {
    return _mm512_mask_max_pd(a, mask, a, b);
}
// Writes the chosen lanes side by side; what follows them, up to kLanes, is arbitrary.
PARETOPO_LANE void squeeze(double* to, Mask mask, Doubles a) {
    store(to, _mm512_maskz_compress_pd(mask, a));
}

#else

using Mask = Words;
PARETOPO_LANE Mask above(Doubles a, Doubles b) { return a > b; }
PARETOPO_LANE Mask reaches(Doubles a, Doubles b) { return a >= b; }
PARETOPO_LANE Mask opposite(Mask mask) { return ~mask; }
PARETOPO_LANE Mask both(Mask a, Mask b) { return a & b; }
PARETOPO_LANE Mask either(Mask a, Mask b) { return a | b; }
PARETOPO_LANE Mask without(Mask a, Mask b) { return a & ~b; }
PARETOPO_LANE Mask none() { return Mask{}; }
PARETOPO_LANE Doubles where(Mask mask, Doubles a) { return (Doubles)((Words)a & mask); }
PARETOPO_LANE Mask lanes_before(int lane) {
#if defined(__AVX2__)
    const Words index = {0, 1, 2, 3};
#else
    const Words index = {0, 1};
#endif
    return index < lane;
}
PARETOPO_LANE Doubles choose(Mask mask, Doubles a, Doubles b) {
    return (Doubles)(((Words)a & mask) | ((Words)b & ~mask));
}
#if defined(__AVX2__)
PARETOPO_LANE Doubles smaller(Doubles a, Doubles b) { return _mm256_min_pd(a, b); }
PARETOPO_LANE Doubles larger(Doubles a, Doubles b) { return _mm256_max_pd(a, b); }
PARETOPO_LANE unsigned bits(Mask mask) {
    return static_cast<unsigned>(_mm256_movemask_pd((Doubles)mask));
}
#else
PARETOPO_LANE Doubles smaller(Doubles a, Doubles b) { return choose(a < b, a, b); }
PARETOPO_LANE Doubles larger(Doubles a, Doubles b) { return choose(a > b, a, b); }
PARETOPO_LANE unsigned bits(Mask mask) {
    return static_cast<unsigned>((mask[0] & 1) | (mask[1] & 2));
}
#endif
PARETOPO_LANE Doubles raised(Doubles a, Mask mask, Doubles b) {
    return choose(mask, larger(a, b), a);
}
PARETOPO_LANE void squeeze(double* to, Mask mask, Doubles a) {
    const unsigned chosen = bits(mask);
    std::size_t kept = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        to[kept] = a[lane];
        kept += chosen >> lane & 1;
    }
}

#endif

PARETOPO_LANE int count(Mask mask) { return __builtin_popcount(bits(mask)); }

PARETOPO_LANE double largest(Doubles a) {
#if defined(__AVX512F__)
    const __m256d half = _mm256_max_pd(_mm512_castpd512_pd256(a), upper_half(a));
    const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(half), _mm256_extractf128_pd(half, 1));
    return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
#elif defined(__AVX2__)
    const __m128d two = _mm_max_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_max_sd(two, _mm_unpackhi_pd(two, two)));
#else
    return a[0] > a[1] ? a[0] : a[1];
#endif
}

// Eight doubles on every path, so that their sum is taken in one order everywhere.
inline constexpr int kEight = 8;
inline constexpr int kParts = kEight / kLanes;

PARETOPO_LANE double sum_of_eight(const Doubles* parts) {
#if defined(__AVX512F__)
    const __m256d four =
        _mm256_add_pd(_mm512_castpd512_pd256(parts[0]), upper_half(parts[0]));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
#elif defined(__AVX2__)
    const __m256d four = _mm256_add_pd(parts[0], parts[1]);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
#else
    const Doubles two = (parts[0] + parts[2]) + (parts[1] + parts[3]);
    return two[0] + two[1];
#endif
}

}  // namespace paretopo::cpu::PARETOPO_LANES
