// The filter of boxes. On the CPU alone, for arrays: Python composes it of other calls for what is
// not one.
#pragma once

#include <cstdint>

#include "batch.hpp"

namespace paretopo::cpu {

// kept: (groups, points), 1 for one point in each box that no other's box dominates: the nearest to
// the best corner of its box; of these the better one in the first objective that differs; then the
// first. sides: (objectives,), finite and above 0; up to 64 objectives.
template <typename Scalar>
void filter_boxes(Batch<Scalar> batch, const double* sides, std::uint8_t* kept);

}  // namespace paretopo::cpu
