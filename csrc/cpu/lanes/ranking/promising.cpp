// A quick pass over one large set of 2 or 3 objectives: which points may be non-dominated?
#include <cstdint>
#include <limits>

#include "cpu/lanes/simd/simd.hpp"
#include "cpu/lanes/table/exports.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// kLanes points in columns, larger values better.
template <typename Scalar, int kObjectives>
PARETOPO_INLINE void read_points(const Scalar* values, const bool* flips,
                                 typename Lanes<Scalar>::F* columns) {
    using V = Lanes<Scalar>;
    if constexpr (kObjectives == 2) {
        const typename V::F low = V::load(values);
        const typename V::F high = V::load(values + V::kLanes);
        columns[0] = V::unzip_first(low, high);
        columns[1] = V::unzip_second(low, high);
    } else {
        alignas(kVectorBytes) Scalar copy[kObjectives * V::kLanes];
        for (int k = 0; k < V::kLanes; ++k) {
            for (int m = 0; m < kObjectives; ++m) {
                copy[m * V::kLanes + k] = values[k * kObjectives + m];
            }
        }
        for (int m = 0; m < kObjectives; ++m) columns[m] = V::load(copy + m * V::kLanes);
    }
    for (int m = 0; m < kObjectives; ++m) {
        if (flips[m]) columns[m] = -columns[m];
    }
}

template <typename Scalar, int kObjectives>
std::int32_t promising_of(const Scalar* values, std::int32_t first, std::int32_t end,
                          const bool* flips, const Scalar* pivots, std::int32_t* found) {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    F best[kPivots][kObjectives];
    for (int p = 0; p < kPivots; ++p) {
        for (int m = 0; m < kObjectives; ++m) {
            const Scalar value = pivots[p * kObjectives + m];
            best[p][m] = V::all(flips[m] ? -value : value);
        }
    }
    std::int32_t count = 0;
    std::int64_t i = first;  // may pass the last int32
    for (; i + V::kLanes <= end; i += V::kLanes) {
        F point[kObjectives];
        read_points<Scalar, kObjectives>(values + i * kObjectives, flips, point);
        typename V::Mask beaten = V::none();
#pragma GCC unroll 8
        for (int p = 0; p < kPivots; ++p) {
            typename V::Mask one = V::greater(best[p][0], point[0]);
#pragma GCC unroll 4
            for (int m = 1; m < kObjectives; ++m) one = V::and_at_least(one, best[p][m], point[m]);
            beaten = V::either(beaten, one);
        }
        if (V::every(beaten)) continue;
        const unsigned bits = V::bits(beaten);
        for (int k = 0; k < V::kLanes; ++k) {
            found[count] = static_cast<std::int32_t>(i + k);
            count += (bits >> k & 1) == 0;
        }
    }
    for (; i < end; ++i) found[count++] = static_cast<std::int32_t>(i);
    return count;
}

// Best of each mixture a * x + b * y (+ c * z), on the scale of the sample.
template <typename Scalar, int kObjectives>
void pick(const Scalar* sample, std::int32_t count, const bool* flips, Scalar* pivots) {
    constexpr Scalar kMixtures2[kPivots][2] = {{15, 1}, {13, 3}, {11, 5}, {9, 7},
                                               {7, 9},  {5, 11}, {3, 13}, {1, 15}};
    constexpr Scalar kMixtures3[kPivots][3] = {{5, 5, 5}, {9, 5, 2}, {5, 9, 2}, {2, 9, 5},
                                               {2, 5, 9}, {5, 2, 9}, {9, 2, 5}, {12, 2, 2}};
    constexpr Scalar kFinite = std::numeric_limits<Scalar>::max() / 64;
    Scalar scale[kObjectives];
    for (int m = 0; m < kObjectives; ++m) {
        Scalar least = kFinite;
        Scalar most = -kFinite;
        for (std::int32_t i = 0; i < count; ++i) {
            const Scalar value = sample[i * kObjectives + m];
            if (!(value < kFinite && value > -kFinite)) continue;
            least = value < least ? value : least;
            most = value > most ? value : most;
        }
        scale[m] = most > least ? Scalar(1) / (most - least) : Scalar(0);
        if (flips[m]) scale[m] = -scale[m];
    }
    using Int = typename Lanes<Scalar>::Int;
    Int chosen[kPivots] = {};
    Scalar highest[kPivots];
    for (Scalar& sum : highest) sum = -kFinite;
    for (std::int32_t i = 0; i < count; ++i) {
        for (int p = 0; p < kPivots; ++p) {  // side by side, in lanes
            Scalar sum = 0;
            for (int m = 0; m < kObjectives; ++m) {
                const Scalar weight = kObjectives == 2 ? kMixtures2[p][m % 2] : kMixtures3[p][m];
                sum += weight * (scale[m] * sample[i * kObjectives + m]);
            }
            const bool is_higher = sum > highest[p];  // never of NaN
            highest[p] = is_higher ? sum : highest[p];
            chosen[p] = is_higher ? Int{i} : chosen[p];
        }
    }
    for (int p = 0; p < kPivots; ++p) {
        for (int m = 0; m < kObjectives; ++m) {
            pivots[p * kObjectives + m] = sample[chosen[p] * kObjectives + m];
        }
    }
}

struct Flips {
    bool of[3];
    explicit Flips(std::uint64_t minimised)
        : of{(minimised & 1) != 0, (minimised & 2) != 0, (minimised & 4) != 0} {}
};

}  // namespace

template <typename Scalar>
std::int32_t find_promising(const Scalar* values, std::int32_t first, std::int32_t end,
                            std::int32_t objectives, std::uint64_t minimised, const Scalar* pivots,
                            std::int32_t* found) {
    const Flips flips(minimised);
    return objectives == 2 ? promising_of<Scalar, 2>(values, first, end, flips.of, pivots, found)
                           : promising_of<Scalar, 3>(values, first, end, flips.of, pivots, found);
}

template <typename Scalar>
void pick_pivots(const Scalar* sample, std::int32_t count, std::int32_t objectives,
                 std::uint64_t minimised, Scalar* pivots) {
    const Flips flips(minimised);
    objectives == 2 ? pick<Scalar, 2>(sample, count, flips.of, pivots)
                    : pick<Scalar, 3>(sample, count, flips.of, pivots);
}

PARETOPO_INSTANTIATE_KERNEL(find_promising)
PARETOPO_INSTANTIATE_KERNEL(pick_pivots)

}  // namespace paretopo::cpu::PARETOPO_LANES
