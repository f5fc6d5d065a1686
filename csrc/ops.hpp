// The compiled core: the operations that run on the CPU and on a GPU. CPU-only ones are declared in
// the header of their family in a room of cpu/. csrc/bindings/operations.cpp describes all of them
// for Python, which also has the archive (cpu/archive/recorded_archive.hpp).
//
// The caller has checked shapes and owns all memory; outputs are written in full. Operations on the
// CPU return when they are done; operations on a GPU return when they are queued.
#pragma once

#include <cstdint>
#include <string>

#include "batch.hpp"

namespace paretopo {

// The operations of cpu:: and of gpu::, declared here.
#define PARETOPO_OPERATIONS(OPERATION) \
    OPERATION(pareto_rank)             \
    OPERATION(is_nondominated)         \
    OPERATION(crowding_distance)       \
    OPERATION(pareto_advantage)        \
    OPERATION(hypervolume)             \
    OPERATION(hypervolume_gradient)    \
    OPERATION(hv_contributions)        \
    OPERATION(expected_hypervolume)    \
    OPERATION(hypervolume_advantage)

// ---- On the CPU ----

namespace cpu {

// ranks: (groups, points), 0 is best.
template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks);

// nondominated: (groups, points), 1 for a point nobody dominates; of equal points only the first,
// unless keep_weakly.
template <typename Scalar>
void is_nondominated(Batch<Scalar> batch, bool keep_weakly, std::uint8_t* nondominated);

// ranks: (groups, points), the fronts; null: those of pareto_rank. distances: (groups, points).
template <typename Scalar>
void crowding_distance(Batch<Scalar> batch, const std::int32_t* ranks, double* distances);

// advantages: (groups, points); ranks: (groups, points) or null. weights: (objectives + 1,), or
// (groups, objectives + 1) if per_group; the last is the reward beyond which rewards saturate, so
// that no sum overflows. See formulas/advantage.hpp.
template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, const double* weights, bool per_group, double beta,
                      Centre centre, Scalar* advantages, std::int32_t* ranks);

// The hypervolume operations return the flat index of the first value they refuse (NaN, or
// infinity on the better side), or kNoneRefused. ref: (objectives,).
template <typename Scalar>
std::int64_t hypervolume(Batch<Scalar> batch, const double* ref, double* volumes);

// gradient: (groups, points, objectives), what the hypervolume gains for each unit of a value.
// wanted: (groups, points), 0 for points whose slopes are not asked for and are then 0, as of new
// points before a fixed front; null: all are.
template <typename Scalar>
std::int64_t hypervolume_gradient(Batch<Scalar> batch, const double* ref,
                                  const std::uint8_t* wanted, double* gradient);

template <typename Scalar>
std::int64_t hv_contributions(Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                              double* contributions);

// gains: (groups,); what the last point of each group adds to the hypervolume of the others.
template <typename Scalar>
std::int64_t hypervolume_gain(Batch<Scalar> batch, const double* ref, double* gains);

// volumes: (groups,); the expected hypervolume of k points of each group, or of all it has if these
// are fewer; see formulas/attainment.hpp. ref: (objectives,), or (groups, objectives) if per_group.
template <typename Scalar>
std::int64_t expected_hypervolume(Batch<Scalar> batch, const double* ref, bool per_group,
                                  std::int32_t k, double* volumes);

// advantages: (groups, points); see formulas/marginals.hpp.
template <typename Scalar>
std::int64_t hypervolume_advantage(Batch<Scalar> batch, const double* ref, bool per_group,
                                   std::int32_t k, Centre centre, Scalar* advantages);

}  // namespace cpu

// ---- On a GPU. Nothing waits, nothing is allocated: all memory is the caller's. ----

// Work is queued on `stream` of `device`.
struct Cuda {
    int device;
    void* stream;
    char* scratch;  // as many bytes as <operation>_scratch says, aligned to 16
};

// The same algorithms on the CPU, lane after lane: what runs on a GPU is tested without one.
// `mapping` chooses which of them do small sets, too.
enum class Mapping : int { kWarp, kThread, kBlock, kGrid };
inline constexpr const char* kMappingNames[] = {"warp", "thread", "block", "grid"};
struct Emulated {
    Mapping mapping;
    char* scratch;
};

namespace cuda {

bool is_compiled();
int device_count();             // 0 without a driver
int device_of(const void* at);  // the device whose memory that is; the current one for null
std::string driver_needed();    // what drivers this build runs on; empty in a build without CUDA

}  // namespace cuda

namespace gpu {

// Bytes of scratch that an operation takes.
#define PARETOPO_DECLARE_SCRATCH(operation)    \
    template <typename Place, typename Scalar> \
    std::int64_t operation##_scratch(Place place, Batch<Scalar> batch);
PARETOPO_OPERATIONS(PARETOPO_DECLARE_SCRATCH)
#undef PARETOPO_DECLARE_SCRATCH

template <typename Place, typename Scalar>
void pareto_rank(Place place, Batch<Scalar> batch, std::int32_t* ranks);

template <typename Place, typename Scalar>
void is_nondominated(Place place, Batch<Scalar> batch, bool keep_weakly,
                     std::uint8_t* nondominated);

template <typename Place, typename Scalar>
void crowding_distance(Place place, Batch<Scalar> batch, const std::int32_t* ranks,
                       double* distances);

// One row of weights is in host memory, those of the groups beside the rewards; `ranks` may be
// null.
template <typename Place, typename Scalar>
void pareto_advantage(Place place, Batch<Scalar> batch, const double* weights, bool per_group,
                      double beta, Centre centre, Scalar* advantages, std::int32_t* ranks);

// ref is in host memory. A set with a value that the CPU refuses has the volume NaN, and so have
// its contributions and its gradient: telling the host would make it wait.
template <typename Place, typename Scalar>
void hypervolume(Place place, Batch<Scalar> batch, const double* ref, double* volumes);

template <typename Place, typename Scalar>
void hypervolume_gradient(Place place, Batch<Scalar> batch, const double* ref,
                          const std::uint8_t* wanted, double* gradient);

template <typename Place, typename Scalar>
void hv_contributions(Place place, Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                      double* contributions);

// A single reference is in host memory, those of the groups beside the points.
template <typename Place, typename Scalar>
void expected_hypervolume(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                          std::int32_t k, double* volumes);

template <typename Place, typename Scalar>
void hypervolume_advantage(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                           std::int32_t k, Centre centre, Scalar* advantages);

}  // namespace gpu
}  // namespace paretopo
