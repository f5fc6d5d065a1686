// The vector kernels that measure volumes. A file of lanes/volume/ defines each table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "batch.hpp"
#include "cpu/tuning/volume.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu {

// ---- Small groups: one group per lane ----

inline constexpr std::int64_t kMaxGroupsMeasured = 256;  // per call

// hypervolume_of_groups.cpp
template <typename Scalar>
struct GroupVolumeKernels {
    // Measures groups of 2 to 4 objectives. left_over[g - first] marks a group with a refused
    // value, or with sides whose products leave the range of doubles: it must be measured, scaled
    // and passed to of_few.
    void (*measure)(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                    std::int64_t end, double* volumes, std::uint8_t* left_over);
    // One set of up to kMaxMeasuredInLane sides of 2 to 4 objectives.
    double (*of_few)(const double* sides, std::size_t count, int objectives);
};

// The weights of cells, by the number of present points and the number that attain a cell. Ties
// make the lanes' counts negative along rows of height 0, so rows have room below 0.
inline constexpr int kWeightsRow = 2 * kMaxMeasuredInLane + 8;
constexpr std::size_t weights_at(int count, int attaining) {
    return static_cast<std::size_t>(count * kWeightsRow + kMaxMeasuredInLane + attaining);
}
inline constexpr std::size_t kWeightsSize = (kMaxMeasuredInLane + 1) * kWeightsRow;

// Integrals over the region that the points of groups first..end attain: over the box of each point
// (boxes[(g - first) * points + i]), or over the whole region (totals[g - first]).
struct GridIntegrals {
    References ref;
    const double* weights;
    double* boxes;            // or null
    double* totals;           // or null
    std::uint8_t* left_over;  // as in GroupVolumeKernels
};

// For groups of 2 or 3 objectives: expected_hypervolume_of_groups.cpp.
template <typename Scalar>
struct GridKernels {
    void (*integrate)(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                      const GridIntegrals& how);
};

// ---- One set of sides, of any size: rows of distances from the reference, all positive ----

// Exact volumes; dominated rows and duplicates are allowed. Not thread-safe: one per thread.
class HypervolumeKernel {
  public:
    virtual ~HypervolumeKernel();
    virtual std::size_t bytes() const = 0;  // of scratch
    virtual double of(const double* sides, std::size_t count, int objectives) = 0;
    // The volume that `point` dominates and no row does.
    virtual double exclusive(const double* point, const double* sides, std::size_t count,
                             int objectives) = 0;
    // own[i]: the volume that row i dominates and no other row does, for the rows `first` to `end`
    // in the order of the last objective.
    virtual void contributions(const double* sides, std::size_t count, int objectives,
                               std::size_t first, std::size_t end, double* own) = 0;
    // kept[i]: 0 if a row is better than row i in one objective and worse in none, else 1.
    virtual void nondominated(const double* sides, std::size_t count, int objectives,
                              std::uint8_t* kept) = 0;
};

struct SetVolumeKernels {
    HypervolumeKernel* (*make)(int objectives);  // hypervolume_slices.cpp
};

// The members of an archive: finite points, larger is better, that do not cover each other. `side`:
// the distances of a point from the reference, all positive; null if some are not.
class ArchiveMembers {
  public:
    // Receives the arrival of each member that leaves.
    struct Departures {
        void (*leave)(void* owner, std::int64_t arrival);
        void* owner;
    };

    virtual ~ArchiveMembers();
    virtual std::size_t size() const = 0;
    virtual bool covers(const double* point) const = 0;
    // The volume that a point would add, given that no member covers it.
    virtual double gain(const double* point, const double* side) = 0;
    // Adds such a point and removes the members that it covers. `arrival` exceeds all earlier ones
    // and is below 2^53. If memory runs out, nothing changes.
    virtual void add(const double* point, const double* side, std::int64_t arrival,
                     Departures departures) = 0;
    // rows: (size, objectives), arrivals: (size,), in the order of arrival.
    virtual void copy(double* rows, std::int64_t* arrivals) const = 0;
};

struct ArchiveKernels {
    ArchiveMembers* (*make)(int objectives);  // archive.cpp
};

}  // namespace paretopo::cpu
