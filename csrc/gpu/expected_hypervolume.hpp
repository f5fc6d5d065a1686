// Launches of expected_hypervolume and hypervolume_advantage.
#pragma once

#include <cmath>
#include <cstdint>

#include "formulas/marginals.hpp"
#include "gpu/grid/grid_in_registers.hpp"
#include "gpu/grid/shared_grid.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/volume/sides.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// One reference point, by value, or one for each group.
struct Corners {
    Reference one;
    const double* each;  // or null
    PARETOPO_HD double at(std::int64_t g, std::int32_t m, std::int32_t objectives) const {
        return each ? each[g * objectives + m] : one.at[m];
    }
};

inline Corners corners_of(const double* ref, bool per_group, std::int32_t objectives) {
    if (per_group) return {{}, ref};
    return {reference_of(ref, objectives), nullptr};
}

template <typename Scalar>
struct ExpectedByWarp {
    Batch<Scalar> batch;
    Corners ref;
    std::int32_t k;
    double* volumes;

    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        SharedGrid(arena, batch.points, batch.objectives, kWarpLanes, false);
        return arena.bytes();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        SharedGrid grid(arena, batch.points, batch.objectives, kWarpLanes, false);
        grid.read(warp, batch, ref, g);
        const std::int32_t drawn = k < grid.count() ? k : grid.count();
        const double* total = grid.total(warp, drawn);
        warp.each_unsynced([&](int lane) {
            if (lane != 0) return;
            const double volume = grid.exponent() == 0 ? *total : ldexp(*total, grid.exponent());
            volumes[g] = grid.is_refused() ? kNoVolume : volume;
        });
    }
};

template <typename Scalar>
struct MarginalsByWarp {
    Batch<Scalar> batch;
    Corners ref;
    std::int32_t k;
    Centre centre;
    Scalar* advantages;

    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        SharedGrid(arena, batch.points, batch.objectives, kWarpLanes, true);
        return arena.bytes();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        SharedGrid grid(arena, batch.points, batch.objectives, kWarpLanes, true);
        grid.read(warp, batch, ref, g);
        const std::int32_t drawn = k < grid.count() ? k : grid.count();
        grid.measure_boxes(warp, cell_weight_of(centre, grid.count(), drawn), drawn);
        const PresentPoints present{batch.group_mask(g)};
        Scalar* out = advantages + g * batch.points;
        warp.each([&](int lane) {
            if (grid.is_refused()) {
                for (std::int32_t i = lane; i < batch.points; i += warp.lanes()) {
                    out[i] = static_cast<Scalar>(present(i) ? kNoVolume : 0.0);
                }
                return;
            }
            const MarginalCentring centring = marginal_centring(
                grid.boxes(), present, batch.points, grid.count(), drawn, centre, grid.exponent());
            for (std::int32_t i = lane; i < batch.points; i += warp.lanes()) {
                out[i] = static_cast<Scalar>(present(i) ? centring.apply(grid.boxes()[i]) : 0.0);
            }
        });
    }
};

// True for groups of 2 objectives that a single thread measures.
template <typename Scalar>
bool fits_grid_thread(const Batch<Scalar>& batch, const Limits& limits) {
    return batch.objectives == 2 && batch.points <= limits.thread_points &&
           batch.groups >= limits.thread_groups;
}

// Weights for every number of present points, passed by value with the launch.
template <int kPoints>
struct WeightTable {
    double at[kPoints + 1][kPoints + 1];

    template <typename Choose>
    WeightTable(std::int32_t points, std::int32_t k, Choose kind) : at() {
        for (std::int32_t count = 1; count <= points; ++count) {
            const std::int32_t drawn = k < count ? k : count;
            fill_cell_weights(kind(count, drawn), kPoints, count, drawn, at[count]);
        }
    }
};

template <int kPoints, typename Scalar>
struct ExpectedInRegisters {
    Batch<Scalar> batch;
    Corners ref;
    WeightTable<kPoints> weights;
    double* volumes;
    PARETOPO_HD void operator()(std::int64_t g) const {
        GridInRegisters<kPoints> grid(batch, ref, g);
        const double volume = grid.total(weights.at[grid.count()]);
        volumes[g] = grid.is_refused_set() ? kNoVolume : volume;
    }
};

