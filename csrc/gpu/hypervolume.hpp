// Launches of hypervolume, its gradient and hypervolume_contributions.
#pragma once

#include <cstdint>

#include "formulas/dominance.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/volume/exclusive.hpp"
#include "gpu/volume/large_sweep.hpp"
#include "gpu/volume/planar_contributions.hpp"
#include "gpu/volume/sides.hpp"
#include "gpu/volume/sweep.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// ---- Any number of objectives: one warp per point ----

// The part of its box that only this point dominates, in all sides or in all but one.
template <typename Scalar>
struct PointOfSet {
    const Batch<Scalar>& batch;
    const Reference& ref;
    std::int64_t g;

    PARETOPO_HD double side(std::int64_t i, std::int32_t m) const {
        return side_as_given(batch.group(g)[i * batch.objectives + m], ref.at[m],
                             batch.is_minimised(m));
    }
    // Writes the sides of point i except `left_out`; false if the point is masked or outside.
    PARETOPO_HD bool is_inside(std::int64_t i, std::int32_t left_out, double* sides) const {
        const std::uint8_t* mask = batch.group_mask(g);
        if (mask && mask[i] == 0) return false;
        std::int32_t k = 0;
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            const double own = side(i, m);
            if (!(own > 0.0)) return false;
            if (m != left_out && sides) sides[k++] = own;
        }
        return true;
    }
    // One point as keys.
    struct KeysOfPoint {
        const Scalar* values;
        const Batch<Scalar>& batch;
        PARETOPO_HD Key<Scalar> operator[](std::int32_t m) const {
            return key_of(values[m], batch.is_minimised(m));
        }
    };
    PARETOPO_HD KeysOfPoint keys(std::int64_t i) const {
        return {batch.group(g) + i * batch.objectives, batch};
    }
    // Does point a dominate point b, compared as given?
    PARETOPO_HD bool is_dominated_by(std::int64_t b, std::int64_t a) const {
        return dominates(keys(a), keys(b), batch.objectives);
    }
    template <typename Warp>
    PARETOPO_HD bool is_refused(Warp& warp) const {
        return warp.any([&](int lane) {
            bool found = false;
            for (std::int64_t i = lane; i < batch.points; i += warp.lanes()) {
                found |= is_refused_point(batch, g, i, [&](std::int32_t m) { return ref.at[m]; });
            }
            return found;
        });
    }
};

// The facet of point i in direction m: the region of the other sides that point i dominates and no
// point before it in objective m does. Among equal values the earlier point is before. The facet is
// the derivative of the hypervolume. Facets times their sides add up to the hypervolume.
template <typename Scalar>
struct Facet {
    Batch<Scalar> batch;
    Reference ref;
    double* out;
    bool is_gradient;  // out: (groups, points, objectives), derivatives; else (groups, points), the
                       // pieces of the last objective
    const std::uint8_t* wanted = nullptr;  // (groups, points), 0 for a piece of 0; null: all wanted
    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        Exclusive(arena, batch.points, batch.objectives - 1);
        return arena.bytes();
    }
    PARETOPO_HD bool is_wanted(std::int64_t g, std::int64_t i) const {
        return !wanted || wanted[g * batch.points + i] != 0;
    }
    std::int64_t jobs() const {
        return batch.groups * batch.points * (is_gradient ? batch.objectives : 1);
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t job, char* memory) const {
        const std::int32_t directions = is_gradient ? batch.objectives : 1;
        const auto m =
            is_gradient ? static_cast<std::int32_t>(job % directions) : batch.objectives - 1;
        const std::int64_t i = job / directions % batch.points;
        const PointOfSet<Scalar> set{batch, ref, job / directions / batch.points};
        double piece = 0.0;
        if (set.is_refused(warp)) {
            piece = kNoVolume;
        } else if (is_wanted(set.g, i) && set.is_inside(i, m, nullptr)) {
            const double own = set.side(i, m);
            const double sign = batch.is_minimised(m) ? -1.0 : 1.0;
            Arena arena(memory);
            Exclusive exclusive(arena, batch.points, batch.objectives - 1);
            piece = exclusive.volume(
                warp, batch.objectives - 1, is_gradient ? 1.0 : own,
                [&](std::int32_t k) { return set.side(i, k < m ? k : k + 1); },
                [&](std::int64_t j, double* sides) {
                    if (j == i || !set.is_inside(j, m, sides)) return false;
                    const double other = set.side(j, m);
                    return other > own || (other == own && j < i);
                });
            if (is_gradient) piece = turned_slope(piece, sign);
        }
        warp.each([&](int lane) {
            if (lane == 0) out[job] = piece;
        });
    }
};

