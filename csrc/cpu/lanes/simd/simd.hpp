// Vectors of the native width, and masks of their lanes. Algorithms are written once against
// Lanes<float> and Lanes<double>; a file that includes this is compiled once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "portability.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace paretopo::cpu::PARETOPO_LANES {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// ---- Vectors: arithmetic and comparisons come from the compiler's vector extension ----

template <typename Scalar>
struct Lanes {
    static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Scalar));
    using Int = std::conditional_t<sizeof(Scalar) == 4, std::int32_t, std::int64_t>;
    typedef Scalar F __attribute__((vector_size(kVectorBytes)));
    typedef Int I __attribute__((vector_size(kVectorBytes)));
    typedef std::make_unsigned_t<Int> U __attribute__((vector_size(kVectorBytes)));

    static PARETOPO_INLINE F load(const Scalar* from) {
        F vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }
    static PARETOPO_INLINE void store(Scalar* to, F vector) {
        std::memcpy(to, &vector, sizeof vector);
    }
    static PARETOPO_INLINE F all(Scalar value) { return value - F{}; }
    static PARETOPO_INLINE I all_int(Int value) { return value - I{}; }
    static PARETOPO_INLINE F to_floats(I numbers) { return __builtin_convertvector(numbers, F); }

    // ---- Masks: one bit per lane with AVX-512, otherwise all bits of a lane ----
