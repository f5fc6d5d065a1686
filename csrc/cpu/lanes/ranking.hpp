// The vector kernels that rank, filter and compute advantages: tables of functions, for floats and
// for doubles. A file of lanes/ranking/ defines each table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "batch.hpp"
#include "cpu/tuning/ranking.hpp"
#include "formulas/advantage.hpp"

namespace paretopo::cpu {

// True if the lanes take groups of this shape. `most_flat`: the limit of points with 2 or 3
// objectives.
constexpr bool fits_lanes(std::int32_t points, std::int32_t objectives,
                          std::int32_t most_flat = kMaxInLane) {
    const bool is_flat = objectives == 2 || objectives == 3;
    return points >= 1 && points <= (is_flat ? most_flat : kMaxInLane) &&
           std::int64_t{points} * objectives <= kMaxValuesInLane;
}

// The groups first..end of a batch, one group per lane: fronts_of_groups.cpp.
template <typename Scalar>
struct GroupKernels {
    void (*rank)(Batch<Scalar> batch, std::int64_t first, std::int64_t end, std::int32_t* ranks);
    void (*find_nondominated)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                              bool keep_duplicates, std::uint8_t* nondominated);
    void (*advantages)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                       Weighting<Scalar> how, Scalar* advantages, std::int32_t* ranks);
};

inline constexpr int kMaxInRows = 576;  // maximum points of a set for SetKernels
inline constexpr int kMaxOrdered = 64;  // maximum points of a set for SetKernels::order

// One set after another, with a point per lane and a row of bits for each point:
// fronts_of_small_sets.cpp. ranks, nondominated: (points,), written in full.
template <typename Scalar>
struct SetKernels {
    // Returns the number of fronts.
    std::int32_t (*rank)(const Scalar* values, std::int32_t points, std::int32_t objectives,
                         std::uint64_t minimised, std::int32_t* ranks);
    void (*find_nondominated)(const Scalar* values, std::int32_t points, std::int32_t objectives,
                              std::uint64_t minimised, bool keep_duplicates,
                              std::uint8_t* nondominated);
    // order: (points,), worst first in one objective in which larger is better; equal values in the
    // order of the points.
    void (*order)(const Scalar* values, std::int32_t points, std::int32_t objectives,
                  std::int32_t objective, std::int32_t* order);
    // The groups first..end of a batch, each as a set.
    void (*rank_each)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                      std::int32_t* ranks);
    void (*find_nondominated_of_each)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                                      bool keep_duplicates, std::uint8_t* nondominated);
};

// The number of pivots for 2 or 3 objectives, and the least size of the sample they come from.
constexpr int pivots_of(int objectives) { return objectives == 2 ? 8 : 4; }
inline constexpr int kLeastSampled = 16;

// Compares one large set with a few good points of it, the pivots: pivots.cpp.
template <typename Scalar>
struct PivotKernels {
    // Writes the indices of the points that no pivot dominates, and returns their number.
    std::int32_t (*drop_dominated)(const Scalar* values, std::int32_t points,
                                   std::int32_t objectives, std::uint64_t minimised,
                                   const std::int32_t* pivots, int pivot_count,
                                   std::int32_t* survivors);
    // The same with 2 or 3 objectives, for the points first..end; may also keep some dominated
    // points with ties. pivots: (pivots_of, objectives), as given.
    std::int32_t (*find_promising)(const Scalar* values, std::int32_t first, std::int32_t end,
                                   std::int32_t objectives, std::uint64_t minimised,
                                   const Scalar* pivots, std::int32_t* found);
    // Picks these pivots from a sample, (count, objectives): each is the best in a weighted sum of
    // the objectives.
    void (*pick)(const Scalar* sample, std::int32_t count, std::int32_t objectives,
                 std::uint64_t minimised, Scalar* pivots);
};

// One large set of distinct points, as dense codes: codes[objective][point], 0 is best.
struct CodeColumns {
    const std::int32_t* const* codes;
    int objectives;  // at least 2
    std::int32_t points;
};

// fronts_of_large_sets.cpp
struct CodeKernels {
    void (*rank)(CodeColumns set, std::int32_t* ranks);
    void (*find_nondominated)(CodeColumns set, std::uint8_t* nondominated);
};

inline constexpr std::size_t kMaxHeldTails = 64;

// Patience sorting of the second keys of one large set of 2 objectives: tails.cpp.
struct TailKernels {
    // Places keys in turn. Each replaces the first larger one of the tails, kMaxHeldTails ascending
    // numbers; ranks: the places. Returns the number of keys placed, which may be 0: those before
    // the first key that would replace a number beyond the registers, or that has all bits.
    std::size_t (*place)(std::uint64_t* tails, const std::uint64_t* keys, std::size_t size,
                         std::int32_t* ranks);
};

}  // namespace paretopo::cpu
