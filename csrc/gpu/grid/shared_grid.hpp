// The grid of ONE group by a team. Points are sorted by counting, and each lane measures slabs of
// its own (formulas/attainment.hpp). Slabs are summed in ascending order, so that the results equal
// those of one lane, bit for bit.
#pragma once

#include <cmath>
#include <cstdint>

#include "batch.hpp"
#include "formulas/attainment.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/volume/sides.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

class SharedGrid {
  public:
    PARETOPO_HD SharedGrid(Arena& arena, std::int32_t points, std::int32_t objectives,
                           std::int32_t lanes, bool of_boxes)
        : points_(points),
          objectives_(objectives),
          given_(arena.array<double>(std::int64_t{points} * objectives)),
          sides_(arena.array<double>(std::int64_t{points} * objectives)),
          weights_(arena.array<double>(points + 1)),
          boxes_(arena.array<double>(points)),
          in_slab_(arena.array<double>(of_boxes ? std::int64_t{points} * lanes : 0)),
          totals_(arena.array<double>(lanes + 1)),
          active_(arena.array<std::uint64_t>(std::int64_t{SlabIntegral::words(points)} *
                                             objectives * lanes)),
          levels_(arena.array<SlabIntegral::Level>(std::int64_t{objectives} * lanes)),
          order_(arena.array<std::int32_t>(std::int64_t{points} * objectives)),
          rows_(arena.array<std::int32_t>(points)),
          powers_(arena.array<std::int32_t>(objectives)),
          refused_(arena.array<std::int32_t>(1)) {}

    // Reads and sorts the sides; padding and points outside get sides of 0.
    template <typename Team, typename Scalar, typename Corners>
    PARETOPO_HD void read(Team& team, const Batch<Scalar>& batch, const Corners& ref,
                          std::int64_t g) {
        const std::uint8_t* mask = batch.group_mask(g);
        for_each(team, points_, [&](std::int64_t i) {
            const Scalar* point = batch.group(g) + i * objectives_;
            double* own = given_ + i * objectives_;
            bool is_inside = !mask || mask[i] != 0;
            for (std::int32_t m = 0; m < objectives_; ++m) {
                own[m] = side_as_given(point[m], ref.at(g, m, objectives_), batch.is_minimised(m));
                is_inside = is_inside && own[m] > 0.0;
            }
            for (std::int32_t m = 0; m < objectives_ && !is_inside; ++m) own[m] = 0.0;
            if (i == 0) *refused_ = 0;
        });
        count_ = team.count([&](int lane) {
            int own = 0;
            for (std::int64_t i = lane; i < points_; i += team.lanes()) {
                own += !mask || mask[i] != 0;
            }
            return own;
        });
        for_each(team, points_, [&](std::int64_t i) {
            const auto corner = [&](std::int32_t m) { return ref.at(g, m, objectives_); };
            if (is_refused_point(batch, g, i, corner)) team.atomic_max(refused_, 1);
            const std::int32_t place =
                place_of(i, [&](std::int64_t j) { return given_[j * objectives_]; });
            rows_[place] = static_cast<std::int32_t>(i);
            for (std::int32_t m = 0; m < objectives_; ++m) {
                sides_[std::int64_t{m} * points_ + place] = given_[i * objectives_ + m];
            }
        });
        for_each(team, points_, [&](std::int64_t j) {
            const auto name = static_cast<std::int32_t>(j);
            order_[j] = name;
            for (std::int32_t m = 1; m < objectives_; ++m) {
                const double* side = sides_ + std::int64_t{m} * points_;
                const std::int32_t place = place_of(j, [&](std::int64_t i) { return side[i]; });
                order_[std::int64_t{m} * points_ + place] = name;
            }
        });
        scale(team);
    }

    PARETOPO_HD bool is_refused() const { return *refused_ != 0; }
    PARETOPO_HD std::int32_t count() const { return count_; }
    PARETOPO_HD int exponent() const { return exponent_; }
    PARETOPO_HD const double* boxes() const { return boxes_; }

