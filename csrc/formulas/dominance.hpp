// Pareto dominance, for every backend: a point dominates another if it is at least as good in every
// objective and better in one. Definition: Deb et al., 2002, "A fast and elitist multiobjective
// genetic algorithm: NSGA-II", section III-A.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "formulas/one_lane.hpp"
#include "portability.hpp"

namespace paretopo {

// ---- Keys: integers in the order of the values ----
//
// Larger is better, NaN is lowest, both zeros are equal. Neither rounding nor flushing subnormal
// numbers affects keys.

template <typename Scalar>
struct KeyOf;
template <>
struct KeyOf<float> {
    using Type = std::int32_t;
    static constexpr Type kInfinity = 0x7f800000;
};
template <>
struct KeyOf<double> {
    using Type = std::int64_t;
    static constexpr Type kInfinity = 0x7ff0000000000000;
};
template <typename Scalar>
using Key = typename KeyOf<Scalar>::Type;

template <typename Scalar>
inline constexpr Key<Scalar> kLowestKey = std::numeric_limits<Key<Scalar>>::min();
template <typename Scalar>
inline constexpr Key<Scalar> kHighestKey = std::numeric_limits<Key<Scalar>>::max();

template <typename Scalar>
PARETOPO_HD Key<Scalar> key_of(Scalar value, bool minimised) {
    Key<Scalar> bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const Key<Scalar> size = bits & ~kLowestKey<Scalar>;
    if (size > KeyOf<Scalar>::kInfinity) return kLowestKey<Scalar>;
    return (bits < 0) != minimised ? -size : size;
}

// The value of a key made with minimised = false.
template <typename Scalar>
PARETOPO_HD Scalar value_of(Key<Scalar> key) {
    Key<Scalar> bits = key;
    if (key == kLowestKey<Scalar>) {
        bits = KeyOf<Scalar>::kInfinity + 1;  // NaN
    } else if (key < 0) {
        bits = kLowestKey<Scalar> | -key;
    }
    Scalar value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

// ---- Dominance of numbers or keys: larger is better, no NaN ----

// Comparison so far of two points a and b, for one pair or for a pair in each lane.
template <typename Lanes>
struct Comparison {
    using Mask = typename Lanes::Mask;
    Mask a_reaches_b = Lanes::all_lanes();  // a is at least as good as b in every objective so far
    Mask b_reaches_a = Lanes::all_lanes();

    template <typename Number>
    PARETOPO_HD PARETOPO_INLINE void add(Number a, Number b) {
        a_reaches_b = Lanes::and_at_least(a_reaches_b, a, b);
        b_reaches_a = Lanes::and_at_least(b_reaches_a, b, a);
    }
    PARETOPO_HD PARETOPO_INLINE auto a_dominates() const {
        return Lanes::without(a_reaches_b, b_reaches_a);
    }
    PARETOPO_HD PARETOPO_INLINE auto b_dominates() const {
        return Lanes::without(b_reaches_a, a_reaches_b);
    }
    PARETOPO_HD PARETOPO_INLINE auto are_equal() const {
        return Lanes::both(a_reaches_b, b_reaches_a);
    }
};

// Compares in both directions. a[m] and b[m]: objective m. kObjectives is 0 if only `objectives`
// gives their number.
template <typename Lanes, int kObjectives, typename A, typename B>
PARETOPO_HD PARETOPO_INLINE Comparison<Lanes> compare(const A& a, const B& b, int objectives) {
    Comparison<Lanes> found;
    const int count = kObjectives > 0 ? kObjectives : objectives;
    PARETOPO_UNROLL
    PARETOPO_UNROLL_4
    for (int m = 0; m < count; ++m) found.add(a[m], b[m]);
    return found;
}

// Compares in one direction: is a at least as good as b in every objective, and better in one?
// Stops at the first objective in which a is worse, unless a branch costs more than the other
// comparisons.
template <int kObjectives, typename A, typename B>
PARETOPO_HD PARETOPO_INLINE Comparison<OneLane<float>> compare_one_way(const A& a, const B& b,
                                                                       int objectives) {
    if constexpr (kObjectives > 0) {
        return compare<OneLane<float>, kObjectives>(a, b, objectives);
    } else {
        Comparison<OneLane<float>> found;
        for (int m = 0; m < objectives && found.a_reaches_b; ++m) found.add(a[m], b[m]);
        return found;
    }
}

template <int kObjectives = 0, typename A, typename B>
PARETOPO_HD PARETOPO_INLINE bool dominates(const A& a, const B& b, int objectives) {
    return compare_one_way<kObjectives>(a, b, objectives).a_dominates();
}

}  // namespace paretopo
