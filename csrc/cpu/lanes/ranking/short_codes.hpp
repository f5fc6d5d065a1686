// Vectors of codes below 2^15, two bytes each: twice the lanes of a vector of floats.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

struct ShortCodes {
    static constexpr int kLanes = kVectorBytes / 2;
    typedef std::int16_t I __attribute__((vector_size(kVectorBytes)));

    static PARETOPO_INLINE I load(const std::int16_t* from) {
        I vector;
        std::memcpy(&vector, from, sizeof vector);
        return vector;
    }
    static PARETOPO_INLINE void store(std::int16_t* to, I vector) {
        std::memcpy(to, &vector, sizeof vector);
    }

    // A code in both halves of a word, because words are broadcast from memory in one instruction
    // and two-byte codes in two.
    static PARETOPO_INLINE std::int32_t twice(std::int32_t code) { return code << 16 | code; }
    static PARETOPO_INLINE I all(std::int32_t twice) { return (I)Lanes<float>::all_int(twice); }

    // excess(a, b) is 0 in the lanes where a is at most b; `without` drops the other lanes.
#if defined(__AVX512BW__)
    using Mask = __mmask32;
    static PARETOPO_INLINE Mask none() { return 0; }
    static PARETOPO_INLINE Mask all_lanes() { return ~Mask{0}; }
    // Subtracts, because each comparison of a masked chain waits for the one before it.
    static PARETOPO_INLINE I excess(I a, I b) {
        return (I)_mm512_subs_epu16((__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE Mask without(Mask mask, I excess) {
        return _mm512_mask_testn_epi16_mask(mask, (__m512i)excess, (__m512i)excess);
    }
    static PARETOPO_INLINE bool every(Mask mask) { return mask == all_lanes(); }
    static PARETOPO_INLINE I larger_where(Mask mask, I a, I b) {  // a in the other lanes
        return (I)_mm512_mask_max_epi16((__m512i)a, mask, (__m512i)a, (__m512i)b);
    }
    static PARETOPO_INLINE bool holds(Mask mask, int lane) { return (mask >> lane & 1) != 0; }
    static PARETOPO_INLINE Mask after(int lane) { return all_lanes() << 1 << lane; }
#else
    using Mask = I;
    static PARETOPO_INLINE Mask none() { return Mask{}; }
    static PARETOPO_INLINE Mask all_lanes() { return ~Mask{}; }
    static PARETOPO_INLINE I excess(I a, I b) { return a > b; }
    static PARETOPO_INLINE Mask without(Mask mask, I excess) { return mask & ~excess; }
    static PARETOPO_INLINE bool every(Mask mask) {
        return Lanes<float>::every((Lanes<float>::I)mask);
    }
    static PARETOPO_INLINE I larger_where(Mask mask, I a, I b) {  // for numbers from 0
        const I other = b & mask;
        return a > other ? a : other;
    }
    static PARETOPO_INLINE bool holds(Mask mask, int lane) { return mask[lane] != 0; }
    static PARETOPO_INLINE Mask after(int lane) {
        I numbers;
        for (int k = 0; k < kLanes; ++k) numbers[k] = static_cast<std::int16_t>(k);
        return numbers > all(twice(lane));
    }
#endif
    static PARETOPO_INLINE Mask either(Mask a, Mask b) { return a | b; }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
