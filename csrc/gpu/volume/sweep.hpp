// The hypervolume of ONE set of up to 3 objectives, as many small pieces. Points come in the order
// of the last side; a piece is the volume that the point adds to the points before it. Each piece
// is a sweep along the first side (Fonseca, Paquete and Lopez-Ibanez, 2006): O(points), independent
// of the others, and a sum of positive terms, so that no digits cancel.
//
// Missing objectives get sides of 1.
#pragma once

#include <cmath>
#include <cstdint>

#include "batch.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/volume/sides.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

struct Box {
    double x, y, z;
};

// Is row j before row i in the order of z?
PARETOPO_HD inline bool is_higher(const Box* rows, std::int64_t j, std::int64_t i) {
    return rows[j].z > rows[i].z || (rows[j].z == rows[i].z && j < i);
}

// The volume that row i dominates and no row before it does. rows: x descending. The rows 0..from
// cover up to `height`. next(j, height): the first row from j on that is before row i and reaches
// beyond the height, or `count`.
template <typename Next>
PARETOPO_HD double volume_beyond(const Box* rows, std::int64_t count, std::int64_t i,
                                 std::int64_t from, double height, Next next) {
    const Box own = rows[i];
    if (!(own.x > 0.0)) return 0.0;
    const Scale sx = Scale::of(own.x);
    const Scale sy = Scale::of(own.y);
    const Scale sz = Scale::of(own.z);
    double area = 0.0;
    double at = own.x;  // current position of the sweep
    for (std::int64_t j = next(from, height); j < count; j = next(j + 1, height)) {
        const double x = rows[j].x < at ? rows[j].x : at;
        area += (at - x) * sx.factor * ((own.y - height) * sy.factor);
        at = x;
        height = rows[j].y;
        if (height >= own.y) break;
    }
    if (height < own.y) area += at * sx.factor * ((own.y - height) * sy.factor);
    const double volume = area * (own.z * sz.factor);
    const int power = sx.power + sy.power + sz.power;
    return power == 0 ? volume : ldexp(volume, power);
}

// The same by a scan of all rows.
PARETOPO_HD inline double volume_beyond(const Box* rows, std::int64_t count, std::int64_t i) {
    return volume_beyond(rows, count, i, 0, 0.0, [&](std::int64_t j, double height) {
        while (j < count && (j == i || !(rows[j].y > height) || !is_higher(rows, j, i))) ++j;
        return j;
    });
}

// Memory and steps of one set; masked points and those outside have sides of 0.
struct SweepOfPieces {
    Box* given;
    Box* sorted;  // x descending
    double* pieces;
    std::int32_t* refused;  // nonzero if a value is refused
    std::int32_t points;

    PARETOPO_HD SweepOfPieces(Arena& arena, std::int32_t points)
        : given(arena.array<Box>(points)),
          sorted(arena.array<Box>(points)),
          pieces(arena.array<double>(points)),
          refused(arena.array<std::int32_t>(1)),
          points(points) {}

    template <typename Scalar>
    PARETOPO_HD void read(const Batch<Scalar>& batch, std::int64_t g, const Reference& ref,
                          std::int64_t lane, std::int64_t lanes) const {
        const Scalar* values = batch.group(g);
        const std::uint8_t* mask = batch.group_mask(g);
        for (std::int64_t i = lane; i < points; i += lanes) {
            double sides[3] = {1.0, 1.0, 1.0};
            bool is_inside = !mask || mask[i] != 0;
            PARETOPO_UNROLL
            for (int m = 0; m < 3; ++m) {
                if (m >= batch.objectives) continue;
                sides[m] = side_as_given(values[i * batch.objectives + m], ref.at[m],
                                         batch.is_minimised(m));
                is_inside = is_inside && sides[m] > 0.0;
            }
            given[i] = is_inside ? Box{sides[0], sides[1], sides[2]} : Box{0.0, 0.0, 0.0};
        }
        if (lane == 0) *refused = 0;
    }

    template <typename Team, typename Scalar>
    PARETOPO_HD void check(Team& team, const Batch<Scalar>& batch, std::int64_t g,
                           const Reference& ref, std::int64_t i) const {
        const auto corner = [&](std::int32_t m) { return ref.at[m]; };
        if (is_refused_point(batch, g, i, corner)) team.atomic_max(refused, 1);
    }

    template <typename Team, typename Scalar>
    PARETOPO_HD void sort(Team& team, const Batch<Scalar>& batch, std::int64_t g,
                          const Reference& ref, std::int64_t lane, std::int64_t lanes) const {
        for (std::int64_t i = lane; i < points; i += lanes) {
            check(team, batch, g, ref, i);
            std::int64_t place = 0;
            for (std::int64_t j = 0; j < points; ++j) {
                place += given[j].x > given[i].x || (given[j].x == given[i].x && j < i);
            }
            sorted[place] = given[i];
        }
    }

    PARETOPO_HD void measure(std::int64_t lane, std::int64_t lanes) const {
        for (std::int64_t i = lane; i < points; i += lanes) {
            pieces[i] = volume_beyond(sorted, points, i);
        }
    }

    template <typename Team>
    PARETOPO_HD double total(Team& team) const {
        return team.sum([&](int lane) {
            double own = 0.0;
            for (std::int64_t i = lane; i < points; i += team.lanes()) own += pieces[i];
            return own;
        });
    }
    // For lane 0 only, which computed the total.
    PARETOPO_HD double volume(double total) const { return *refused != 0 ? kNoVolume : total; }
};

// ---- As launches, for sets of any size ----

template <typename Scalar>
struct SweepByWarp {
    Batch<Scalar> batch;
    Reference ref;
    double* volumes;

    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        SweepOfPieces(arena, batch.points);
        return arena.bytes();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        const SweepOfPieces sweep(arena, batch.points);
        warp.each([&](int lane) { sweep.read(batch, g, ref, lane, warp.lanes()); });
        warp.each([&](int lane) { sweep.sort(warp, batch, g, ref, lane, warp.lanes()); });
        warp.each_unsynced([&](int lane) { sweep.measure(lane, warp.lanes()); });
        const double total = sweep.total(warp);
        warp.each_unsynced([&](int lane) {
            if (lane == 0) volumes[g] = sweep.volume(total);
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
        return SweepByWarp<Scalar>{batch, {}, {}}.shared_bytes();
    }
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        Arena sizes(nullptr);
        SweepOfPieces(sizes, batch.points);
        Arena arena(scratch + g * sizes.bytes());
        const SweepOfPieces sweep(arena, batch.points);
        if (step == SweepStep::kTotal) {
            const double total = sweep.total(block);
            block.each([&](int lane) {
                if (lane == 0) volumes[g] = sweep.volume(total);
            });
            return;
        }
        block.each_unsynced([&](int lane) {
            const std::int64_t own = part * block.lanes() + lane;
            const std::int64_t all = parts * block.lanes();
            if (step == SweepStep::kRead) sweep.read(batch, g, ref, own, all);
            if (step == SweepStep::kSort) sweep.sort(block, batch, g, ref, own, all);
            if (step == SweepStep::kMeasure) sweep.measure(own, all);
        });
    }
};

template <typename Launcher, typename Scalar>
void launch_sweep(Launcher& launcher, const Limits& limits, Batch<Scalar> batch,
                  const Reference& ref, double* volumes, char* scratch) {
    if (fits_warp(batch, limits)) {
        const SweepByWarp<Scalar> job{batch, ref, volumes};
        return launcher.warps(batch.groups, job.shared_bytes(), job);
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
