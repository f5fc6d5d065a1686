// One group of up to 64 points by one warp: point i is at home with lane i % lanes, sets of points
// are 64-bit words that every lane holds.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/team.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

// Memory of one warp. Keys of any number of objectives (kObjectives 0) may be too large for what is
// shared, and lie in scratch; nobody else needs any, so that it may be null.
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

    // Once all have compared their points: the next group's keys take the place of shared ones.
    template <typename Warp>
    PARETOPO_HD void leave(Warp& warp) const {
        if constexpr (kObjectives > 0) warp.each([](int) {});
    }

    // Ranks of all points, kUnranked for those that are masked; returns the number of fronts. Each
    // lane has its own ranks alone until the next wait.
    template <typename Warp>
    PARETOPO_HD std::int32_t rank(Warp& warp) {
        for_own(warp, points, [&](std::int64_t i) {
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
            for_own(warp, points, [&](std::int64_t i) {
                if ((taken >> i & 1) != 0) ranks[i] = front;
            });
            left &= ~taken;
        }
        return front;
    }

    // Does point i count, is it dominated by none, and, unless equal points are all kept, the first
    // of its kind?
    PARETOPO_HD bool is_nondominated(std::int64_t i, bool keep_weakly) const {
        if (!is_present(i)) return false;
        for (std::int32_t j = 0; j < points; ++j) {
            if (!is_present(j)) continue;
            const auto found = compare_one_way<kObjectives>(row(j), row(i), objectives);
            if (found.a_dominates()) return false;
            if (!keep_weakly && j < i && found.are_equal()) return false;
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
