// One number where the vector kernels have several: what Lanes<Scalar> of
// csrc/cpu/lanes/simd/simd.hpp offers for a vector, for a vector of one. A formula that is written
// against either is written once.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

template <typename Scalar>
struct OneLane {
    using F = Scalar;
    using I = std::int32_t;
    using Mask = bool;

    PARETOPO_HD static F all(Scalar value) { return value; }
    PARETOPO_HD static F to_floats(I number) { return static_cast<Scalar>(number); }
    // b is no NaN. A GPU has an instruction for either, which the comparison does not become.
    PARETOPO_HD static F smaller(F a, F b) {
#if defined(__CUDA_ARCH__)
        return fmin(a, b);
#else
        return a < b ? a : b;
#endif
    }
    PARETOPO_HD static F larger(F a, F b) {
#if defined(__CUDA_ARCH__)
        return fmax(a, b);
#else
        return a > b ? a : b;
#endif
    }

    PARETOPO_HD static Mask all_lanes() { return true; }
    // Is a >= b, too, where `mask` holds?
    template <typename Number>
    PARETOPO_HD static Mask and_at_least(Mask mask, Number a, Number b) {
        return mask & (a >= b);
    }
    PARETOPO_HD static Mask both(Mask a, Mask b) { return a & b; }
    PARETOPO_HD static Mask without(Mask a, Mask b) { return a & !b; }
};

}  // namespace paretopo
