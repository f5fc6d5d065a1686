// Ranks and filter of one large set with 4 objectives or more, and a quick way to thin out a set.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/dense_codes.hpp"

namespace paretopo::cpu {

#define PARETOPO_DECLARE_LANES(isa)                                                             \
    namespace isa {                                                                             \
    void rank_many(const SortedCodes& sorted, std::vector<std::int32_t>& ranks);                \
    void filter_many(const SortedCodes& sorted, std::vector<std::uint8_t>& chosen);             \
    template <typename Scalar>                                                                  \
    std::int32_t thin_out(const Scalar* values, std::int32_t points, std::int32_t objectives,   \
                          std::uint64_t minimised, const std::int32_t* pivots, int pivot_count, \
                          std::int32_t* survivors);                                             \
    }
PARETOPO_DECLARE_LANES(portable)
PARETOPO_DECLARE_LANES(avx2)
PARETOPO_DECLARE_LANES(avx512)
#undef PARETOPO_DECLARE_LANES

}  // namespace paretopo::cpu
