// Hypervolumes of up to 3 objectives by sweeps, for sets of any size, as launches.
#pragma once

#include <cstdint>

#include "gpu/limits.hpp"
#include "group/carve.hpp"
#include "group/sides.hpp"
#include "group/sweep.hpp"
#include "group/team.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

template <typename Scalar>
struct SweepByWarp {
    Batch<Scalar> batch;
    Reference ref;
    double* volumes;

    std::int64_t room() const {
        Carve room(nullptr);
        Sweep(room, batch.points);
        return room.end();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Carve room(memory);
        const Sweep sweep(room, batch.points);
        warp.each([&](int lane) { sweep.read(batch, g, ref, lane, warp.lanes()); });
        warp.each([&](int lane) { sweep.sort(warp, batch, g, ref, lane, warp.lanes()); });
        warp.each([&](int lane) { sweep.measure(lane, warp.lanes()); });
        const double volume = sweep.total(warp);
        warp.each([&](int lane) {
            if (lane == 0) volumes[g] = volume;
        });
    }
};

enum class SweepStep { kRead, kSort, kMeasure, kTotal };

template <typename Scalar>
struct SweepOfSet {
    Batch<Scalar> batch;
    Reference ref;
    double* volumes;
    char* scratch;
    SweepStep step;

    static std::int64_t bytes(const Batch<Scalar>& batch) {
        return SweepByWarp<Scalar>{batch, {}, {}}.room();
    }
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        Carve sizes(nullptr);
        Sweep(sizes, batch.points);
        Carve memory(scratch + g * sizes.end());
        const Sweep sweep(memory, batch.points);
        if (step == SweepStep::kTotal) {
            const double volume = sweep.total(block);
            block.each([&](int lane) {
                if (lane == 0) volumes[g] = volume;
            });
            return;
        }
        block.each([&](int lane) {
            const std::int64_t own = part * block.lanes() + lane;
            const std::int64_t all = parts * block.lanes();
            if (step == SweepStep::kRead) sweep.read(batch, g, ref, own, all);
            if (step == SweepStep::kSort) sweep.sort(block, batch, g, ref, own, all);
            if (step == SweepStep::kMeasure) sweep.measure(own, all);
        });
    }
};

template <typename Launcher, typename Scalar>
void sweep(Launcher& launcher, const Limits& limits, Batch<Scalar> batch, const Reference& ref,
           double* volumes, char* scratch) {
    if (fits_warp(batch, limits)) {
        const SweepByWarp<Scalar> job{batch, ref, volumes};
        return launcher.warps(batch.groups, job.room(), job);
    }
    SweepOfSet<Scalar> job{batch, ref, volumes, scratch, SweepStep::kRead};
    for (const SweepStep step : {SweepStep::kRead, SweepStep::kSort, SweepStep::kMeasure}) {
        job.step = step;
        launcher.blocks(launcher.parts(batch.points), batch.groups, job);
    }
    job.step = SweepStep::kTotal;
    launcher.blocks(1, batch.groups, job);
}

}  // namespace paretopo::gpu