#if defined(__AVX512F__)
    using Mask = std::conditional_t<sizeof(Scalar) == 4, __mmask16, __mmask8>;

    static PARETOPO_INLINE Mask none() { return 0; }
    static PARETOPO_INLINE Mask all_lanes() { return static_cast<Mask>(~Mask{0}); }
    static PARETOPO_INLINE Mask greater(I a, I b) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b);
        else
            return _mm512_cmpgt_epi64_mask((__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE Mask greater(F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ);
        else
            return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ);
    }
    static PARETOPO_INLINE Mask equal(I a, I b) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b);
        else
            return _mm512_cmpeq_epi64_mask((__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE Mask test_bits(I a, I b) {  // lanes where (a & b) != 0
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_test_epi32_mask((__m512i)a, (__m512i)b);
        else
            return _mm512_test_epi64_mask((__m512i)a, (__m512i)b);
    }
    // `mask`, and a >= b.
    static PARETOPO_INLINE Mask and_at_least(Mask mask, I a, I b) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_mask_cmpge_epi32_mask(mask, (__m512i)a, (__m512i)b);
        else
            return _mm512_mask_cmpge_epi64_mask(mask, (__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE Mask and_at_least(Mask mask, F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_mask_cmp_ps_mask(mask, (__m512)a, (__m512)b, _CMP_GE_OQ);
        else
            return _mm512_mask_cmp_pd_mask(mask, (__m512d)a, (__m512d)b, _CMP_GE_OQ);
    }
    static PARETOPO_INLINE Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
    static PARETOPO_INLINE Mask either(Mask a, Mask b) { return static_cast<Mask>(a | b); }
    static PARETOPO_INLINE Mask without(Mask a, Mask b) { return static_cast<Mask>(a & ~b); }
    static PARETOPO_INLINE Mask negative(I a) {
        if constexpr (sizeof(Scalar) == 4)
            return _mm512_movepi32_mask((__m512i)a);
        else
            return _mm512_movepi64_mask((__m512i)a);
    }
    static PARETOPO_INLINE bool any(Mask a) { return a != 0; }
    static PARETOPO_INLINE bool every(Mask a) { return a == static_cast<Mask>(~Mask{0}); }
    static PARETOPO_INLINE unsigned bits(Mask a) { return a; }
    static PARETOPO_INLINE I choose(Mask mask, I yes, I no) {
        if constexpr (sizeof(Scalar) == 4)
            return (I)_mm512_mask_blend_epi32(mask, (__m512i)no, (__m512i)yes);
        else
            return (I)_mm512_mask_blend_epi64(mask, (__m512i)no, (__m512i)yes);
    }
    static PARETOPO_INLINE F choose(Mask mask, F yes, F no) {
        return (F)choose(mask, (I)yes, (I)no);
    }
    static PARETOPO_INLINE I add_where(Mask mask, I a, I b) {
        if constexpr (sizeof(Scalar) == 4)
            return (I)_mm512_mask_add_epi32((__m512i)a, mask, (__m512i)a, (__m512i)b);
        else
            return (I)_mm512_mask_add_epi64((__m512i)a, mask, (__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE void exchange_where(Mask mask, I& a, I& b) {
        const I one = a;
        a = choose(mask, b, a);
        b = choose(mask, one, b);
    }
    static PARETOPO_INLINE F smaller_where(Mask mask, F a, F b) {  // b in the other lanes
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm512_mask_min_ps((__m512)b, mask, (__m512)a, (__m512)b);
        else
            return (F)_mm512_mask_min_pd((__m512d)b, mask, (__m512d)a, (__m512d)b);
    }
    static PARETOPO_INLINE F larger_where(Mask mask, F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm512_mask_max_ps((__m512)b, mask, (__m512)a, (__m512)b);
        else
            return (F)_mm512_mask_max_pd((__m512d)b, mask, (__m512d)a, (__m512d)b);
    }
    static PARETOPO_INLINE I or_where(Mask mask, I a, I b) {
        if constexpr (sizeof(Scalar) == 4)
            return (I)_mm512_mask_or_epi32((__m512i)a, mask, (__m512i)a, (__m512i)b);
        else
            return (I)_mm512_mask_or_epi64((__m512i)a, mask, (__m512i)a, (__m512i)b);
    }
#else
    using Mask = I;

    static PARETOPO_INLINE Mask none() { return Mask{}; }
    static PARETOPO_INLINE Mask all_lanes() { return ~Mask{}; }
    static PARETOPO_INLINE Mask greater(I a, I b) { return a > b; }
    static PARETOPO_INLINE Mask greater(F a, F b) { return a > b; }
    static PARETOPO_INLINE Mask negative(I a) { return a < 0; }
    static PARETOPO_INLINE Mask equal(I a, I b) { return a == b; }
    static PARETOPO_INLINE Mask test_bits(I a, I b) { return (a & b) != 0; }
    static PARETOPO_INLINE Mask and_at_least(Mask mask, I a, I b) { return mask & ~greater(b, a); }
    static PARETOPO_INLINE Mask and_at_least(Mask mask, F a, F b) { return mask & (I)(a >= b); }
    static PARETOPO_INLINE Mask both(Mask a, Mask b) { return a & b; }
    static PARETOPO_INLINE Mask either(Mask a, Mask b) { return a | b; }
    static PARETOPO_INLINE Mask without(Mask a, Mask b) { return a & ~b; }
    static PARETOPO_INLINE bool any(Mask a) {
        std::uint64_t words[kVectorBytes / 8];
        std::memcpy(words, &a, sizeof words);
        std::uint64_t bits = 0;
        for (const std::uint64_t word : words) bits |= word;
        return bits != 0;
    }
    static PARETOPO_INLINE bool every(Mask a) { return !any(~a); }
    static PARETOPO_INLINE unsigned bits(Mask a) {
#if defined(__AVX2__)
        if constexpr (sizeof(Scalar) == 4)
            return static_cast<unsigned>(_mm256_movemask_ps((__m256)a));
        else
            return static_cast<unsigned>(_mm256_movemask_pd((__m256d)a));
#else
        unsigned found = 0;
        for (int k = 0; k < kLanes; ++k) found |= static_cast<unsigned>(a[k] != 0) << k;
        return found;
#endif
    }
    static PARETOPO_INLINE I choose(Mask mask, I yes, I no) { return (yes & mask) | (no & ~mask); }
    static PARETOPO_INLINE F choose(Mask mask, F yes, F no) {
        return (F)choose(mask, (I)yes, (I)no);
    }
    static PARETOPO_INLINE I add_where(Mask mask, I a, I b) { return a + (b & mask); }
    static PARETOPO_INLINE I or_where(Mask mask, I a, I b) { return a | (b & mask); }
    static PARETOPO_INLINE void exchange_where(Mask mask, I& a, I& b) {
        const I moved = (a ^ b) & mask;
        a ^= moved;
        b ^= moved;
    }
    // If the mask is off, a becomes NaN, and the result is b.
    static PARETOPO_INLINE F smaller_where(Mask mask, F a, F b) {
        return smaller((F)((I)a | ~mask), b);
    }
    static PARETOPO_INLINE F larger_where(Mask mask, F a, F b) {
        return larger((F)((I)a | ~mask), b);
    }
#endif

    static PARETOPO_INLINE void exchange_where(Mask mask, F& a, F& b) {
        I one = (I)a;
        I other = (I)b;
        exchange_where(mask, one, other);
        a = (F)one;
        b = (F)other;
    }
    static PARETOPO_INLINE Mask at_least(F a, F b) { return and_at_least(all_lanes(), a, b); }

    // Exactly `a < b ? a : b` and `a > b ? a : b`: one instruction each, as an intrinsic if there
    // is one. g++ re-analyses chains of conditions so often that they take half the time of a
    // build.
#if defined(__AVX512F__)
    static PARETOPO_INLINE F smaller(F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm512_min_ps((__m512)a, (__m512)b);
        else
            return (F)_mm512_min_pd((__m512d)a, (__m512d)b);
    }
    static PARETOPO_INLINE F larger(F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm512_max_ps((__m512)a, (__m512)b);
        else
            return (F)_mm512_max_pd((__m512d)a, (__m512d)b);
    }
#elif defined(__AVX2__)
    static PARETOPO_INLINE F smaller(F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm256_min_ps((__m256)a, (__m256)b);
        else
            return (F)_mm256_min_pd((__m256d)a, (__m256d)b);
    }
    static PARETOPO_INLINE F larger(F a, F b) {
        if constexpr (sizeof(Scalar) == 4)
            return (F)_mm256_max_ps((__m256)a, (__m256)b);
        else
            return (F)_mm256_max_pd((__m256d)a, (__m256d)b);
    }
#else
    static PARETOPO_INLINE F smaller(F a, F b) { return a < b ? a : b; }
    static PARETOPO_INLINE F larger(F a, F b) { return a > b ? a : b; }
#endif

    static PARETOPO_INLINE I larger(I a, I b) { return a > b ? a : b; }
    static PARETOPO_INLINE U smaller(U a, U b) { return a < b ? a : b; }

    // Interleaves the first halves: lane k of a is followed by lane k of b.
    static PARETOPO_INLINE F zip_first(F a, F b) {
        return zip_from(a, b, std::make_integer_sequence<int, kLanes>(),
                        std::integral_constant<int, 0>());
    }
    static PARETOPO_INLINE F zip_second(F a, F b) {
        return zip_from(a, b, std::make_integer_sequence<int, kLanes>(),
                        std::integral_constant<int, kLanes / 2>());
    }

    // The even lanes of a, then those of b; and the odd lanes: the inverse of a zip.
    static PARETOPO_INLINE F unzip_first(F a, F b) {
        return unzip_from(a, b, std::make_integer_sequence<int, kLanes>(),
                          std::integral_constant<int, 0>());
    }
    static PARETOPO_INLINE F unzip_second(F a, F b) {
        return unzip_from(a, b, std::make_integer_sequence<int, kLanes>(),
                          std::integral_constant<int, 1>());
    }

    // Converts to doubles, in one vector or two, and back.
    static constexpr int kDoubles = static_cast<int>(sizeof(double) / sizeof(Scalar));
    typedef double D __attribute__((vector_size(kVectorBytes)));
    static PARETOPO_INLINE void to_doubles(F a, D* doubles) {
        if constexpr (kDoubles == 1) {
            doubles[0] = a;
        } else {
            using Index = std::make_integer_sequence<int, kLanes / 2>;
            doubles[0] = __builtin_convertvector(half_from<0>(a, Index()), D);
            doubles[1] = __builtin_convertvector(half_from<kLanes / 2>(a, Index()), D);
        }
    }
    static PARETOPO_INLINE F from_doubles(const D* doubles) {
        if constexpr (kDoubles == 1) {
            return doubles[0];
        } else {
            return join(__builtin_convertvector(doubles[0], Half),
                        __builtin_convertvector(doubles[1], Half),
                        std::make_integer_sequence<int, kLanes>());
        }
    }

  private:
    typedef Scalar Half __attribute__((vector_size(kVectorBytes / 2)));
    template <int kFirst, int... k>
    static PARETOPO_INLINE Half half_from(F a, std::integer_sequence<int, k...>) {
        return __builtin_shufflevector(a, a, (kFirst + k)...);
    }
    template <int... k>
    static PARETOPO_INLINE F join(Half a, Half b, std::integer_sequence<int, k...>) {
        return __builtin_shufflevector(a, b, k...);
    }
    template <int... k, int kFirst>
    static PARETOPO_INLINE F unzip_from(F a, F b, std::integer_sequence<int, k...>,
                                        std::integral_constant<int, kFirst>) {
        return __builtin_shufflevector(a, b, (kFirst + 2 * k)...);
    }
    template <int... k, int kFirst>
    static PARETOPO_INLINE F zip_from(F a, F b, std::integer_sequence<int, k...>,
                                      std::integral_constant<int, kFirst>) {
        return __builtin_shufflevector(a, b, (kFirst + k / 2 + (k % 2) * kLanes)...);
    }
};

// Integers in the order of the floats: NaN lowest, both zeros equal.
template <typename Scalar>
PARETOPO_INLINE typename Lanes<Scalar>::I ordered(typename Lanes<Scalar>::F values,
                                                  bool minimised) {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    constexpr int kSignShift = 8 * static_cast<int>(sizeof(Scalar)) - 1;
    constexpr auto kLowest = std::numeric_limits<typename V::Int>::min();
    const I is_nan = (I)(values != values);
    const I bits = (I)(values + V::all(0));  // -0 becomes +0
    const I magnitude_flip = (I)(bits >> kSignShift) & V::all_int(~kLowest);
    I keys = bits ^ magnitude_flip;
    if (minimised) keys = ~keys;
    return (keys & ~is_nan) | (V::all_int(kLowest) & is_nan);
}

// Like Lanes<Scalar>, for finite numbers. Compares by the signs of differences, because with
// AVX-512 comparisons into mask registers cause stalls. Distinct numbers never have the difference
// zero.
template <typename Scalar>
struct LanesBySign {
    using V = Lanes<Scalar>;
    using Mask = typename V::I;  // negative in lanes that are false

    static PARETOPO_INLINE Mask all_lanes() { return Mask{}; }
    static PARETOPO_INLINE Mask and_at_least(Mask mask, typename V::F a, typename V::F b) {
        return mask | (Mask)(a - b);
    }
    static PARETOPO_INLINE typename V::Mask without(Mask a, Mask b) { return V::negative(b & ~a); }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
