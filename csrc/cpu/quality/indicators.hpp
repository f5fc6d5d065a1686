// Quality indicators of a set of points, with a target set or an ideal point or from random
// directions; and empirical attainment of several runs. CPU only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

using AnyBatch = std::variant<Batch<float>, Batch<double>>;

// Python reads the codes from here.
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
    "generational_distance",          "generational_distance_plus",
    "inverted_generational_distance", "inverted_generational_distance_plus",
    "average_hausdorff_distance",     "epsilon_additive",
    "epsilon_multiplicative"};

// Sets of points, and the set of each group; null: group g has set g, or all share a single one.
struct SetsOfGroups {
    AnyBatch sets;
    const std::int64_t* of_group;  // (groups,)
};

// Flat indices of the values that an indicator refuses, or kNoneRefused.
struct PairedRefusal {
    std::int64_t point = kNoneRefused;
    std::int64_t target = kNoneRefused;
};

// values: (groups,). p: exponent of the power mean over distances, positive; infinite for the
// maximum. The epsilon indicators take no mean. Without points a mean over them is NaN, and every
// row of the target is infinitely far.
PairedRefusal indicator(const SetsOfGroups& points, const SetsOfGroups& target, std::int64_t groups,
                        Indicator which, double p, double* values);

// values: (groups,). ideal: the ideal point of each group. weights: (count, objectives), not
// negative; none: all weights of two objectives. Returns the flat index of a value that is refused.
std::int64_t r2(const AnyBatch& points, References ideal, const double* weights,
                std::int64_t weight_count, double* values);

// Replicates of an estimate; their spread gives its error.
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

// The minimal points that at least `level` runs attain: values (points, objectives), levels
// (points,).
struct Attained {
    std::vector<double> values;
    std::vector<std::int64_t> levels;
};

// For the levels 1 .. highest in order; within a level sorted by the first objective.
Attained eaf(const Runs& runs, std::size_t highest);

// counts: (count, 2), the number of the first runs, and of the others, that attain each corner.
// corners: (count, 2), of two objectives.
void count_attaining(const Runs& runs, std::size_t first_runs, const double* corners,
                     std::size_t count, std::int64_t* counts);

}  // namespace paretopo::cpu
