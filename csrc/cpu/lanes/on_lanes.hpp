// From one of the lane kernels to its version for the instruction set in use.
#pragma once

#include "cpu/isa.hpp"

// Calls the function of that name of the instruction set in use.
#if defined(PARETOPO_X86_LANES)
#define PARETOPO_ON_LANES(function, ...)                   \
    (isa() == Isa::kAvx512 ? avx512::function(__VA_ARGS__) \
     : isa() == Isa::kAvx2 ? avx2::function(__VA_ARGS__)   \
                           : portable::function(__VA_ARGS__))
#else
#define PARETOPO_ON_LANES(function, ...) portable::function(__VA_ARGS__)
#endif
