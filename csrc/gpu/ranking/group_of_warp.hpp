// One group of up to 64 points by one warp: lane i % lanes owns point i. Sets of points are 64-bit
// words that every lane holds.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Memory of one warp. Keys of many objectives (kObjectives 0) may exceed shared memory and are then
// in scratch; otherwise scratch may be null.
template <typename Scalar, int kObjectives>
struct GroupOfWarp {
    Key<Scalar>* keys;          // (points, objectives)
    std::uint64_t* dominators;  // of each point
    std::int32_t* ranks;
    std::int32_t points;
    std::int32_t objectives;
    std::uint64_t present = 0;

    PARETOPO_HD GroupOfWarp(Arena& arena, const Batch<Scalar>& batch, char* scratch, std::int64_t g)
        : keys(kObjectives > 0
                   ? arena.array<Key<Scalar>>(batch.points * kObjectives)
                   : reinterpret_cast<Key<Scalar>*>(scratch) + g * batch.points * batch.objectives),
          dominators(arena.array<std::uint64_t>(batch.points)),
          ranks(arena.array<std::int32_t>(batch.points)),
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
        present = warp.ballot(points, [&](std::int32_t i) { return !mask || mask[i] != 0; });
    }

    // Call once all lanes have compared their points: the next group's keys overwrite the shared
    // ones.
    template <typename Warp>
    PARETOPO_HD void leave(Warp& warp) const {
        if constexpr (kObjectives > 0) warp.each([](int) {});
    }

    // Ranks of all points, kUnranked for padding; returns the number of fronts. Each lane may read
    // only its own ranks until the next barrier.
    template <typename Warp>
    PARETOPO_HD std::int32_t rank(Warp& warp) {
        for_each_unsynced(warp, points, [&](std::int64_t i) {
            std::uint64_t found = 0;
            for (std::int32_t j = 0; j < points; ++j) {
                const bool is_dominated = dominates<kObjectives>(row(j), row(i), objectives);
                found |= std::uint64_t{is_dominated} << j;
            }
            dominators[i] = found & present;
            ranks[i] = kUnranked;
        });
        std::uint64_t left = present;
        std::int32_t front = 0;
        for (; left != 0; ++front) {
            const std::uint64_t taken = warp.ballot(points, [&](std::int32_t i) {
                return (left >> i & 1) != 0 && (dominators[i] & left) == 0;
            });
            for_each_unsynced(warp, points, [&](std::int64_t i) {
                if ((taken >> i & 1) != 0) ranks[i] = front;
            });
            left &= ~taken;
        }
        return front;
    }

    // True if point i is present and non-dominated and, unless keep_duplicates, the first among
    // equals.
    PARETOPO_HD bool is_nondominated(std::int64_t i, bool keep_duplicates) const {
        if (!is_present(i)) return false;
        for (std::int32_t j = 0; j < points; ++j) {
            if (!is_present(j)) continue;
            const auto found = compare_one_way<kObjectives>(row(j), row(i), objectives);
            if (found.a_dominates()) return false;
            if (!keep_duplicates && j < i && found.are_equal()) return false;
        }
        return true;
    }
};

// Shared memory of one group.
template <typename Scalar, int kObjectives>
std::int64_t group_bytes(const Batch<Scalar>& batch) {
    Arena arena(nullptr);
    GroupOfWarp<Scalar, kObjectives>(arena, batch, nullptr, 0);
    return arena.bytes();
}

}  // namespace paretopo::gpu
