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

using Mask = __mmask8;
PARETOPO_LANE Doubles smaller(Doubles a, Doubles b) { return _mm512_min_pd(a, b); }
PARETOPO_LANE Doubles larger(Doubles a, Doubles b) { return _mm512_max_pd(a, b); }
PARETOPO_LANE Mask above(Doubles a, Doubles b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
PARETOPO_LANE Mask reaches(Doubles a, Doubles b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
PARETOPO_LANE Mask both(Mask a, Mask b) { return a & b; }
PARETOPO_LANE Mask either(Mask a, Mask b) { return a | b; }
PARETOPO_LANE Mask without(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
PARETOPO_LANE Mask none() { return 0; }
PARETOPO_LANE unsigned bits(Mask mask) { return mask; }
PARETOPO_LANE Doubles where(Mask mask, Doubles a) { return _mm512_maskz_mov_pd(mask, a); }
PARETOPO_LANE Doubles choose(Mask mask, Doubles a, Doubles b) {
    return _mm512_mask_blend_pd(mask, b, a);
}
// Writes the chosen lanes side by side; what follows them, up to kLanes, is arbitrary.
PARETOPO_LANE void squeeze(double* to, Mask mask, Doubles a) {
    store(to, _mm512_maskz_compress_pd(mask, a));
}

#else

using Mask = Words;
PARETOPO_LANE Mask above(Doubles a, Doubles b) { return a > b; }
PARETOPO_LANE Mask reaches(Doubles a, Doubles b) { return a >= b; }
PARETOPO_LANE Mask both(Mask a, Mask b) { return a & b; }
PARETOPO_LANE Mask either(Mask a, Mask b) { return a | b; }
PARETOPO_LANE Mask without(Mask a, Mask b) { return a & ~b; }
PARETOPO_LANE Mask none() { return Mask{}; }
PARETOPO_LANE Doubles where(Mask mask, Doubles a) { return (Doubles)((Words)a & mask); }
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
    double most = a[0];
    for (int lane = 1; lane < kLanes; ++lane) most = a[lane] > most ? a[lane] : most;
    return most;
}

}  // namespace paretopo::cpu::PARETOPO_LANES
