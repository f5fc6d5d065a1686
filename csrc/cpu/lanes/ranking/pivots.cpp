// Fast passes that compare one large set with a few good points of it: which points may be
// non-dominated?
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "formulas/dominance.hpp"

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
    std::int64_t i = first;  // int64, as it may exceed the last int32
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

// The best of each weighted sum a * x + b * y (+ c * z), on the scale of the sample.
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
        for (int p = 0; p < kPivots; ++p) {  // in parallel, in lanes
            Scalar sum = 0;
            for (int m = 0; m < kObjectives; ++m) {
                const Scalar weight = kObjectives == 2 ? kMixtures2[p][m % 2] : kMixtures3[p][m];
                sum += weight * (scale[m] * sample[i * kObjectives + m]);
            }
            const bool is_higher = sum > highest[p];  // false for NaN
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

template <typename Scalar>
std::int32_t drop_dominated(const Scalar* values, std::int32_t points, std::int32_t objectives,
                            std::uint64_t minimised, const std::int32_t* pivots, int pivot_count,
                            std::int32_t* survivors) {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    constexpr int kLanes = V::kLanes;
    const auto key_of = [&](typename V::F column, int m) {
        return ordered<Scalar>(column, m < 64 && (minimised >> m & 1) != 0);
    };
    std::vector<I> keys(static_cast<std::size_t>(pivot_count * objectives));
    for (int p = 0; p < pivot_count; ++p) {
        for (int m = 0; m < objectives; ++m) {
            keys[static_cast<std::size_t>(p * objectives + m)] =
                key_of(V::all(values[std::int64_t{pivots[p]} * objectives + m]), m);
        }
    }
    std::int32_t count = 0;
    typename V::F columns[kMaxValuesInLane + kLanes];
    I point[kMaxValuesInLane];
    for (std::int64_t first = 0; first < points; first += kLanes) {  // may exceed the last int32
        const auto here = static_cast<int>(std::min<std::int64_t>(kLanes, points - first));
        const bool last =
            (first + kLanes) * objectives + kLanes > std::int64_t{points} * objectives;
        read_columns<Scalar>(values + first * objectives, objectives, here, last, columns);
        for (int m = 0; m < objectives; ++m) point[m] = key_of(columns[m], m);
        typename V::Mask dominated = V::none();
        for (int p = 0; p < pivot_count; ++p) {
            const I* pivot = &keys[static_cast<std::size_t>(p * objectives)];
            const auto found = compare<V, 0>(pivot, point, objectives);
            dominated = V::either(dominated, found.a_dominates());
            if (V::every(dominated)) break;
        }
        const unsigned bits = V::bits(dominated);
        for (int k = 0; k < here; ++k) {
            survivors[count] = static_cast<std::int32_t>(first + k);
            count += (bits >> k & 1) == 0;
        }
    }
    return count;
}

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

template <typename Scalar>
constexpr PivotKernels<Scalar> kTablePivotKernels{.drop_dominated = drop_dominated<Scalar>,
                                                  .find_promising = find_promising<Scalar>,
                                                  .pick = pick_pivots<Scalar>};

}  // namespace

const OfBoth<PivotKernels> kPivotKernels{kTablePivotKernels<float>, kTablePivotKernels<double>};

}  // namespace paretopo::cpu::PARETOPO_LANES
