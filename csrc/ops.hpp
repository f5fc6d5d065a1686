// The operations that run on the CPU and on a GPU. CPU-only operations are declared in the header
// of their family in a folder of cpu/. csrc/bindings/operations.cpp describes all of them for
// Python; the archive (cpu/archive/recorded_archive.hpp) has bindings of its own.
//
// The caller has checked shapes and owns all memory; outputs are written in full. CPU operations
// return when they are done; GPU operations return when they are queued.
#pragma once

#include <cstdint>
#include <string>

#include "batch.hpp"

namespace paretopo {

// The operations of cpu:: and of gpu::, declared below.
#define PARETOPO_OPERATIONS(OPERATION)   \
    OPERATION(pareto_rank)               \
    OPERATION(is_nondominated)           \
    OPERATION(crowding_distance)         \
    OPERATION(pareto_advantage)          \
    OPERATION(hypervolume)               \
    OPERATION(hypervolume_gradient)      \
    OPERATION(hypervolume_contributions) \
    OPERATION(expected_hypervolume)      \
    OPERATION(hypervolume_advantage)

// ---- On the CPU ----

namespace cpu {

// ranks: (groups, points), 0 is best.
template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks);

// nondominated: (groups, points), 1 for a point that no other dominates; of equal points only the
// first, unless keep_duplicates.
template <typename Scalar>
void is_nondominated(Batch<Scalar> batch, bool keep_duplicates, std::uint8_t* nondominated);

// ranks: (groups, points), the fronts; null: pareto_rank computes them. distances: (groups,
// points).
template <typename Scalar>
void crowding_distance(Batch<Scalar> batch, const std::int32_t* ranks, double* distances);

// advantages: (groups, points); ranks: (groups, points) or null. weights: (objectives + 1,), or
// (groups, objectives + 1) if per_group; the last is the magnitude at which rewards saturate, so
// that no sum overflows. See formulas/advantage.hpp.
template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, const double* weights, bool per_group, double beta,
                      Centre centre, Scalar* advantages, std::int32_t* ranks);

// The hypervolume operations return the flat index of the first value that they refuse (NaN, or
// infinity on the better side), or kNoneRefused. ref: (objectives,).
template <typename Scalar>
std::int64_t hypervolume(Batch<Scalar> batch, const double* ref, double* volumes);

// gradient: (groups, points, objectives), the derivative of the hypervolume with respect to each
// value. wanted: (groups, points), 0 for points whose derivatives are not needed and are set to 0,
// such as the points of a fixed front; null: all are needed.
template <typename Scalar>
std::int64_t hypervolume_gradient(Batch<Scalar> batch, const double* ref,
                                  const std::uint8_t* wanted, double* gradient);

template <typename Scalar>
std::int64_t hypervolume_contributions(Batch<Scalar> batch, const double* ref,
                                       bool ignore_dominated, double* contributions);

// gains: (groups,); the hypervolume that the last point of each group adds to the others.
template <typename Scalar>
std::int64_t hypervolume_gain(Batch<Scalar> batch, const double* ref, double* gains);

// volumes: (groups,); the expected hypervolume of k points of each group, or of the whole group if
// it has fewer; see formulas/attainment.hpp. ref: (objectives,), or (groups, objectives) if
// per_group.
template <typename Scalar>
std::int64_t expected_hypervolume(Batch<Scalar> batch, const double* ref, bool per_group,
                                  std::int32_t k, double* volumes);

// advantages: (groups, points); see formulas/marginals.hpp.
template <typename Scalar>
std::int64_t hypervolume_advantage(Batch<Scalar> batch, const double* ref, bool per_group,
                                   std::int32_t k, Centre centre, Scalar* advantages);

}  // namespace cpu

// ---- On a GPU. Operations never synchronise and never allocate: the caller owns all memory. ----

// Work is queued on `stream` of `device`.
struct Cuda {
    int device;
    void* stream;
    char* scratch;  // <operation>_scratch bytes, aligned to 16
};

// The same algorithms on the CPU, one lane after another, so that GPU code is tested without a GPU.
// `mapping` chooses the algorithm for small sets.
enum class Mapping : int { kWarp, kThread, kBlock, kGrid };
inline constexpr const char* kMappingNames[] = {"warp", "thread", "block", "grid"};
struct Emulated {
    Mapping mapping;
    char* scratch;
};

namespace cuda {

bool is_compiled();
int device_count();             // 0 without a driver
int device_of(const void* at);  // the device that owns the address; the current device for null
std::string driver_needed();  // the drivers that this build runs on; empty in a build without CUDA

}  // namespace cuda

namespace gpu {

// Bytes of scratch that an operation needs.
#define PARETOPO_DECLARE_SCRATCH(operation)    \
    template <typename Place, typename Scalar> \
    std::int64_t operation##_scratch(Place place, Batch<Scalar> batch);
PARETOPO_OPERATIONS(PARETOPO_DECLARE_SCRATCH)
#undef PARETOPO_DECLARE_SCRATCH

template <typename Place, typename Scalar>
void pareto_rank(Place place, Batch<Scalar> batch, std::int32_t* ranks);

template <typename Place, typename Scalar>
void is_nondominated(Place place, Batch<Scalar> batch, bool keep_duplicates,
                     std::uint8_t* nondominated);

template <typename Place, typename Scalar>
void crowding_distance(Place place, Batch<Scalar> batch, const std::int32_t* ranks,
                       double* distances);

// A single row of weights is in host memory, weights per group are on the device; `ranks` may be
// null.
template <typename Place, typename Scalar>
void pareto_advantage(Place place, Batch<Scalar> batch, const double* weights, bool per_group,
                      double beta, Centre centre, Scalar* advantages, std::int32_t* ranks);

// ref is in host memory. If the CPU would refuse a value of a set, the set's volume, contributions
// and gradient are NaN: reporting an index to the host would make it wait.
template <typename Place, typename Scalar>
void hypervolume(Place place, Batch<Scalar> batch, const double* ref, double* volumes);

template <typename Place, typename Scalar>
void hypervolume_gradient(Place place, Batch<Scalar> batch, const double* ref,
                          const std::uint8_t* wanted, double* gradient);

template <typename Place, typename Scalar>
void hypervolume_contributions(Place place, Batch<Scalar> batch, const double* ref,
                               bool ignore_dominated, double* contributions);

// A single reference is in host memory, references per group are on the device.
template <typename Place, typename Scalar>
void expected_hypervolume(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                          std::int32_t k, double* volumes);

template <typename Place, typename Scalar>
void hypervolume_advantage(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                           std::int32_t k, Centre centre, Scalar* advantages);

}  // namespace gpu
}  // namespace paretopo