template <int kPoints, typename Scalar>
struct MarginalsInRegisters {
    Batch<Scalar> batch;
    Corners ref;
    WeightTable<kPoints> weights;
    std::int32_t k;
    Centre centre;
    Scalar* advantages;
    PARETOPO_HD void operator()(std::int64_t g) const {
        GridInRegisters<kPoints> grid(batch, ref, g);
        const std::int32_t drawn = k < grid.count() ? k : grid.count();
        double boxes[kPoints];
        grid.measure_boxes(weights.at[grid.count()], boxes);
        const MarginalCentring centring = marginal_centring(
            boxes, grid.present(), kPoints, grid.count(), drawn, centre, grid.exponent());
        Scalar own[kPoints];
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            const double advantage = grid.is_refused_set() ? kNoVolume : centring.apply(boxes[i]);
            own[i] = static_cast<Scalar>(grid.present()(i) ? advantage : 0.0);
        }
        store(own, batch.points, advantages + g * batch.points);
    }
};

template <typename Op>
void with_grid_registers(std::int32_t points, Op op) {
    if (points <= 8) return op(Constant<8>());
    op(Constant<16>());
}

template <typename Place, typename Scalar>
void expected_hypervolume(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                          std::int32_t k, double* volumes) {
    if (batch.groups == 0) return;
    auto launcher = launcher_of(place, "expected_hypervolume");
    if (batch.points == 0) {
        return launcher.threads(batch.groups, SumOfPieces{nullptr, volumes, 0});
    }
    const Corners corners = corners_of(ref, per_group, batch.objectives);
    if (fits_grid_thread(batch, limits_of(place))) {
        return with_grid_registers(batch.points, [&](auto points) {
            const WeightTable<points.value> weights(batch.points, k,
                                                    [](auto...) { return CellWeight::kHit; });
            launcher.threads(batch.groups, ExpectedInRegisters<points.value, Scalar>{
                                               batch, corners, weights, volumes});
        });
    }
    const ExpectedByWarp<Scalar> job{batch, corners, k, volumes};
    check_shared_bytes(job, "expected_hypervolume");
    launcher.warps(batch.groups, job.shared_bytes(), job);
}

template <typename Place, typename Scalar>
void hypervolume_advantage(Place place, Batch<Scalar> batch, const double* ref, bool per_group,
                           std::int32_t k, Centre centre, Scalar* advantages) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "hypervolume_advantage");
    const Corners corners = corners_of(ref, per_group, batch.objectives);
    if (fits_grid_thread(batch, limits_of(place))) {
        return with_grid_registers(batch.points, [&](auto points) {
            const WeightTable<points.value> weights(batch.points, k,
                                                    [=](std::int32_t count, std::int32_t drawn) {
                                                        return cell_weight_of(centre, count, drawn);
                                                    });
            launcher.threads(batch.groups, MarginalsInRegisters<points.value, Scalar>{
                                               batch, corners, weights, k, centre, advantages});
        });
    }
    const MarginalsByWarp<Scalar> job{batch, corners, k, centre, advantages};
    check_shared_bytes(job, "hypervolume_advantage");
    launcher.warps(batch.groups, job.shared_bytes(), job);
}

template <typename Place, typename Scalar>
std::int64_t expected_hypervolume_scratch(Place, Batch<Scalar>) {
    return 0;
}

template <typename Place, typename Scalar>
std::int64_t hypervolume_advantage_scratch(Place, Batch<Scalar>) {
    return 0;
}

PARETOPO_INSTANTIATE_HERE(expected_hypervolume)
PARETOPO_INSTANTIATE_HERE(expected_hypervolume_scratch)
PARETOPO_INSTANTIATE_HERE(hypervolume_advantage)
PARETOPO_INSTANTIATE_HERE(hypervolume_advantage_scratch)

}  // namespace paretopo::gpu
