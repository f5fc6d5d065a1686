// Hypervolumes of many small sets: one set per lane, csrc/cpu/lanes/small_sets.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops.hpp"

namespace paretopo::cpu {

inline constexpr std::int32_t kMostSmall = 32;       // points
inline constexpr std::int64_t kFewestGroupsOf4 = 4;  // with fewer, empty lanes cost too much

template <typename Scalar>
bool fits_small_sets(const Batch<Scalar>& batch) {
    if (batch.points < 1 || batch.points > kMostSmall) return false;
    return batch.objectives == 2 || batch.objectives == 3 ||
           (batch.objectives == 4 && batch.groups >= kFewestGroupsOf4);
}

// volumes[g] for the groups `first` to `end`, at most kSmallPart of them. left_over[g - first] says
// of a group that it holds a value without a place in a volume, or sides whose products leave the
// range of doubles: it is to be measured, scaled and passed to small_volume_of.
inline constexpr std::int64_t kSmallPart = 256;
template <typename Scalar>
void small_volumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                   std::int64_t end, double* volumes, std::uint8_t* left_over);
double small_volume_of(const double* sides, std::size_t count, int objectives);

#define PARETOPO_DECLARE_SMALL_SETS(lanes)                                                \
    namespace lanes {                                                                     \
    template <typename Scalar>                                                            \
    void small_volumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first, \
                       std::int64_t end, double* volumes, std::uint8_t* left_over);       \
    double small_volume_of(const double* sides, std::size_t count, int objectives);       \
    }
PARETOPO_DECLARE_SMALL_SETS(portable)
PARETOPO_DECLARE_SMALL_SETS(avx2)
PARETOPO_DECLARE_SMALL_SETS(avx512)
#undef PARETOPO_DECLARE_SMALL_SETS

}  // namespace paretopo::cpu
