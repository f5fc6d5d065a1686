// One set of up to 256 points after the other, of any number of objectives: a point per lane, and
// for each point a row with a bit for every other.
#pragma once

#include <cstdint>

#include "ops.hpp"

namespace paretopo::cpu {

inline constexpr int kMostInRows = 256;

// Up to here a row of bits beats sorting, with as many objectives.
constexpr std::int32_t most_in_rows(std::int32_t objectives) {
    return objectives == 1 ? 64 : objectives == 2 ? 64 : objectives == 3 ? 128 : kMostInRows;
}

#define PARETOPO_DECLARE_LANES(isa)                                                               \
    namespace isa {                                                                               \
    /* ranks: (points,). Returns the number of fronts. */                                         \
    template <typename Scalar>                                                                    \
    std::int32_t rank_set(const Scalar* values, std::int32_t points, std::int32_t objectives,     \
                          std::uint64_t minimised, std::int32_t* ranks);                          \
    template <typename Scalar>                                                                    \
    void filter_set(const Scalar* values, std::int32_t points, std::int32_t objectives,           \
                    std::uint64_t minimised, bool keep_weakly, std::uint8_t* chosen);             \
    /* order: (points,), up to 64, worst first in one objective, where more is better; equal      \
       values in the order of the points. */                                                      \
    template <typename Scalar>                                                                    \
    void order_set(const Scalar* values, std::int32_t points, std::int32_t objectives,            \
                   std::int32_t objective, std::int32_t* order);                                  \
    /* The groups first..end of a batch. */                                                       \
    template <typename Scalar>                                                                    \
    void rank_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end,                     \
                   std::int32_t* ranks);                                                          \
    template <typename Scalar>                                                                    \
    void filter_sets(Batch<Scalar> batch, std::int64_t first, std::int64_t end, bool keep_weakly, \
                     std::uint8_t* chosen);                                                       \
    }
PARETOPO_DECLARE_LANES(portable)
PARETOPO_DECLARE_LANES(avx2)
PARETOPO_DECLARE_LANES(avx512)
#undef PARETOPO_DECLARE_LANES

}  // namespace paretopo::cpu