    // The integral over the whole space; the result is for lane 0 only.
    template <typename Team>
    PARETOPO_HD double* total(Team& team, std::int32_t k) {
        weigh(team, CellWeight::kHit, k);
        const Grid grid = this->grid();
        double* total = totals_ + team.lanes();
        for (std::int32_t first = 0; first < grid.slabs(); first += team.lanes()) {
            measure(team, grid, first, false);
            team.each([&](int lane) {
                if (lane != 0) return;
                if (first == 0) *total = 0.0;
                each_slab(team, grid, first, [&](std::int32_t slab, double height) {
                    *total += height * totals_[slab];
                });
            });
        }
        return total;
    }

    // Integrals over the box of each point, for all lanes.
    template <typename Team>
    PARETOPO_HD void measure_boxes(Team& team, CellWeight kind, std::int32_t k) {
        weigh(team, kind, k);
        const Grid grid = this->grid();
        for (std::int32_t first = 0; first < grid.slabs(); first += team.lanes()) {
            measure(team, grid, first, true);
            for_each(team, points_, [&](std::int64_t j) {
                double own = first == 0 ? 0.0 : boxes_[rows_[j]];
                each_slab(team, grid, first, [&](std::int32_t slab, double height) {
                    own += height * in_slab_[j * team.lanes() + slab];
                });
                boxes_[rows_[j]] = own;
            });
        }
    }

  private:
    // The number of points before point i in ascending order.
    template <typename Value>
    PARETOPO_HD std::int32_t place_of(std::int64_t i, Value value) const {
        const double own = value(i);
        std::int32_t place = 0;
        for (std::int64_t j = 0; j < points_; ++j) {
            const double other = value(j);
            place += other < own || (other == own && j < i);
        }
        return place;
    }

    // No barrier at the end: the next step that reads sides comes after `weigh`.
    template <typename Team>
    PARETOPO_HD void scale(Team& team) {
        for_each(team, objectives_, [&](std::int64_t m) {
            const std::int32_t* order = order_ + m * points_;
            powers_[m] = excess_power(sides_[m * points_ + order[points_ - 1]], objectives_);
        });
        exponent_ = 0;
        bool is_safe = true;
        for (std::int32_t m = 0; m < objectives_; ++m) {
            exponent_ += powers_[m];
            is_safe = is_safe && powers_[m] == 0;
        }
        if (is_safe) return;
        for_each_unsynced(team, points_, [&](std::int64_t j) {
            for (std::int32_t m = 0; m < objectives_; ++m) {
                double& side = sides_[std::int64_t{m} * points_ + j];
                side = ldexp(side, -powers_[m]);
            }
        });
    }

    template <typename Team>
    PARETOPO_HD void weigh(Team& team, CellWeight kind, std::int32_t k) {
        team.each([&](int lane) {
            if (lane == 0) fill_cell_weights(kind, points_, count_, k, weights_);
        });
    }

    PARETOPO_HD Grid grid() const { return {points_, objectives_, sides_, order_, weights_}; }

    // Measures slabs `first`, first + 1, ..., one per lane.
    template <typename Team>
    PARETOPO_HD void measure(Team& team, const Grid& grid, std::int32_t first, bool of_boxes) {
        const std::int64_t width = SlabIntegral::words(points_);
        team.each([&](int lane) {
            const std::int32_t t = first + lane;
            if (t >= grid.slabs() || !(grid.height(t) > 0.0)) return;
            SlabIntegral sweep{grid, levels_ + std::int64_t{lane} * objectives_,
                               active_ + width * objectives_ * lane,
                               of_boxes ? in_slab_ + lane : nullptr, team.lanes()};
            totals_[lane] = sweep.measure(t);
        });
    }

    // Calls work(lane, height) in ascending order, with the lane that measured the slab.
    template <typename Team, typename Work>
    PARETOPO_HD void each_slab(const Team& team, const Grid& grid, std::int32_t first,
                               Work work) const {
        for (std::int32_t slab = 0; slab < team.lanes() && first + slab < grid.slabs(); ++slab) {
            const double height = grid.height(first + slab);
            if (height > 0.0) work(slab, height);
        }
    }

    std::int32_t points_, objectives_;
    double *given_, *sides_, *weights_, *boxes_, *in_slab_, *totals_;
    std::uint64_t* active_;
    SlabIntegral::Level* levels_;
    std::int32_t *order_, *rows_, *powers_, *refused_;
    std::int32_t count_ = 0;
    int exponent_ = 0;
};

}  // namespace paretopo::gpu
