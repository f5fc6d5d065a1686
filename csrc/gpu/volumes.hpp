// hypervolume, its gradient and hv_contributions, as launches.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpu/limits.hpp"
#include "gpu/sweeps.hpp"
#include "group/carve.hpp"
#include "group/exclusive.hpp"
#include "group/keys.hpp"
#include "group/sides.hpp"
#include "group/team.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// ---- Any number of objectives: one warp per point ----

// What of its box a point keeps, in all its sides or in all but one.
template <typename Scalar>
struct PointOfSet {
    const Batch<Scalar>& batch;
    const Reference& ref;
    std::int64_t g;

    PARETOPO_HD double side(std::int64_t i, std::int32_t m) const {
        return side_of(batch.group(g)[i * batch.objectives + m], ref.at[m], batch.is_minimised(m));
    }
    // The sides of point i but the one left out; false for one that is masked or outside.
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
    // Does point a dominate point b, as given?
    PARETOPO_HD bool dominates(std::int64_t a, std::int64_t b) const {
        const Scalar* first = batch.group(g) + a * batch.objectives;
        const Scalar* second = batch.group(g) + b * batch.objectives;
        bool is_better = false;
        for (std::int32_t m = 0; m < batch.objectives; ++m) {
            const Key<Scalar> x = key_of(first[m], batch.is_minimised(m));
            const Key<Scalar> y = key_of(second[m], batch.is_minimised(m));
            if (x < y) return false;
            is_better |= x > y;
        }
        return is_better;
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

// The facet of point i in direction m: what it dominates, of all sides but m, that no point before
// it in objective m does; of equal values the earlier point is before. It is the derivative of the
// hypervolume; summed over the points, times their sides, the hypervolume itself.
template <typename Scalar>
struct Facet {
    Batch<Scalar> batch;
    Reference ref;
    double* out;
    bool is_gradient;  // out: (groups, points, objectives), derivatives; else (groups, points),
                       // the pieces of the last objective
    std::int64_t room() const {
        Carve room(nullptr);
        Exclusive(room, batch.points, batch.objectives - 1);
        return room.end();
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
        } else if (set.is_inside(i, m, nullptr)) {
            const double own = set.side(i, m);
            const double sign = batch.is_minimised(m) ? -1.0 : 1.0;
            Carve room(memory);
            Exclusive exclusive(room, batch.points, batch.objectives - 1);
            piece = exclusive.volume(
                warp, batch.objectives - 1, is_gradient ? 1.0 : own,
                [&](std::int32_t k) { return set.side(i, k < m ? k : k + 1); },
                [&](std::int64_t j, double* sides) {
                    if (j == i || !set.is_inside(j, m, sides)) return false;
                    const double other = set.side(j, m);
                    return other > own || (other == own && j < i);
                });
            if (is_gradient) piece *= sign;
        }
        warp.each([&](int lane) {
            if (lane == 0) out[job] = piece;
        });
    }
};

struct SumOfPieces {
    const double* pieces;
    double* volumes;
    std::int32_t points;
    PARETOPO_HD void operator()(std::int64_t g) const {
        double sum = 0.0;
        for (std::int32_t i = 0; i < points; ++i) sum += pieces[g * points + i];
        volumes[g] = sum;
    }
};

template <typename Scalar>
struct Contribution {
    Batch<Scalar> batch;
    Reference ref;
    double* contributions;
    bool ignore_dominated;

    std::int64_t room() const {
        Carve room(nullptr);
        Exclusive(room, batch.points, batch.objectives);
        return room.end();
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
            Carve room(memory);
            Exclusive exclusive(room, batch.points, batch.objectives);
            own = exclusive.volume(
                warp, batch.objectives, 1.0, [&](std::int32_t k) { return set.side(i, k); },
                [&](std::int64_t j, double* sides) {
                    if (j == i || !set.is_inside(j, kAll, sides)) return false;
                    return !ignore_dominated || !set.dominates(i, j);
                });
        }
        warp.each([&](int lane) {
            if (lane == 0) contributions[job] = own;
        });
    }

  private:
    // Those that point i dominates take nothing from it then; what others dominate lies within
    // what these take.
    template <typename Warp>
    PARETOPO_HD bool is_left_out(Warp& warp, const PointOfSet<Scalar>& set, std::int64_t i) const {
        if (!ignore_dominated) return false;
        return warp.any([&](int lane) {
            bool found = false;
            for (std::int64_t j = lane; j < batch.points; j += warp.lanes()) {
                found |= set.is_inside(j, -1, nullptr) && set.dominates(j, i);
            }
            return found;
        });
    }
};

template <typename Job>
void check_room(const Job& job, const char* operation) {
    if (job.batch.objectives <= kMostSides && job.room() <= kMostRoom) return;
    std::int32_t most = 0;
    if (job.batch.objectives <= kMostSides) {
        Job smaller = job;
        for (smaller.batch.points = 1; smaller.room() <= kMostRoom; ++smaller.batch.points) {
            most = smaller.batch.points;
        }
    }
    throw std::invalid_argument(
        std::string(operation) + " on a GPU takes sets of up to " + std::to_string(most) +
        " points with " + std::to_string(job.batch.objectives) + " objectives (and up to " +
        std::to_string(kMostSides) + " objectives), got " + std::to_string(job.batch.points) +
        ": move the points to the CPU, where sets of any size are measured");
}

inline Reference reference_of(const double* ref, std::int32_t objectives) {
    Reference by_value{};
    for (std::int32_t m = 0; m < objectives && m < kMostSides; ++m) by_value.at[m] = ref[m];
    return by_value;
}

template <typename Place, typename Scalar>
void hypervolume(Place place, Batch<Scalar> batch, const double* ref, double* volumes) {
    if (batch.groups == 0) return;
    auto launcher = launcher_of(place, "hypervolume");
    const Reference by_value = reference_of(ref, batch.objectives);
    auto* pieces = reinterpret_cast<double*>(place.scratch);
    if (batch.points > 0 && batch.objectives <= 3) {
        return sweep(launcher, limits_of(place), batch, by_value, volumes, place.scratch);
    }
    if (batch.points > 0) {
        const Facet<Scalar> job{batch, by_value, pieces, false};
        check_room(job, "hypervolume");
        launcher.warps(job.jobs(), job.room(), job);
    }
    launcher.threads(batch.groups, SumOfPieces{pieces, volumes, batch.points});
}

template <typename Place, typename Scalar>
void hypervolume_gradient(Place place, Batch<Scalar> batch, const double* ref, double* gradient) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "the gradient of hypervolume");
    const Facet<Scalar> job{batch, reference_of(ref, batch.objectives), gradient, true};
    check_room(job, "the gradient of hypervolume");
    launcher.warps(job.jobs(), job.room(), job);
}

template <typename Place, typename Scalar>
void hv_contributions(Place place, Batch<Scalar> batch, const double* ref, bool ignore_dominated,
                      double* contributions) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "hv_contributions");
    const Contribution<Scalar> job{batch, reference_of(ref, batch.objectives), contributions,
                                   ignore_dominated};
    check_room(job, "hv_contributions");
    launcher.warps(batch.groups * batch.points, job.room(), job);
}

}  // namespace paretopo::gpu
