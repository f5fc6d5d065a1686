// How good a set of points is beside a reference set, beside an ideal point, or estimated from
// random directions; and what several runs attain. On the CPU alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

using AnyBatch = std::variant<Batch<float>, Batch<double>>;

// Python has the codes from here.
enum class Indicator : std::int32_t {
    kGd,
    kGdPlus,
    kIgd,
    kIgdPlus,
    kAvgHausdorffDist,
    kEpsilonAdditive,
    kEpsilonMult
};
inline constexpr const char* kIndicatorNames[] = {
    "gd", "gd_plus", "igd", "igd_plus", "avg_hausdorff_dist", "epsilon_additive", "epsilon_mult"};

// Sets of points and which of them each group has; null: every group its own, or all the only one.
struct SetsOfGroups {
    AnyBatch sets;
    const std::int64_t* of_group;  // (groups,)
};

// Flat indices of what an indicator refuses, or kNoneRefused.
struct RefusedBeside {
    std::int64_t point = kNoneRefused;
    std::int64_t reference = kNoneRefused;
};

// values: (groups,). p: of the power mean over distances, positive, infinite for the largest; the
// epsilon indicators take no mean. Without points a mean over them is NaN, and every row of the
// reference infinitely far.
RefusedBeside indicator(const SetsOfGroups& points, const SetsOfGroups& reference,
                        std::int64_t groups, Indicator which, double p, double* values);

// values: (groups,), beside the ideal point of each group. weights: (count, objectives), not
// negative; none: all weights of two objectives. Returns the flat index of a value that is refused.
std::int64_t r2(const AnyBatch& points, References ideal, const double* weights,
                std::int64_t weight_count, double* values);

// Replicates of an estimate, whose spread is its error.
inline constexpr int kReplicates = 32;

// values, errors: (groups,), the hypervolume and its standard error, from `samples` directions for
// each replicate. Returns the flat index of a value that is refused.
template <typename Scalar>
std::int64_t hypervolume_approx(Batch<Scalar> batch, const double* ref, std::int64_t samples,
                                std::uint64_t seed, double* values, double* errors);

// Points of several runs, smaller is better.
struct Runs {
    const double* values;      // (points, objectives), finite
    const std::int64_t* runs;  // (points,), 0 .. run_count - 1
    std::size_t points;
    std::size_t objectives;  // 2 or 3
    std::size_t run_count;
};

// The least points that so many runs attain: values (points, objectives), levels (points,).
struct Attained {
    std::vector<double> values;
    std::vector<std::int64_t> levels;
};

// Of the levels 1 .. highest, in their order, each in that of the first objective.
Attained eaf(const Runs& runs, std::size_t highest);

// counts: (count, 2), how many of the first runs, and how many of the others, attain each corner;
// corners: (count, 2), of two objectives.
void count_attaining(const Runs& runs, std::size_t first_runs, const double* corners,
                     std::size_t count, std::int64_t* counts);

}  // namespace paretopo::cpu
