// A block of groups, one per lane: reads it into columns, and writes columns back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "batch.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "cpu/lanes/simd/transpose.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// columns[c], lane g: value c of group g. Reads whole vectors, up to kLanes - 1 values beyond the
// last group. If `last`, no readable memory follows, and the block is copied first.
template <typename Scalar>
PARETOPO_INLINE void read_columns(const Scalar* values, int width, int groups, bool last,
                                  typename Lanes<Scalar>::F* columns) {
    using V = Lanes<Scalar>;
    constexpr int kLanes = V::kLanes;
    alignas(kVectorBytes) Scalar copy[kLanes * kMaxValuesInLane + kLanes];
    if (last) {
        std::memcpy(copy, values, sizeof(Scalar) * static_cast<std::size_t>(groups * width));
        std::fill(copy + groups * width, copy + kLanes * width + kLanes, Scalar(0));
        values = copy;
    } else {
        constexpr int kAhead = 2048;  // bytes; up to twice as fast from main memory
        const char* next = reinterpret_cast<const char*>(values) + kAhead;
        const int bytes = kLanes * width * static_cast<int>(sizeof(Scalar));
        for (int b = 0; b < bytes; b += 64) __builtin_prefetch(next + b);
    }
    for (int first = 0; first < width; first += kLanes) {
        typename V::F rows[kLanes];
#pragma GCC unroll 16
        for (int g = 0; g < kLanes; ++g) rows[g] = V::load(values + g * width + first);
        rotate_addresses<Scalar, kLanes>(rows);
        const int count = std::min(kLanes, width - first);
        if (count == kLanes) {
#pragma GCC unroll 16
            for (int c = 0; c < kLanes; ++c) columns[first + c] = rows[c];
        } else {
            for (int c = 0; c < count; ++c) columns[first + c] = rows[c];
        }
    }
}

// values[g * width + c] = lane g of columns[c], for `groups` groups. kWidth is `width` if known at
// compile time, or 0.
template <typename Scalar, int kWidth>
PARETOPO_INLINE void write_columns(const typename Lanes<Scalar>::F* columns, int width, int groups,
                                   Scalar* values) {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    constexpr int kLanes = V::kLanes;
    if constexpr (kWidth > 0 && kWidth < kLanes && (kWidth & (kWidth - 1)) == 0) {
        if (groups == kLanes) {
            F rows[kWidth];
            std::copy_n(columns, kWidth, rows);
            rotate_addresses<Scalar, kWidth>(rows);
#pragma GCC unroll 8
            for (int r = 0; r < kWidth; ++r) V::store(values + r * kLanes, rows[r]);
            return;
        }
    }
    // A row may spill over into the rows after it, which are written later. So the last columns are
    // written first. If nothing of the block follows, only the row's own part is written.
    for (int first = (width - 1) / kLanes * kLanes; first >= 0; first -= kLanes) {
        const int count = std::min(kLanes, width - first);
        F rows[kLanes] = {};
        std::copy_n(columns + first, count, rows);
        rotate_addresses<Scalar, kLanes>(rows);
        for (int g = 0; g < groups; ++g) {
            Scalar* row = values + g * width + first;
            if (g * width + first + kLanes <= groups * width) {
                V::store(row, rows[g]);
            } else {
                std::memcpy(row, &rows[g], sizeof(Scalar) * static_cast<std::size_t>(count));
            }
        }
    }
}

}  // namespace paretopo::cpu::PARETOPO_LANES
