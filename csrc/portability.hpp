// Hides the differences between the CPU's compilers and CUDA's: marks for functions that run on
// both, for functions that are always inlined and for loops to unroll; and a few bit operations.
#pragma once

#include <cstdint>
#include <cstring>

#define PARETOPO_INLINE inline __attribute__((always_inline))

#if defined(__CUDACC__)
#define PARETOPO_HD __host__ __device__
#define PARETOPO_UNROLL _Pragma("unroll")  // GPU: keeps an array in registers
#define PARETOPO_UNROLL_4
#else
#define PARETOPO_HD
#define PARETOPO_UNROLL
#define PARETOPO_UNROLL_4 _Pragma("GCC unroll 4")  // CPU: a few objectives
#endif

namespace paretopo {

// The index of the lowest bit that is set. `bits` must not be 0.
PARETOPO_HD inline std::int32_t lowest_bit(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
    return __ffsll(static_cast<long long>(bits)) - 1;
#else
    return __builtin_ctzll(bits);
#endif
}

PARETOPO_HD inline std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Shifts `bits` up by one and fills the lowest bit with the highest bit of `word`.
PARETOPO_HD inline std::uint32_t shift_in(std::uint32_t bits, std::uint32_t word) {
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(word, bits, 1);
#else
    return bits << 1 | word >> 31;
#endif
}

}  // namespace paretopo
