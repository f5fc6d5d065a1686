// The derivative of the hypervolume for chosen points only, as of a few new points before a fixed
// front. 2 and 3 objectives: O(n log n) for all points, O(n) for each of a few. From 4 objectives:
// for each chosen point and objective the gain of one point in a set of one objective less.
#pragma once

#include <cstdint>

#include "ops.hpp"

namespace paretopo::cpu {

// wanted: (groups, points), 0 where the slopes are not asked for, which are 0 then; null: all are.
// Otherwise as hypervolume_gradient in ops.hpp, with the same bits.
template <typename Scalar>
std::int64_t hypervolume_gradient(Batch<Scalar> batch, const double* ref,
                                  const std::uint8_t* wanted, double* gradient);

}  // namespace paretopo::cpu
