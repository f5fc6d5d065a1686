// Selection of the points of a set to keep: subsets of large hypervolume, and the survivors of
// environmental selection. CPU only.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

// The algorithm for a subset of large hypervolume; Python reads the codes from here.
enum class SubsetMethod : std::int32_t { kGreedy, kGreedyRemoval, kExact };
inline constexpr const char* kSubsetMethodNames[] = {"greedy", "greedy_removal", "exact"};

// The rule that cuts the front that does not fit whole; Python reads the codes from here.
enum class Cut : std::int32_t { kCrowding, kCrowdingRemoval, kHypervolume, kReferenceDirections };
inline constexpr const char* kCutNames[] = {"crowding", "crowding_removal", "hypervolume",
                                            "reference_directions"};

inline constexpr std::int64_t kNoPoint = -1;  // pads sets with fewer points than k

// Thrown if the choices that the dynamic programme of `exact` stores would take too much memory.
struct TooManyChoices {};

// chosen: (groups, k), indices of points, padded with kNoPoint. kGreedy lists them in the order of
// their addition, the other methods in ascending order. Returns the flat index of the first value
// that is refused (NaN, or infinity on the better side), or kNoneRefused.
template <typename Scalar>
std::int64_t hypervolume_subset(Batch<Scalar> batch, References ref, std::int32_t k,
                                SubsetMethod method, std::int64_t* chosen);

// Parameters of a cut.
struct Cutting {
    Cut cut;
    References ref;            // for kHypervolume
    const double* directions;  // for kReferenceDirections: (count, objectives), at least one, none
                               // of length 0
    std::int64_t count;
    std::uint64_t seed;
};

// survivors: (groups, k), ascending indices of points, padded with kNoPoint. kHypervolume returns
// as above; kReferenceDirections refuses every value that is not finite.
template <typename Scalar>
std::int64_t select(Batch<Scalar> batch, Cutting cutting, std::int32_t k, std::int64_t* survivors);

}  // namespace paretopo::cpu
