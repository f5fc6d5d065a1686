// A quick pass over one large set of 2 or 3 objectives: which points may be non-dominated?
#pragma once

#include <cstdint>

namespace paretopo::cpu {

// Points that the pass compares all others with.
inline constexpr int kPivots = 8;

#define PARETOPO_DECLARE_LANES(isa)                                                                \
    namespace isa {                                                                                \
    /* pivots: (kPivots, objectives), as given. Writes the indices of the points of first..end     \
       that no pivot dominates, but for some with ties; returns how many there are. */             \
    template <typename Scalar>                                                                     \
    std::int32_t promising(const Scalar* values, std::int32_t first, std::int32_t end,             \
                           std::int32_t objectives, std::uint64_t minimised, const Scalar* pivots, \
                           std::int32_t* found);                                                   \
    /* Picks points of (count, objectives) that are good in as many mixtures of objectives. */     \
    template <typename Scalar>                                                                     \
    void pick_pivots(const Scalar* sample, std::int32_t count, std::int32_t objectives,            \
                     std::uint64_t minimised, Scalar* pivots);                                     \
    }
PARETOPO_DECLARE_LANES(portable)
PARETOPO_DECLARE_LANES(avx2)
PARETOPO_DECLARE_LANES(avx512)
#undef PARETOPO_DECLARE_LANES

}  // namespace paretopo::cpu
