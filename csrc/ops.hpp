// The compiled core, complete: every operation, on the CPU and on CUDA.
//
// The caller has checked shapes and owns all memory; outputs are written in full. Operations on the
// CPU return when they are done; operations on CUDA return when they are queued on `stream`.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

// A contiguous batch of groups of points: `values` has shape (groups, points, objectives).
template <typename Scalar>
struct Batch {
    const Scalar* values;
    const std::uint8_t* mask;  // (groups, points), 0 marks padding; null: every point counts
    std::int64_t groups;
    std::int32_t points;
    std::int32_t objectives;
    std::uint64_t minimised;  // bit m: smaller is better in objective m; otherwise larger

    PARETOPO_HD const Scalar* group(std::int64_t g) const {
        return values + g * points * objectives;
    }
    PARETOPO_HD const std::uint8_t* group_mask(std::int64_t g) const {
        return mask ? mask + g * points : nullptr;
    }
    PARETOPO_HD bool is_minimised(int objective) const {
        return objective < 64 && (minimised >> objective & 1) != 0;
    }
    bool is_empty() const { return groups == 0 || points == 0; }
};

enum class Center : std::int32_t { kNone = 0, kMean = 1, kStd = 2, kLoo = 3 };

// How ranks become advantages; see group/advantage.hpp.
template <typename Scalar>
struct Advantage {
    const Scalar* weights;  // (objectives,), beside the batch
    Scalar largest;         // rewards beyond it saturate, so that no sum overflows
    Scalar beta;
    Center center;
};

inline constexpr std::int32_t kUnranked = -1;  // the rank of a masked point
inline constexpr std::int64_t kNoneRefused = -1;

namespace cpu {

void set_threads(int threads);
int threads();

// ranks: (groups, points), 0 is best.
template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks);

// chosen: (groups, points), 1 for a point nobody dominates.
template <typename Scalar>
void is_nondominated(Batch<Scalar> batch, bool keep_weakly, std::uint8_t* chosen);

// distances: (groups, points).
template <typename Scalar>
void crowding_distance(Batch<Scalar> batch, double* distances);

// advantages: (groups, points); ranks: (groups, points) or null.
template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                      std::int32_t* ranks);

// The algorithm of cuda::pareto_advantage, emulated with `lanes` lanes: for tests.
template <typename Scalar>
void pareto_advantage_by_lanes(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                               std::int32_t* ranks, Scalar* uncentred, int lanes);

// The three hypervolume operations return the flat index of the first value they refuse (NaN, or
// infinity on the better side), or kNoneRefused. ref: (objectives,).
template <typename Scalar>
std::int64_t hypervolume(Batch<Scalar> batch, const double* ref, double* volumes);

template <typename Scalar>
std::int64_t hv_contributions(Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                              double* contributions);

// gains: (groups,); what the last point of each group adds to the hypervolume of the others.
template <typename Scalar>
std::int64_t hv_gain(Batch<Scalar> batch, const double* ref, double* gains);

}  // namespace cpu

namespace cuda {

bool is_compiled();
int device_count();  // 0 without a driver

template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks, int device, void* stream);

// Here `ranks` must not be null; scratch: (groups, points).
template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                      std::int32_t* ranks, Scalar* scratch, int device, void* stream);

}  // namespace cuda
}  // namespace paretopo
