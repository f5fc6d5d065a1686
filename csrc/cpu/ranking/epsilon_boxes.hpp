// The ε-box filter. CPU only, for arrays: for tensors, Python composes it from other calls.
#pragma once

#include <cstdint>

#include "batch.hpp"

namespace paretopo::cpu {

// kept: (groups, points), 1 for one point in each box that no other box dominates: the point
// nearest to the best corner of its box; among these the better one in the first objective that
// differs; then the first. sides: (objectives,), finite and above 0; up to 64 objectives.
template <typename Scalar>
void filter_boxes(Batch<Scalar> batch, const double* sides, std::uint8_t* kept);

}  // namespace paretopo::cpu
