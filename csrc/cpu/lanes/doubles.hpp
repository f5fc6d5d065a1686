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
PARETOPO_LANE Mask negative(Words a) { return _mm512_movepi64_mask((__m512i)a); }
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
PARETOPO_LANE Mask negative(Words a) { return a < 0; }
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

#if defined(__AVX2__)
typedef double Pair __attribute__((vector_size(16)));

#if defined(__AVX512F__)
typedef double Four __attribute__((vector_size(32)));
PARETOPO_LANE Four lower(Doubles a) { return __builtin_shufflevector(a, a, 0, 1, 2, 3); }
PARETOPO_LANE Four upper(Doubles a) { return __builtin_shufflevector(a, a, 4, 5, 6, 7); }
#else
typedef Doubles Four;
#endif
PARETOPO_LANE Pair lower_pair(Four a) { return __builtin_shufflevector(a, a, 0, 1); }
PARETOPO_LANE Pair upper_pair(Four a) { return __builtin_shufflevector(a, a, 2, 3); }
#endif

PARETOPO_LANE double largest(Doubles a) {
#if defined(__AVX512F__)
    const Four four = _mm256_max_pd(lower(a), upper(a));
#elif defined(__AVX2__)
    const Four four = a;
#endif
#if defined(__AVX2__)
    const Pair two = _mm_max_pd(lower_pair(four), upper_pair(four));
#else
    const Doubles two = a;
#endif
    return two[0] > two[1] ? two[0] : two[1];
}

// Eight doubles on every path, so that their sum is taken in one order everywhere.
inline constexpr int kEight = 8;
inline constexpr int kParts = kEight / kLanes;

PARETOPO_LANE double sum_of_eight(const Doubles* parts) {
#if defined(__AVX512F__)
    const Four four = lower(parts[0]) + upper(parts[0]);
#elif defined(__AVX2__)
    const Four four = parts[0] + parts[1];
#endif
#if defined(__AVX2__)
    const Pair two = lower_pair(four) + upper_pair(four);
#else
    const Doubles two = (parts[0] + parts[2]) + (parts[1] + parts[3]);
#endif
    return two[0] + two[1];
}

}  // namespace paretopo::cpu::PARETOPO_LANES
