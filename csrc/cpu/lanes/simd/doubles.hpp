// A few doubles at once, under short names, with the operations that the volume algorithms need
// beyond Lanes<double>. Every operation acts on each lane separately or picks lanes in ascending
// order, so that results do not depend on the number of lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

inline constexpr int kLanes = Lanes<double>::kLanes;
inline constexpr std::size_t kPadding = 8;  // zeros after each column, for every instruction set

using Doubles = Lanes<double>::F;
using Words = Lanes<double>::I;
using Mask = Lanes<double>::Mask;

PARETOPO_INLINE Doubles load(const double* from) { return Lanes<double>::load(from); }
PARETOPO_INLINE void store(double* to, Doubles value) { Lanes<double>::store(to, value); }
PARETOPO_INLINE Doubles all(double value) { return Lanes<double>::all(value); }
PARETOPO_INLINE Doubles smaller(Doubles a, Doubles b) { return Lanes<double>::smaller(a, b); }
PARETOPO_INLINE Doubles larger(Doubles a, Doubles b) { return Lanes<double>::larger(a, b); }

PARETOPO_INLINE Mask above(Doubles a, Doubles b) { return Lanes<double>::greater(a, b); }
PARETOPO_INLINE Mask reaches(Doubles a, Doubles b) { return Lanes<double>::at_least(a, b); }
PARETOPO_INLINE Mask negative(Words a) { return Lanes<double>::negative(a); }
PARETOPO_INLINE Mask both(Mask a, Mask b) { return Lanes<double>::both(a, b); }
PARETOPO_INLINE Mask either(Mask a, Mask b) { return Lanes<double>::either(a, b); }
PARETOPO_INLINE Mask without(Mask a, Mask b) { return Lanes<double>::without(a, b); }
PARETOPO_INLINE Mask opposite(Mask mask) { return static_cast<Mask>(~mask); }
PARETOPO_INLINE Mask none() { return Lanes<double>::none(); }
PARETOPO_INLINE unsigned bits(Mask mask) { return Lanes<double>::bits(mask); }
PARETOPO_INLINE Doubles choose(Mask mask, Doubles a, Doubles b) {
    return Lanes<double>::choose(mask, a, b);
}

// The values moved to the next lane; the first lane is arbitrary.
PARETOPO_INLINE Doubles after_one(Doubles a) {
#if defined(__AVX512F__)
    return __builtin_shufflevector(a, a, 0, 0, 1, 2, 3, 4, 5, 6);
#elif defined(__AVX2__)
    return __builtin_shufflevector(a, a, 0, 0, 1, 2);
#else
    return __builtin_shufflevector(a, a, 0, 0);
#endif
}

#if defined(__AVX512F__)

PARETOPO_INLINE Mask lanes_before(int lane) {  // none if negative
    return static_cast<Mask>(lane < 0 ? 0 : lane > 7 ? 0xff : (1 << lane) - 1);
}
PARETOPO_INLINE Doubles where(Mask mask, Doubles a) { return _mm512_maskz_mov_pd(mask, a); }
// The larger of a and b in the chosen lanes, a elsewhere; none is negative.
PARETOPO_INLINE Doubles raised(Doubles a, Mask mask, Doubles b) {
    return _mm512_mask_max_pd(a, mask, a, b);
}
// The smaller of a and b in the lanes that are not chosen, a elsewhere.
PARETOPO_INLINE Doubles lowered_without(Doubles a, Mask mask, Doubles b) {
    return _mm512_mask_min_pd(a, opposite(mask), a, b);
}
// a + b in the chosen lanes, a elsewhere.
PARETOPO_INLINE Doubles added(Doubles a, Mask mask, Doubles b) {
    return _mm512_mask_add_pd(a, mask, a, b);
}
// Writes the chosen lanes next to each other; the values after them, up to kLanes, are arbitrary.
PARETOPO_INLINE void squeeze(double* to, Mask mask, Doubles a) {
    store(to, _mm512_maskz_compress_pd(mask, a));
}

#else

PARETOPO_INLINE Mask lanes_before(int lane) {
#if defined(__AVX2__)
    const Words index = {0, 1, 2, 3};
#else
    const Words index = {0, 1};
#endif
    return index < lane;
}
PARETOPO_INLINE Doubles where(Mask mask, Doubles a) { return (Doubles)((Words)a & mask); }
PARETOPO_INLINE Doubles raised(Doubles a, Mask mask, Doubles b) {
    return larger(a, where(mask, b));
}
PARETOPO_INLINE Doubles lowered_without(Doubles a, Mask mask, Doubles b) {
    return smaller((Doubles)((Words)b | mask), a);  // NaN in the chosen lanes, which a survives
}
PARETOPO_INLINE Doubles added(Doubles a, Mask mask, Doubles b) { return a + where(mask, b); }
#if defined(__AVX2__)
// kChosen[bits]: the chosen lanes as pairs of 32-bit lanes, next to each other.
struct ChosenLanes {
    alignas(32) std::int32_t of[16][8];

    constexpr ChosenLanes() : of() {
        for (int chosen = 0; chosen < 16; ++chosen) {
            int kept = 0;
            for (int lane = 0; lane < 4; ++lane) {
                if ((chosen >> lane & 1) == 0) continue;
                of[chosen][2 * kept] = 2 * lane;
                of[chosen][2 * kept + 1] = 2 * lane + 1;
                ++kept;
            }
        }
    }
};
inline constexpr ChosenLanes kChosen;
PARETOPO_INLINE void squeeze(double* to, Mask mask, Doubles a) {
    const __m256i lanes = _mm256_load_si256((const __m256i*)kChosen.of[bits(mask)]);
    store(to, _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(a), lanes)));
}
#else
PARETOPO_INLINE void squeeze(double* to, Mask mask, Doubles a) {
    to[0] = bits(mask) & 1 ? a[0] : a[1];
    to[1] = a[1];
}
#endif

#endif

PARETOPO_INLINE int count(Mask mask) { return __builtin_popcount(bits(mask)); }

#if defined(__AVX2__)
typedef double Pair __attribute__((vector_size(16)));

#if defined(__AVX512F__)
typedef double Four __attribute__((vector_size(32)));
PARETOPO_INLINE Four lower(Doubles a) { return __builtin_shufflevector(a, a, 0, 1, 2, 3); }
PARETOPO_INLINE Four upper(Doubles a) { return __builtin_shufflevector(a, a, 4, 5, 6, 7); }
#else
typedef Doubles Four;
#endif
PARETOPO_INLINE Pair lower_pair(Four a) { return __builtin_shufflevector(a, a, 0, 1); }
PARETOPO_INLINE Pair upper_pair(Four a) { return __builtin_shufflevector(a, a, 2, 3); }
#endif

PARETOPO_INLINE double largest(Doubles a) {
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

// Eight doubles for every instruction set, so that their sum has the same order everywhere.
inline constexpr int kEight = 8;
inline constexpr int kParts = kEight / kLanes;

PARETOPO_INLINE double sum_of_eight(const Doubles* parts) {
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
