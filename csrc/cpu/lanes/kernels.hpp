// The vector kernels, as the rest of the program sees them. What lies in this folder is compiled
// once per instruction set, each time into the namespace that PARETOPO_LANES names and with a table
// of its own; kernels() of cpu/lanes/isa.hpp is the table of the instruction set in use. All of
// them give the same results, bit for bit.
//
// Threads are the caller's: a lane file must not define anything that other files could end up
// using, and a standard container would.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "formulas/advantage.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

// ---- Many small groups: one group per lane ----

// Shapes whose ranks and advantages the lanes take, so that a block stays in the first-level cache;
// with 2 or 3 objectives up to more points, which the table says.
constexpr bool fits_lanes(std::int32_t points, std::int32_t objectives,
                          std::int32_t most_flat = 64) {
    const bool is_flat = objectives == 2 || objectives == 3;
    return points >= 1 && points <= (is_flat ? most_flat : 64) &&
           std::int64_t{points} * objectives <= 256;
}

// ---- Sets of up to kMostInRows points, one after the other: a point per lane ----

inline constexpr int kMostInRows = 576;

inline constexpr int kMostOrdered = 64;  // points that order_set takes

// Points that a quick pass over a large set of 2 or 3 objectives compares all others with.
inline constexpr int kPivots = 8;

// ---- Volumes of small groups ----

// Points of a group whose volumes the lanes measure, and groups that one call measures.
inline constexpr std::int32_t kMostSmall = 32;
inline constexpr std::int64_t kMostGroupsMeasured = 256;

// The weights of cells, by how many points count and how many of them attain a cell. Where points
// tie, the lanes count below 0 along rows of no height.
inline constexpr int kWeightsRow = 2 * kMostSmall + 8;
constexpr std::size_t weights_at(int count, int attaining) {
    return static_cast<std::size_t>(count * kWeightsRow + kMostSmall + attaining);
}
inline constexpr std::size_t kWeightsSize = (kMostSmall + 1) * kWeightsRow;

// Integrals over the places that the points of groups first..end attain: over the box of each point
// (boxes[(g - first) * points + i]), or over all places (totals[g - first]).
struct GridIntegrals {
    References ref;
    const double* weights;
    double* boxes;            // or null
    double* totals;           // or null
    std::uint8_t* left_over;  // as in hypervolumes
};

template <typename Scalar>
struct KernelsOf {
    // Of the groups first..end.
    void (*rank_groups)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                        std::int32_t* ranks);
    void (*find_nondominated)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                              bool keep_weakly, std::uint8_t* nondominated);
    void (*advantages)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                       Weighting<Scalar> how, Scalar* advantages, std::int32_t* ranks);

    // Of sets of up to kMostInRows points; up to most_in_rows, a row of bits for each point is
    // quicker than sorting, with 3 objectives or more (the filter: 4). ranks, nondominated:
    // (points,), in full; rank_set returns the number of fronts.
    std::int32_t (*rank_set)(const Scalar* values, std::int32_t points, std::int32_t objectives,
                             std::uint64_t minimised, std::int32_t* ranks);
    void (*find_nondominated_of_set)(const Scalar* values, std::int32_t points,
                                     std::int32_t objectives, std::uint64_t minimised,
                                     bool keep_weakly, std::uint8_t* nondominated);
    // order: (points,), of up to kMostOrdered, worst first in one objective where more is better;
    // equal values in the order of the points.
    void (*order_set)(const Scalar* values, std::int32_t points, std::int32_t objectives,
                      std::int32_t objective, std::int32_t* order);
    // The groups first..end of a batch, each as a set.
    void (*rank_sets)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                      std::int32_t* ranks);
    void (*find_nondominated_of_sets)(Batch<Scalar> batch, std::int64_t first, std::int64_t end,
                                      bool keep_weakly, std::uint8_t* nondominated);

    // Of at most kMostGroupsMeasured groups of 2 to 4 objectives. left_over[g - first] says of a
    // group that it holds a value without a place in a volume, or sides whose products leave the
    // range of doubles: it is to be measured, scaled and passed to hypervolume_of_few.
    void (*hypervolumes)(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                         std::int64_t end, double* volumes, std::uint8_t* left_over);
    // Of at most kMostGroupsMeasured groups of 2 or 3 objectives.
    void (*integrate_grids)(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                            const GridIntegrals& how);

    // Of one large set: writes the indices of the points that no pivot dominates, and returns how
    // many there are.
    std::int32_t (*drop_dominated)(const Scalar* values, std::int32_t points,
                                   std::int32_t objectives, std::uint64_t minimised,
                                   const std::int32_t* pivots, int pivot_count,
                                   std::int32_t* survivors);
    // The same of 2 or 3 objectives, for the points first..end; some points with ties are kept,
    // too. pivots: (kPivots, objectives), as given.
    std::int32_t (*find_promising)(const Scalar* values, std::int32_t first, std::int32_t end,
                                   std::int32_t objectives, std::uint64_t minimised,
                                   const Scalar* pivots, std::int32_t* found);
    // Picks points of (count, objectives) that are good in as many mixtures of objectives.
    void (*pick_pivots)(const Scalar* sample, std::int32_t count, std::int32_t objectives,
                        std::uint64_t minimised, Scalar* pivots);

    std::int32_t most_in_rows;
};

