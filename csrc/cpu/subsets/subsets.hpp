// Which points of a set to keep: subsets of large hypervolume, and the survivors of environmental
// selection. On the CPU alone.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

// How a subset of large hypervolume is found; Python has the codes from here.
enum class SubsetMethod : std::int32_t { kGreedy, kGreedyRemoval, kExact };
inline constexpr const char* kSubsetMethodNames[] = {"greedy", "greedy_removal", "exact"};

// How the front that does not fit whole is cut; Python has the codes from here.
enum class Cut : std::int32_t { kCrowding, kCrowdingRemoval, kHypervolume, kReferenceDirections };
inline constexpr const char* kCutNames[] = {"crowding", "crowding_removal", "hypervolume",
                                            "reference_directions"};

inline constexpr std::int64_t kNoPoint = -1;  // where a set has fewer points than are to be kept

// What the dynamic programme of `exact` may take to remember its choices: thrown beyond.
inline constexpr std::int64_t kMostChoiceBytes = std::int64_t{1} << 32;
struct TooManyChoices {};

// chosen: (groups, k), indices of points, kNoPoint behind the last; greedy in the order in which
// they were added, otherwise ascending. Returns the flat index of the first value that is refused
// (NaN, or infinity on the better side), or kNoneRefused.
template <typename Scalar>
std::int64_t hypervolume_subset(Batch<Scalar> batch, References ref, std::int32_t k,
                                SubsetMethod method, std::int64_t* chosen);

// What a cut needs to know beside the points.
struct Cutting {
    Cut cut;
    References ref;  // of kHypervolume
    const double*
        directions;  // of kReferenceDirections: (count, objectives), at least one, none of length 0
    std::int64_t count;
    std::uint64_t seed;
};

// survivors: (groups, k), indices of points, ascending, kNoPoint behind the last. Returns as above
// with kHypervolume; with kReferenceDirections whatever is not finite is refused.
template <typename Scalar>
std::int64_t select(Batch<Scalar> batch, Cutting cutting, std::int32_t k, std::int64_t* survivors);

}  // namespace paretopo::cpu
