// Launch size limits, and the sizes at which another kernel is chosen.
#pragma once

#include <cstdint>

#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo {
namespace cuda {

std::int64_t max_blocks();  // of independent jobs; they stride over more
std::int64_t max_rows();    // of a grid, in the y direction

}  // namespace cuda

gpu::Limits limits_of(const Cuda&);

}  // namespace paretopo
