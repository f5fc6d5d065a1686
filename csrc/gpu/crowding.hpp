// Launches of crowding_distance: ranks, then comparisons of every point with its front, or sorts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "formulas/crowding.hpp"
#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/ranking/gaps.hpp"
#include "gpu/ranking/group_of_warp.hpp"
#include "gpu/ranking/large_sets.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// The distance of point i of a small set from a scan over all its points. key(j, m)
// is the key of point j; larger is better.
template <typename Scalar, typename KeyAt>
PARETOPO_HD double crowding_of(const std::int32_t* ranks, std::int32_t i, std::int32_t points,
                               std::int32_t objectives, KeyAt key) {
    if (ranks[i] == kUnranked) return 0.0;
    double distance = 0.0;
    for (std::int32_t m = 0; m < objectives; ++m) {
        const Key<Scalar> own = key(i, m);
        Key<Scalar> below = own;
        Key<Scalar> above = own;
        Key<Scalar> lowest = own;
        Key<Scalar> highest = own;
        bool has_below = false;
        bool has_above = false;
        for (std::int32_t j = 0; j < points; ++j) {
            if (j == i || ranks[j] != ranks[i]) continue;
            const Key<Scalar> other = key(j, m);
            lowest = other < lowest ? other : lowest;
            highest = other > highest ? other : highest;
            if (other < own || (other == own && j < i)) {
                below = !has_below || other > below ? other : below;
                has_below = true;
            } else {
                above = !has_above || other < above ? other : above;
                has_above = true;
            }
        }
        if (has_below != has_above && lowest == highest) continue;  // flat: it has no ends
        if (!has_below || !has_above) {
            distance = kAtAnEnd;
        } else if (distance != kAtAnEnd) {
            const auto as_double = [](Key<Scalar> k) {
                return static_cast<double>(value_of<Scalar>(k));
            };
            distance += crowding_gap(as_double(below), as_double(above), as_double(lowest),
                                     as_double(highest));
        }
    }
    return distance;
}

template <typename Scalar, int kObjectives>
struct CrowdingByWarp {
    Batch<Scalar> batch;
    char* scratch;
    double* distances;

    std::int64_t shared_bytes() const { return group_bytes<Scalar, kObjectives>(batch); }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        GroupOfWarp<Scalar, kObjectives> group(arena, batch, scratch, g);
        group.read(warp, batch, g);
        group.rank(warp);
        warp.each([](int) {});  // each point is compared with the ranks of all
        for_each_unsynced(warp, batch.points, [&](std::int64_t i) {
            distances[g * batch.points + i] = crowding_of<Scalar>(
                group.ranks, static_cast<std::int32_t>(i), batch.points, group.objectives,
                [&](std::int32_t j, std::int32_t m) { return group.row(j)[m]; });
        });
        group.leave(warp);
    }
};

// The fronts are given.
template <typename Scalar>
struct CrowdingOfFronts {
    Batch<Scalar> batch;
    const std::int32_t* ranks;
    double* distances;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const std::int64_t at = g * batch.points;
        const Scalar* values = batch.group(g);
        for_each_in_part(block, part, parts, 0, batch.points, [&](std::int64_t i) {
            distances[at + i] = crowding_of<Scalar>(
                ranks + at, static_cast<std::int32_t>(i), batch.points, batch.objectives,
                [&](std::int32_t j, std::int32_t m) {
                    return key_of(values[std::int64_t{j} * batch.objectives + m],
                                  batch.is_minimised(m));
                });
        });
    }
};

template <typename Place, typename Scalar>
void crowding_distance(Place place, Batch<Scalar> batch, const std::int32_t* given,
                       double* distances) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "crowding_distance");
    const Limits limits = limits_of(place);
    if (fits_warp(batch, limits)) {
        if (given) {
            return launcher.blocks(launcher.parts(batch.points), batch.groups,
                                   CrowdingOfFronts<Scalar>{batch, given, distances});
        }
        return with_objectives(batch.objectives, [&](auto m) {
            const CrowdingByWarp<Scalar, m.value> job{batch, place.scratch, distances};
            launcher.warps(batch.groups, job.shared_bytes(), job);
        });
    }
    const std::int32_t* ranks = given;
    if (!given) {
        auto* found = reinterpret_cast<std::int32_t*>(place.scratch);
        place.scratch += ranks_bytes(batch, limits);
        rank_large(place, batch, found);
        ranks = found;
    }
    // The sorts take the memory of the ranking, which is over.
    add_gaps(launcher, Gaps<Scalar>{place.scratch, batch, limits.run_bits}, ranks, distances);
}

template <typename Place, typename Scalar>
std::int64_t crowding_distance_scratch(Place place, Batch<Scalar> batch) {
    Limits limits = limits_of(place);
    const std::int64_t ranks = ranks_bytes(batch, limits);
    limits.thread_points = 0;  // threads have no kernel for this
    const std::int64_t ranking = ranking_bytes(batch, limits);
    if (fits_warp(batch, limits)) return ranking;
    const std::int64_t gaps = batch.groups * Gaps<Scalar>{nullptr, batch, limits.run_bits}.bytes();
    return ranks + std::max(ranking, gaps);
}

PARETOPO_INSTANTIATE_HERE(crowding_distance)
PARETOPO_INSTANTIATE_HERE(crowding_distance_scratch)

}  // namespace paretopo::gpu
