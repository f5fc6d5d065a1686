// The interface of Lanes<Scalar> (csrc/cpu/lanes/simd/simd.hpp) for a single number, so that a
// formula is written once for scalars and vectors.
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
    // b is not NaN. A GPU has an instruction for each, but the compiler does not use it for the
    // comparison.
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
    // `mask`, and a >= b.
    template <typename Number>
    PARETOPO_HD static Mask and_at_least(Mask mask, Number a, Number b) {
        return mask & (a >= b);
    }
    PARETOPO_HD static Mask both(Mask a, Mask b) { return a & b; }
    PARETOPO_HD static Mask without(Mask a, Mask b) { return a & !b; }
};

}  // namespace paretopo
