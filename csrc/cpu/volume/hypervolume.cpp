#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/lanes/isa.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/runtime/compacted.hpp"
#include "cpu/runtime/for_each_group.hpp"
#include "cpu/runtime/thread_scratch.hpp"
#include "cpu/volume/dimension_sweep.hpp"
#include "cpu/volume/hypervolume_of_sides.hpp"
#include "cpu/volume/sides.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
bool fits_small_sets(const Batch<Scalar>& batch) {
    if (batch.points < 1 || batch.points > kMaxMeasuredInLane) return false;
    return batch.objectives == 2 || batch.objectives == 3 ||
           (batch.objectives == 4 && batch.groups >= kMinMeasuredOf4);
}

// One set per lane; sets that the lanes leave over are measured one by one.
template <typename Scalar>
std::int64_t small_hypervolumes(const Batch<Scalar>& batch, const double* ref, double* volumes) {
    FirstRefused refused;
    // One set fills only one lane: the narrowest vectors waste least, and all give the same result.
    const auto of_one = kernels(Isa::kPortable).group_volumes.of<Scalar>().of_few;
    const auto work = [=, &refused, sides = Sides()](std::int64_t part) mutable {
        const std::int64_t first = part * kMaxGroupsMeasured;
        const std::int64_t end = std::min(first + kMaxGroupsMeasured, batch.groups);
        std::array<std::uint8_t, kMaxGroupsMeasured> left_over;
        kernels().group_volumes.of<Scalar>().measure(batch, ref, first, end, volumes,
                                                     left_over.data());
        for (std::int64_t g = first; g < end; ++g) {
            if (left_over[static_cast<std::size_t>(g - first)] == 0) continue;
            if (refused.note(batch, g, sides.measure(batch, g, ref))) continue;
            volumes[g] = std::ldexp(of_one(sides.values.data(), sides.count, batch.objectives),
                                    sides.exponent);
        }
    };
    const double cost = 10.0 * batch.points * (batch.objectives - 1) * kMaxGroupsMeasured;
    for_each_group((batch.groups + kMaxGroupsMeasured - 1) / kMaxGroupsMeasured, cost, work);
    return refused.index();
}

}  // namespace

template <typename Scalar>
std::int64_t hypervolume(Batch<Scalar> batch, const double* ref, double* volumes) {
    if (fits_small_sets(batch)) return small_hypervolumes(batch, ref, volumes);
    if (Compacted<Scalar> few; batch.groups > 1 && few.take(batch, 0, batch.groups)) {
        const std::int64_t refused = hypervolume(few.batch(), ref, volumes);
        return refused == kNoneRefused ? refused : few.origin(refused);
    }
    FirstRefused refused;
    const auto work = [=, &refused, sides = ThreadScratch<Sides>(),
                       sweep = ThreadScratch<DimensionSweep>(),
                       volume = HypervolumeOfSides(batch.objectives)](std::int64_t g) mutable {
        if (refused.note(batch, g, sides->measure(batch, g, ref))) return;
        double own = 0.0;
        if (batch.objectives == 2 && sides->count > kMaxCountedInSweep) {
            own = sweep->volume_2d(sides->values.data(), sides->count);
        } else if (batch.objectives == 3 && sides->count > kMaxCountedInSweep) {
            own = sweep->volume_3d(sides->values.data(), sides->count);
        } else {
            own = volume.of(sides->values.data(), sides->count);
        }
        volumes[g] = sides->exponent == 0 ? own : std::ldexp(own, sides->exponent);
    };
    for_each_group(batch.groups, volume_cost(batch.points, batch.objectives), work);
    return refused.index();
}

template <typename Scalar>
std::int64_t hypervolume_gain(Batch<Scalar> batch, const double* ref, double* gains) {
    FirstRefused refused;
    const auto work = [=, &refused, sides = Sides(),
                       volume = HypervolumeOfSides(batch.objectives)](std::int64_t g) mutable {
        if (refused.note(batch, g, sides.measure(batch, g, ref))) return;
        gains[g] = 0.0;
        const bool is_inside = sides.count > 0 && sides.index[sides.count - 1] == batch.points - 1;
        if (!is_inside) return;
        const std::size_t last = (sides.count - 1) * static_cast<std::size_t>(batch.objectives);
        gains[g] = std::ldexp(
            volume.exclusive(sides.values.data() + last, sides.values.data(), sides.count - 1),
            sides.exponent);
    };
    for_each_group(batch.groups, volume_cost(batch.points, batch.objectives), work);
    return refused.index();
}

template std::int64_t hypervolume(Batch<float>, const double*, double*);
template std::int64_t hypervolume(Batch<double>, const double*, double*);
template std::int64_t hypervolume_gain(Batch<float>, const double*, double*);
template std::int64_t hypervolume_gain(Batch<double>, const double*, double*);

}  // namespace paretopo::cpu
