// Fast passes that compare one large set with a few good points of it: which points may be
// non-dominated?
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking.hpp"
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
    constexpr int kPivots = pivots_of(kObjectives);
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

// The reciprocals of the objectives' ranges in a sample of at least kLeastSampled points, without
// values that are not finite or close to overflow; 0 for an objective that has no range.
template <typename Scalar, int kObjectives>
void measure_scales(const Scalar* sample, std::int32_t count, Scalar* scales) {
    using V = Lanes<Scalar>;
    constexpr Scalar kFinite = std::numeric_limits<Scalar>::max() / 64;
    // Lane k of vector v holds objective (v * kLanes + k) % kObjectives.
    typename V::F least[kObjectives], most[kObjectives];
    for (int v = 0; v < kObjectives; ++v) {
        least[v] = V::all(kFinite);
        most[v] = V::all(-kFinite);
    }
    for (std::int32_t i = 0; i < count; i += V::kLanes) {
        const Scalar* points = sample + std::min(i, count - V::kLanes) * kObjectives;
        for (int v = 0; v < kObjectives; ++v) {
            const typename V::F values = V::load(points + v * V::kLanes);
            const auto is_finite =
                V::both(V::greater(V::all(kFinite), values), V::greater(values, V::all(-kFinite)));
            least[v] = V::smaller_where(is_finite, values, least[v]);
            most[v] = V::larger_where(is_finite, values, most[v]);
        }
    }
    for (int m = 0; m < kObjectives; ++m) {
        Scalar low = kFinite, high = -kFinite;
        for (int lane = m; lane < kObjectives * V::kLanes; lane += kObjectives) {
            low = std::min(low, least[lane / V::kLanes][lane % V::kLanes]);
            high = std::max(high, most[lane / V::kLanes][lane % V::kLanes]);
        }
        scales[m] = high > low ? Scalar(1) / (high - low) : Scalar(0);
    }
}

// The best of each weighted sum a * x + b * y (+ c * z), on the scale of the sample. Each lane has
// weights of its own.
template <typename Scalar, int kObjectives>
void pick(const Scalar* sample, std::int32_t count, const bool* flips, Scalar* pivots) {
    using V = Lanes<Scalar>;
    constexpr int kPivots = pivots_of(kObjectives);
    constexpr Scalar kMixtures2[2][8] = {{15, 13, 11, 9, 7, 5, 3, 1}, {1, 3, 5, 7, 9, 11, 13, 15}};
    constexpr Scalar kMixtures3[3][4] = {{5, 10, 3, 3}, {5, 3, 10, 3}, {5, 3, 3, 10}};
    constexpr int kVectors = (kPivots + V::kLanes - 1) / V::kLanes;
    Scalar scales[kObjectives];
    measure_scales<Scalar, kObjectives>(sample, count, scales);
    typename V::F weights[kVectors][kObjectives], highest[kVectors];
    typename V::I chosen[kVectors];
    for (int v = 0; v < kVectors; ++v) {
        for (int m = 0; m < kObjectives; ++m) {
            const Scalar* mixture = kObjectives == 2 ? kMixtures2[m % 2] : kMixtures3[m];
            for (int k = 0; k < V::kLanes; ++k) {
                const Scalar scale = flips[m] ? -scales[m] : scales[m];
                weights[v][m][k] = scale * mixture[(v * V::kLanes + k) % kPivots];
            }
        }
        highest[v] = V::all(-std::numeric_limits<Scalar>::max());
        chosen[v] = V::all_int(0);
    }
    for (std::int32_t i = 0; i < count; ++i) {
        const Scalar* point = sample + i * kObjectives;
        for (int v = 0; v < kVectors; ++v) {
            typename V::F sum = weights[v][0] * V::all(point[0]);
            for (int m = 1; m < kObjectives; ++m) sum += weights[v][m] * V::all(point[m]);
            const auto is_higher = V::greater(sum, highest[v]);  // false for NaN
            highest[v] = V::choose(is_higher, sum, highest[v]);
            chosen[v] = V::choose(is_higher, V::all_int(i), chosen[v]);
        }
    }
    for (int p = 0; p < kPivots; ++p) {
        const Scalar* best = sample + chosen[p / V::kLanes][p % V::kLanes] * kObjectives;
        std::copy_n(best, kObjectives, pivots + p * kObjectives);
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
