// Compares two points of a group in every lane: which dominates?
#pragma once

#include <type_traits>

#include "cpu/lanes/ranking/dominators.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "formulas/dominance.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// pairwise(i)(j) is the Verdict of points i and j. values[i * objectives + m] are keys or finite
// numbers with larger being better, without -0. kObjectives is 0 if only known at run time. With
// kWatchesTies, a zero in `closest` means that two points of that lane are equal in some objective.
template <typename Scalar, typename Vector, int kObjectives, bool kWatchesTies = false>
struct Pairwise {
    using V = Lanes<Scalar>;
    using U = typename V::U;
#if defined(__AVX512F__)
    using Compared = std::conditional_t<std::is_same_v<Vector, typename V::F>, LanesBySign<Scalar>,
                                        Lanes<Scalar>>;
#else
    using Compared = Lanes<Scalar>;
#endif

    const Vector* values;
    int objectives;
    U* closest = nullptr;

    // Point i, in registers if the number of objectives is known.
    struct Point {
        const Pairwise& pairwise;
        Vector own[kObjectives ? kObjectives : 1];
        const Vector* in_memory;

        PARETOPO_INLINE Vector operator[](int m) const {
            if constexpr (kObjectives) return own[m];
            return in_memory[m];
        }

        PARETOPO_INLINE Verdict<Scalar> operator()(int j) const {
            const int count = kObjectives ? kObjectives : pairwise.objectives;
            const Vector* other = pairwise.values + j * count;
            if constexpr (kWatchesTies) {
                U gap = *pairwise.closest;
#pragma GCC unroll 4
                for (int m = 0; m < count; ++m) {
                    gap = V::smaller(gap, (U)((*this)[m] - other[m]));
                }
                *pairwise.closest = gap;
            }
            const auto found = compare<Compared, kObjectives>(*this, other, count);
            return {found.a_dominates(), found.b_dominates()};
        }
    };

    PARETOPO_INLINE Point operator()(int i) const {
        const int count = kObjectives ? kObjectives : objectives;
        Point point{*this, {}, values + i * count};
#pragma GCC unroll 4
        for (int m = 0; m < kObjectives; ++m) point.own[m] = point.in_memory[m];
        return point;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
