// One group of up to 64 points by one warp: point i belongs to lane i % lanes, sets of points are
// 64-bit words that every lane holds.
#pragma once

#include <cstdint>

#include "group/carve.hpp"
#include "group/crowding.hpp"
#include "group/keys.hpp"
#include "group/team.hpp"
#include "ops.hpp"
#include "portability.hpp"

namespace paretopo {

// The room that a warp needs. Keys of any number of objectives (kObjectives 0) may be too large for
// it, and lie elsewhere.
template <typename Scalar, int kObjectives>
struct SmallGroup {
    Key<Scalar>* keys;          // (points, objectives)
    std::uint64_t* dominators;  // of each point
    std::int32_t* ranks;
    std::int32_t points;
    std::int32_t objectives;
    std::uint64_t present = 0;

    PARETOPO_HD SmallGroup(Carve& room, const Batch<Scalar>& batch, Key<Scalar>* elsewhere)
        : keys(kObjectives > 0 ? room.take<Key<Scalar>>(batch.points * kObjectives) : elsewhere),
          dominators(room.take<std::uint64_t>(batch.points)),
          ranks(room.take<std::int32_t>(batch.points)),
          points(batch.points),
          objectives(kObjectives > 0 ? kObjectives : batch.objectives) {}

    PARETOPO_HD const Key<Scalar>* row(std::int64_t i) const { return keys + i * objectives; }
    PARETOPO_HD bool is_present(std::int64_t i) const { return (present >> i & 1) != 0; }

    template <typename Warp>
    PARETOPO_HD void read(Warp& warp, const Batch<Scalar>& batch, std::int64_t g) {
        const Scalar* values = batch.group(g);
        const std::uint8_t* mask = batch.group_mask(g);
        for_each(warp, std::int64_t{points} * objectives, [&](std::int64_t k) {
            keys[k] = key_of(values[k], batch.is_minimised(static_cast<int>(k % objectives)));
        });
        present = warp.bits(points, [&](std::int32_t i) { return !mask || mask[i] != 0; });
    }

    // Ranks of all points, kUnranked for those that are masked; returns the number of fronts.
    template <typename Warp>
    PARETOPO_HD std::int32_t rank(Warp& warp) {
        for_each(warp, points, [&](std::int64_t i) {
            std::uint64_t found = 0;
            for (std::int32_t j = 0; j < points; ++j) {
                const bool is_beaten = key_dominates<kObjectives>(row(j), row(i), objectives);
                found |= std::uint64_t{is_beaten} << j;
            }
            dominators[i] = found & present;
            ranks[i] = kUnranked;
        });
        std::uint64_t left = present;
        std::int32_t front = 0;
        for (; left != 0; ++front) {
            const std::uint64_t taken = warp.bits(points, [&](std::int32_t i) {
                return (left >> i & 1) != 0 && (dominators[i] & left) == 0;
            });
            for_each(warp, points, [&](std::int64_t i) {
                if ((taken >> i & 1) != 0) ranks[i] = front;
            });
            left &= ~taken;
        }
        return front;
    }

    // Is point i of those that count dominated by none, and, unless equal points are all kept, the
    // first of its kind?
    PARETOPO_HD bool is_chosen(std::int64_t i, bool keep_weakly) const {
        if (!is_present(i)) return false;
        for (std::int32_t j = 0; j < points; ++j) {
            if (!is_present(j)) continue;
            if (key_dominates<kObjectives>(row(j), row(i), objectives)) return false;
            if (!keep_weakly && j < i && key_equal(row(j), row(i), objectives)) return false;
        }
        return true;
    }
};

}  // namespace paretopo