template <typename Scalar>
struct Contribution {
    Batch<Scalar> batch;
    Reference ref;
    double* contributions;
    bool ignore_dominated;

    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        Exclusive(arena, batch.points, batch.objectives);
        return arena.bytes();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t job, char* memory) const {
        const std::int64_t i = job % batch.points;
        const PointOfSet<Scalar> set{batch, ref, job / batch.points};
        constexpr std::int32_t kAll = -1;
        double own = 0.0;
        if (set.is_refused(warp)) {
            own = kNoVolume;
        } else if (set.is_inside(i, kAll, nullptr) && !is_left_out(warp, set, i)) {
            Arena arena(memory);
            Exclusive exclusive(arena, batch.points, batch.objectives);
            own = exclusive.volume(
                warp, batch.objectives, 1.0, [&](std::int32_t k) { return set.side(i, k); },
                [&](std::int64_t j, double* sides) {
                    if (j == i || !set.is_inside(j, kAll, sides)) return false;
                    // With ignore_dominated, skip the points that i dominates. Points that others
                    // dominate need no test: they lie within those others.
                    return !ignore_dominated || !set.is_dominated_by(j, i);
                });
        }
        warp.each([&](int lane) {
            if (lane == 0) contributions[job] = own;
        });
    }

  private:
    // With ignore_dominated, a point that another one dominates has no contribution.
    template <typename Warp>
    PARETOPO_HD bool is_left_out(Warp& warp, const PointOfSet<Scalar>& set, std::int64_t i) const {
        if (!ignore_dominated) return false;
        return warp.any([&](int lane) {
            bool found = false;
            for (std::int64_t j = lane; j < batch.points; j += warp.lanes()) {
                found |= set.is_inside(j, -1, nullptr) && set.is_dominated_by(i, j);
            }
            return found;
        });
    }
};

template <typename Place, typename Scalar>
void hypervolume(Place place, Batch<Scalar> batch, const double* ref, double* volumes) {
    if (batch.groups == 0) return;
    auto launcher = launcher_of(place, "hypervolume");
    const Reference by_value = reference_of(ref, batch.objectives);
    auto* pieces = reinterpret_cast<double*>(place.scratch);
    if (batch.points > 0 && batch.objectives <= 3) {
        const Limits limits = limits_of(place);
        if (batch.points > limits.block_points) {
            return launch_large_sweep(
                launcher, LargeSweeps<Scalar>{batch, by_value, volumes, place.scratch, limits});
        }
        return launch_sweep(launcher, limits, batch, by_value, volumes, place.scratch);
    }
    if (batch.points > 0) {
        const Facet<Scalar> job{batch, by_value, pieces, false};
        check_shared_bytes(job, "hypervolume");
        launcher.warps(job.jobs(), job.shared_bytes(), job);
    }
    launcher.threads(batch.groups, SumOfPieces{pieces, volumes, batch.points});
}

template <typename Place, typename Scalar>
void hypervolume_gradient(Place place, Batch<Scalar> batch, const double* ref,
                          const std::uint8_t* wanted, double* gradient) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "the gradient of hypervolume");
    const Facet<Scalar> job{batch, reference_of(ref, batch.objectives), gradient, true, wanted};
    check_shared_bytes(job, "the gradient of hypervolume");
    launcher.warps(job.jobs(), job.shared_bytes(), job);
}

template <typename Place, typename Scalar>
void hypervolume_contributions(Place place, Batch<Scalar> batch, const double* ref,
                               bool ignore_dominated, double* contributions) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "hypervolume_contributions");
    const Reference by_value = reference_of(ref, batch.objectives);
    const Limits limits = limits_of(place);
    if (batch.objectives == 2 && !fits_warp(batch, limits)) {
        const PlanarSets<Scalar> sets{batch, by_value, place.scratch, limits};
        return launch_planar_contributions(launcher, sets, ignore_dominated, contributions);
    }
    const Contribution<Scalar> job{batch, by_value, contributions, ignore_dominated};
    check_shared_bytes(job, "hypervolume_contributions");
    launcher.warps(batch.groups * batch.points, job.shared_bytes(), job);
}

template <typename Place, typename Scalar>
std::int64_t hypervolume_scratch(Place place, Batch<Scalar> batch) {
    if (batch.objectives > 3) {
        return batch.groups * batch.points * static_cast<std::int64_t>(sizeof(double));
    }
    const Limits limits = limits_of(place);
    if (fits_warp(batch, limits)) return 0;
    if (batch.points <= limits.block_points) return batch.groups * SweepOfSet<Scalar>::bytes(batch);
    return batch.groups * LargeSweeps<Scalar>::bytes(batch.points, limits);
}

template <typename Place, typename Scalar>
std::int64_t hypervolume_gradient_scratch(Place, Batch<Scalar>) {
    return 0;
}

template <typename Place, typename Scalar>
std::int64_t hypervolume_contributions_scratch(Place place, Batch<Scalar> batch) {
    const Limits limits = limits_of(place);
    if (batch.objectives != 2 || fits_warp(batch, limits)) return 0;
    return batch.groups * PlanarSets<Scalar>::bytes(batch.points, limits);
}

PARETOPO_INSTANTIATE_HERE(hypervolume)
PARETOPO_INSTANTIATE_HERE(hypervolume_scratch)
PARETOPO_INSTANTIATE_HERE(hypervolume_gradient)
PARETOPO_INSTANTIATE_HERE(hypervolume_gradient_scratch)
PARETOPO_INSTANTIATE_HERE(hypervolume_contributions)
PARETOPO_INSTANTIATE_HERE(hypervolume_contributions_scratch)

}  // namespace paretopo::gpu
