// A part of a batch of small sets, ordered so that sets of similar size share a tile.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/tile.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// The sets of one part of a batch.
template <typename Scalar>
struct Part {
    Batch<Scalar> batch;
    std::uint32_t present[kMaxGroupsMeasured];  // a bit for each present point
    std::int64_t order[kMaxGroupsMeasured];     // sets of similar size adjacent: few lanes idle

    Part(const Batch<Scalar>& whole, std::int64_t first, std::int64_t end) : batch(whole) {
        batch.values = whole.group(first);
        batch.mask = whole.group_mask(first);
        batch.groups = end - first;
        count_points();
        sort_by_size();
    }

    void count_points() {
        for (int g = 0; g < batch.groups; ++g) {
            present[g] = batch.mask ? bits_of(batch.group_mask(g), batch.points)
                                    : ~std::uint32_t{0} >> (32 - batch.points);
        }
    }

    // Bit i is set if byte i is not zero.
    static std::uint32_t bits_of(const std::uint8_t* mask, int points) {
        constexpr std::uint64_t kLow = 0x7f7f7f7f7f7f7f7f;
        std::uint32_t bits = 0;
        for (int i = 0; i < points; i += 8) {
            std::uint64_t bytes = 0;
            std::memcpy(&bytes, mask + i, points - i < 8 ? points - i : 8);
            const std::uint64_t set = ((((bytes & kLow) + kLow) | bytes) & ~kLow) >> 7;
            // The product moves the lowest bit of byte k to bit 56 + k.
            bits |= static_cast<std::uint32_t>(set * 0x0102040810204080 >> 56) << i;
        }
        return bits;
    }

    void sort_by_size() {
        int place[kMaxMeasuredInLane + 2] = {};
        for (int g = 0; g < batch.groups; ++g) ++place[__builtin_popcount(present[g]) + 1];
        for (int k = 0; k <= kMaxMeasuredInLane; ++k) place[k + 1] += place[k];
        for (int g = 0; g < batch.groups; ++g) order[place[__builtin_popcount(present[g])]++] = g;
    }

    // Prefetches the sets of a tile. (Inlined, because GCC drops calls that only prefetch.)
    PARETOPO_INLINE void fetch(std::int64_t start) const {
        constexpr int kLine = 64 / static_cast<int>(sizeof(Scalar));
        for (std::int64_t k = start; k < start + kLanes && k < batch.groups; ++k) {
            const Scalar* set = batch.group(order[k]);
            const int width = __builtin_popcount(present[order[k]]) * batch.objectives;
            for (int c = 0; c < width; c += kLine) __builtin_prefetch(set + c);
        }
    }

    // The sets of one tile; the last one replaces missing ones.
    void take(std::int64_t start, std::int64_t* sets) const {
        for (int lane = 0; lane < kLanes; ++lane) {
            const std::int64_t k = start + lane < batch.groups ? start + lane : batch.groups - 1;
            sets[lane] = order[k];
        }
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
