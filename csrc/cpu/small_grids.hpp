// Integrals over the places that the points of small groups attain: one group per lane,
// csrc/cpu/lanes/small_grids.cpp. The same bits as group/attainment.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/small_sets.hpp"
#include "ops.hpp"

namespace paretopo::cpu {

inline constexpr std::int64_t kGridPart = 64;  // groups measured by one call, at most

// Weights by how many points count and how many of them attain a place. Where points tie, the lanes
// count below 0 along rows of no height.
inline constexpr int kWeightsRow = 2 * kMostSmall + 8;
constexpr std::size_t weights_at(int count, int attaining) {
    return static_cast<std::size_t>(count * kWeightsRow + kMostSmall + attaining);
}
inline constexpr std::size_t kWeightsSize = (kMostSmall + 1) * kWeightsRow;

// For the groups `first` to `end` of 2 or 3 objectives: over the box of each point
// (boxes[(g - first) * points + i]), or over all places (totals[g - first]). left_over as in
// small_volumes.
struct SmallGrids {
    References ref;
    const double* weights;
    double* boxes;   // or null
    double* totals;  // or null
    std::uint8_t* left_over;
};

#define PARETOPO_DECLARE_SMALL_GRIDS(lanes)                                              \
    namespace lanes {                                                                    \
    template <typename Scalar>                                                           \
    void measure_grids(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end, \
                       const SmallGrids& how);                                           \
    }
PARETOPO_DECLARE_SMALL_GRIDS(portable)
PARETOPO_DECLARE_SMALL_GRIDS(avx2)
PARETOPO_DECLARE_SMALL_GRIDS(avx512)
#undef PARETOPO_DECLARE_SMALL_GRIDS

}  // namespace paretopo::cpu
