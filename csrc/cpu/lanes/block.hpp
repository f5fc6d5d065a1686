// A block of groups, one per lane: reading it into columns, and writing columns back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/lanes/simd.hpp"
#include "ops.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Points a group may have here: one bit each in at most two words of a lane.
inline constexpr int kMostPoints = 64;
// Values a group may have here, so that a block stays in the first-level cache.
inline constexpr int kMostValues = 256;

// columns[c], lane g: value c of group g. Reads whole vectors, so up to kLanes - 1 values beyond
// the last group; `last` says that nothing lies there, then the block is copied first.
template <typename Scalar>
PARETOPO_INLINE void read_columns(const Scalar* values, int width, int groups, bool last,
                                  typename Lanes<Scalar>::F* columns) {
    using V = Lanes<Scalar>;
    constexpr int kLanes = V::kLanes;
    alignas(kVectorBytes) Scalar copy[kLanes * kMostValues + kLanes];
    if (last) {
        std::memcpy(copy, values, sizeof(Scalar) * static_cast<std::size_t>(groups * width));
        std::fill(copy + groups * width, copy + kLanes * width + kLanes, Scalar(0));
        values = copy;
    } else {
        constexpr int kAhead = 2048;  // bytes; worth up to a factor of two from main memory
        const char* next = reinterpret_cast<const char*>(values) + kAhead;
        const int bytes = kLanes * width * static_cast<int>(sizeof(Scalar));
        for (int b = 0; b < bytes; b += 64) __builtin_prefetch(next + b);
    }
    for (int first = 0; first < width; first += kLanes) {
        typename V::F rows[kLanes];
#pragma GCC unroll 16
        for (int g = 0; g < kLanes; ++g) rows[g] = V::load(values + g * width + first);
        transpose<Scalar>(rows);
        const int count = std::min(kLanes, width - first);
        if (count == kLanes) {
#pragma GCC unroll 16
            for (int c = 0; c < kLanes; ++c) columns[first + c] = rows[c];
        } else {
            for (int c = 0; c < count; ++c) columns[first + c] = rows[c];
        }
    }
}

// values[g * width + c] = lane g of columns[c], for `groups` groups. `columns` is used up.
template <typename Scalar>
PARETOPO_INLINE void write_columns(typename Lanes<Scalar>::F* columns, int width, int groups,
                                   Scalar* values) {
    using V = Lanes<Scalar>;
    constexpr int kLanes = V::kLanes;
    alignas(kVectorBytes) Scalar rows[kLanes * kMostPoints];
    const bool is_power = (width & (width - 1)) == 0;
    if (is_power) {
        // Rotating the address left once for each bit of the column makes it group-major.
        typename V::F turned[kMostPoints];
        for (int round = 1; round < width; round *= 2) {
            for (int c = 0; c < width / 2; ++c) {
                turned[2 * c] = V::zip_first(columns[c], columns[c + width / 2]);
                turned[2 * c + 1] = V::zip_second(columns[c], columns[c + width / 2]);
            }
            std::copy_n(turned, width, columns);
        }
        if (groups == kLanes) {
            for (int c = 0; c < width; ++c) V::store(values + c * kLanes, columns[c]);
            return;
        }
        for (int c = 0; c < width; ++c) V::store(rows + c * kLanes, columns[c]);
    } else {
        for (int c = 0; c < width; ++c) {
            for (int g = 0; g < kLanes; ++g) rows[g * width + c] = columns[c][g];
        }
    }
    std::memcpy(values, rows, sizeof(Scalar) * static_cast<std::size_t>(groups * width));
}

}  // namespace paretopo::cpu::PARETOPO_LANES
