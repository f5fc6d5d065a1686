// crowding_distance, as launches: ranks, then every point against its front.
#pragma once

#include <cstdint>

#include "gpu/fronts.hpp"
#include "gpu/limits.hpp"
#include "gpu/ranking.hpp"
#include "group/crowding.hpp"
#include "group/small_group.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

template <typename Scalar, int kObjectives>
struct CrowdingByWarp {
    Batch<Scalar> batch;
    char* scratch;
    double* distances;

    std::int64_t room() const { return RankByWarp<Scalar, kObjectives>{batch, {}, {}}.room(); }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Carve room(memory);
        SmallGroup<Scalar, kObjectives> group(room, batch, keys_elsewhere(scratch, batch, g));
        group.read(warp, batch, g);
        group.rank(warp);
        for_each(warp, batch.points, [&](std::int64_t i) {
            distances[g * batch.points + i] = crowding_of<Scalar>(
                group.ranks, static_cast<std::int32_t>(i), batch.points, group.objectives,
                [&](std::int32_t j, std::int32_t m) { return group.row(j)[m]; });
        });
    }
};

template <typename Scalar>
struct CrowdingOfPoints {
    Chains<Scalar> chains;
    const std::int32_t* ranks;
    double* distances;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        const std::int64_t at = g * chain.points;
        block.each([&](int lane) {
            for (std::int64_t i = part * block.lanes() + lane; i < chain.points;
                 i += parts * block.lanes()) {
                distances[at + i] = crowding_of<Scalar>(
                    ranks + at, static_cast<std::int32_t>(i), chain.points, chain.objectives,
                    [&](std::int32_t j, std::int32_t m) {
                        return chain.given[std::int64_t{j} * chain.objectives + m];
                    });
            }
        });
    }
};

// Of fronts that are known already.
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
        block.each([&](int lane) {
            for (std::int64_t i = part * block.lanes() + lane; i < batch.points;
                 i += parts * block.lanes()) {
                distances[at + i] = crowding_of<Scalar>(
                    ranks + at, static_cast<std::int32_t>(i), batch.points, batch.objectives,
                    [&](std::int32_t j, std::int32_t m) {
                        return key_of(values[std::int64_t{j} * batch.objectives + m],
                                      batch.is_minimised(m));
                    });
            }
        });
    }
};

template <typename Place, typename Scalar>
void crowding_distance(Place place, Batch<Scalar> batch, const std::int32_t* given,
                       double* distances) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "crowding_distance");
    if (given) {
        return launcher.blocks(launcher.parts(batch.points), batch.groups,
                               CrowdingOfFronts<Scalar>{batch, given, distances});
    }
    const Limits limits = limits_of(place);
    if (fits_warp(batch, limits)) {
        return with_objectives(batch.objectives, [&](auto m) {
            const CrowdingByWarp<Scalar, m.value> job{batch, place.scratch, distances};
            launcher.warps(batch.groups, job.room(), job);
        });
    }
    auto* ranks = reinterpret_cast<std::int32_t*>(place.scratch);
    Place behind = place;
    behind.scratch += ranks_bytes(batch, limits);
    rank_large(behind, batch, ranks);
    launcher.blocks(
        launcher.parts(batch.points), batch.groups,
        CrowdingOfPoints<Scalar>{Chains<Scalar>{behind.scratch, batch}, ranks, distances});
}

}  // namespace paretopo::gpu
