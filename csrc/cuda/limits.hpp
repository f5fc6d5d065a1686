// How large a launch may be, and from where on another one is chosen. Apart from the launcher, so
// that tests on the PTX machine have their own (tests/ptx_machine/cuda/limits.hpp).
#pragma once

#include <cstdint>

#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo {
namespace cuda {

inline constexpr std::int64_t kMostBlocks = 1 << 22;  // of independent jobs; they stride over more
inline constexpr std::int64_t kMostRows = 65535;      // of a grid, in the y direction

}  // namespace cuda

inline gpu::Limits limits_of(const Cuda&) { return {}; }

}  // namespace paretopo
