// Marks functions that run on the CPU and on the GPU, and loops whose arrays live in registers; what
// the two spell differently.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define PARETOPO_HD __host__ __device__
#define PARETOPO_UNROLL _Pragma("unroll")
#else
#define PARETOPO_HD
#define PARETOPO_UNROLL
#endif

namespace paretopo {

// Which is the lowest bit that is set? Not for 0.
PARETOPO_HD inline std::int32_t lowest_bit(std::uint64_t bits) {
#if defined(__CUDA_ARCH__)
    return __ffsll(static_cast<long long>(bits)) - 1;
#else
    return __builtin_ctzll(bits);
#endif
}

}  // namespace paretopo