// ---- One large set of distinct points, as dense codes: codes[objective][point], 0 is best ----

struct CodeColumns {
    const std::int32_t* const* codes;
    int objectives;  // at least 2
    std::int32_t points;
};

// ---- One set of sides, of any size: rows of distances from the reference, all positive ----

// Exact volumes; dominated rows and duplicates are fine. One serves one thread.
class HypervolumeKernel {
  public:
    virtual ~HypervolumeKernel();
    virtual std::size_t bytes() const = 0;  // of scratch
    virtual double of(const double* sides, std::size_t count, int objectives) = 0;
    // What `point` dominates that no row does.
    virtual double exclusive(const double* point, const double* sides, std::size_t count,
                             int objectives) = 0;
    // own[i] = what row i dominates that no other row does, for the rows `first` to `end` in the
    // order of the last objective.
    virtual void contributions(const double* sides, std::size_t count, int objectives,
                               std::size_t first, std::size_t end, double* own) = 0;
    // kept[i]: 1 unless a row is better than row i in one objective and nowhere worse.
    virtual void nondominated(const double* sides, std::size_t count, int objectives,
                              std::uint8_t* kept) = 0;
};

// The members of an archive: any finite points, larger is better, of which none covers another.
// `side`: the distances of a point from the reference, all positive; null where some are not.
class ArchiveMembers {
  public:
    virtual ~ArchiveMembers();
    virtual std::size_t size() const = 0;
    virtual bool covers(const double* point) const = 0;
    // What a point that no member covers would add to the volume.
    virtual double gain(const double* point, const double* side) = 0;
    // Such a point comes in, and those leave that it covers. `arrival` is larger than those before
    // and below 2^53. If memory runs out, nothing has changed.
    virtual void add(const double* point, const double* side, std::int64_t arrival) = 0;
    // rows: (size, objectives), arrivals: (size,), in the order of arrival.
    virtual void copy(double* rows, std::int64_t* arrivals) const = 0;
};

// ---- Keys of one set, to be sorted by ----

// Keys that the networks take: a word of 32 bits each, its position below what tells it apart.
inline constexpr std::size_t kMostInWords = 4096;
constexpr int bits_of_places(std::size_t size) {
    return size == 0 ? 0 : static_cast<int>(std::bit_width(size - 1));
}

struct KeyRange {
    std::uint64_t least, most;
    std::uint64_t differing;  // bits
    bool is_sorted;
};

// A packed key is the bits that count, 32 at most, above its index.
struct KeyKernels {
    // size: at least 1.
    KeyRange (*measure)(const std::uint64_t* keys, std::size_t size);
    // Up to most_in_words keys, packed and in order: by key - least without its lowest `dropped`
    // bits. What stays must fit a word beside bits_of_places(size).
    void (*sort)(const std::uint64_t* keys, std::size_t size, std::uint64_t least, int dropped,
                 std::uint64_t* packed);
    // The same of keys that are packed, in the order of their indices: by their lowest `bits`.
    void (*sort_packed)(const std::uint64_t* packed, std::size_t size, int bits,
                        std::uint64_t* sorted);
    // The first k >= from, for which packed keys k and k + 1 agree but for their indices, or size.
    std::size_t (*find_agreeing)(const std::uint64_t* packed, std::size_t size, std::size_t from);

    std::size_t most_in_words;  // up to which networks are quicker than counting
};

// ---- The table ----

struct Kernels {
    KernelsOf<float> of_floats;
    KernelsOf<double> of_doubles;
    double (*hypervolume_of_few)(const double* sides, std::size_t count, int objectives);
    void (*rank_distinct)(CodeColumns set, std::int32_t* ranks);
    void (*find_distinct_nondominated)(CodeColumns set, std::uint8_t* nondominated);
    HypervolumeKernel* (*new_hypervolume)(int objectives);
    ArchiveMembers* (*new_archive)(int objectives);
    // Points of groups of 2 or 3 objectives up to which lanes are quicker than sorting.
    std::int32_t most_ranked_in_lanes;
    std::int32_t most_filtered_in_lanes;
    KeyKernels of_keys;

    template <typename Scalar>
    const KernelsOf<Scalar>& of() const {
        if constexpr (sizeof(Scalar) == sizeof(float)) {
            return of_floats;
        } else {
            return of_doubles;
        }
    }
};

namespace portable {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}

}  // namespace paretopo::cpu
