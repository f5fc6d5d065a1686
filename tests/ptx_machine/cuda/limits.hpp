// In the place of csrc/cuda/limits.hpp where the PTX machine is the device: tests choose the
// bounds, and few blocks share the work, so that each has several jobs one after the other.
#pragma once

#include <cstdint>

#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo {
namespace cuda {

inline int mapping_of_tests = -1;  // those of a device

inline constexpr std::int64_t kMostBlocks = 3;
inline constexpr std::int64_t kMostRows = 2;

}  // namespace cuda

inline gpu::Limits limits_of(const Cuda&) {
    if (cuda::mapping_of_tests < 0) return {};
    return gpu::limits_for(static_cast<Mapping>(cuda::mapping_of_tests), gpu::kWarpLanes + 2);
}

}  // namespace paretopo
