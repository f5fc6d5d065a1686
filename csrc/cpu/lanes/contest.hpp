// Two points of a group against each other, in every lane: which dominates?
#pragma once

#include <type_traits>

#include "cpu/lanes/dominators.hpp"
#include "cpu/lanes/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// contest(i)(j): values[i * objectives + m] are keys or finite numbers of which more is better, and
// -0 does not occur. kObjectives is 0 if only known at run time. Where ties are watched for, a zero
// in `closest` says that two points of that lane are equal in some objective.
template <typename Scalar, typename Vector, int kObjectives, bool kWatchesTies = false>
struct Contest {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    using U = typename V::U;
    using Mask = typename V::Mask;

    const Vector* values;
    int objectives;
    U* closest = nullptr;

    struct Against {
        const Contest& contest;
        Vector mine[kObjectives ? kObjectives : 1];
        const Vector* own;

        PARETOPO_INLINE Vector of_mine(int m) const {
            if constexpr (kObjectives) return mine[m];
            return own[m];
        }

        PARETOPO_INLINE Verdict<Scalar> operator()(int j) const {
            const int count = kObjectives ? kObjectives : contest.objectives;
            const Vector* other = contest.values + j * count;
            if constexpr (kWatchesTies) {
                U gap = *contest.closest;
#pragma GCC unroll 4
                for (int m = 0; m < count; ++m) {
                    gap = V::smaller(gap, (U)(of_mine(m) - other[m]));
                }
                *contest.closest = gap;
            }
#if defined(__AVX512F__)
            if constexpr (std::is_same_v<Vector, typename V::F>) {
                // By the signs of differences, because a comparison into a mask register holds
                // the others up. Distinct numbers never have the difference zero.
                I less{};
                I more{};
#pragma GCC unroll 4
                for (int m = 0; m < count; ++m) {
                    less |= (I)(of_mine(m) - other[m]);
                    more |= (I)(other[m] - of_mine(m));
                }
                return {V::negative(more & ~less), V::negative(less & ~more)};
            }
#endif
            Mask first = V::all_lanes();   // i is at least as good as j
            Mask second = V::all_lanes();  // j is at least as good as i
#pragma GCC unroll 4
            for (int m = 0; m < count; ++m) {
                first = V::and_at_least(first, of_mine(m), other[m]);
                second = V::and_at_least(second, other[m], of_mine(m));
            }
            return {V::without(first, second), V::without(second, first)};
        }
    };

    PARETOPO_INLINE Against operator()(int i) const {
        const int count = kObjectives ? kObjectives : objectives;
        Against against{*this, {}, values + i * count};
#pragma GCC unroll 4
        for (int m = 0; m < kObjectives; ++m) against.mine[m] = against.own[m];
        return against;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
