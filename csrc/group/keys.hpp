// Values as integers of the same order, so that dominance is a comparison of integers: larger is
// better, NaN is below everything, both zeros are one. Neither rounding nor flushed subnormal
// numbers can touch them.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "portability.hpp"

namespace paretopo {

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

// Rows of keys: is a at least as good as b everywhere, and better somewhere? kObjectives 0: as many
// as `objectives` says.
template <int kObjectives, typename Integer>
PARETOPO_HD bool key_dominates(const Integer* a, const Integer* b, std::int32_t objectives) {
    bool is_better = false;
    if constexpr (kObjectives > 0) {
        bool is_worse = false;
        PARETOPO_UNROLL
        for (int m = 0; m < kObjectives; ++m) {
            is_worse |= a[m] < b[m];
            is_better |= a[m] > b[m];
        }
        return is_better && !is_worse;
    } else {
        for (std::int32_t m = 0; m < objectives; ++m) {
            if (a[m] < b[m]) return false;
            is_better |= a[m] > b[m];
        }
        return is_better;
    }
}

template <typename Integer>
PARETOPO_HD bool key_equal(const Integer* a, const Integer* b, std::int32_t objectives) {
    for (std::int32_t m = 0; m < objectives; ++m) {
        if (a[m] != b[m]) return false;
    }
    return true;
}

}  // namespace paretopo
