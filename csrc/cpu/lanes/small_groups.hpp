// Ranks, filter and advantages of many small groups, one group per lane.
#pragma once

#include <cstdint>

#include "ops.hpp"

namespace paretopo::cpu {

// Can the lane kernels take groups of this shape?
constexpr bool fits_lanes(std::int32_t points, std::int32_t objectives) {
    return points >= 1 && points <= 64 && std::int64_t{points} * objectives <= 256;
}

// The groups first..end of a batch. Threads are the caller's: a lane file must not define anything
// that other files could end up using, and a standard container would.
#define PARETOPO_DECLARE_LANES(isa)                                                           \
    namespace isa {                                                                           \
    template <typename Scalar>                                                                \
    void rank_groups(Batch<Scalar> batch, std::int64_t first, std::int64_t end,               \
                     std::int32_t* ranks);                                                    \
    template <typename Scalar>                                                                \
    void filter_groups(Batch<Scalar> batch, std::int64_t first, std::int64_t end,             \
                       bool keep_weakly, std::uint8_t* chosen);                               \
    template <typename Scalar>                                                                \
    void advantage_of_groups(Batch<Scalar> batch, std::int64_t first, std::int64_t end,       \
                             Advantage<Scalar> how, Scalar* advantages, std::int32_t* ranks); \
    }
PARETOPO_DECLARE_LANES(portable)
PARETOPO_DECLARE_LANES(avx2)
PARETOPO_DECLARE_LANES(avx512)
#undef PARETOPO_DECLARE_LANES

}  // namespace paretopo::cpu
