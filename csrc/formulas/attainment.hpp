// The number of points of ONE group that attain each location of objective space, and integrals
// over it: the expected hypervolume of k of the points, and the part of each point in it (HV@k).
//
// A point attains the locations of its box, from the reference to the point. With n points, c of
// which attain a location,
//
//   kHit       weighs a location by the probability that one of k drawn points attains it,
//              1 - C(n - c, k) / C(n, k); the integral is the expected hypervolume;
//   kMarginal  by the probability that none of k - 1 drawn others attains it,
//              C(n - c, k - 1) / C(n - 1, k - 1); over a point's box, its marginal contribution;
//   kSwap      by C(n - 1 - c, k - 1) / C(n - 1, k - 1) * n / (n - k), k < n; over a point's box,
//              less the group's mean, the gain of a set that swaps another point for this one.
//
// Derivation: docs/hvk.md. Every sum has positive terms only. It runs along the grid of all
// coordinates from the reference upwards, in an order that depends only on the points.
#pragma once

#include <cstdint>

#include "portability.hpp"

namespace paretopo {

// Weights of the cells of the grid, by the number of points that attain a cell.
enum class CellWeight : std::int32_t { kHit, kMarginal, kSwap };

// weights[c] for c from 0 to `points`; `count` of the points are present. k <= count.
PARETOPO_HD inline void fill_cell_weights(CellWeight kind, std::int32_t points, std::int32_t count,
                                          std::int32_t k, double* weights) {
    const std::int32_t draws = kind == CellWeight::kHit ? k : k - 1;
    const std::int32_t from = kind == CellWeight::kHit ? count : count - 1;
    const double factor =
        kind == CellWeight::kSwap ? static_cast<double>(count) / (count - k) : 1.0;
    double missed = 1.0;  // C(from - c, draws) / C(from, draws): none of the c points is drawn
    double before = 0.0;  // the same for c - 1
    double hit = 0.0;     // 1 - missed, without cancellation
    for (std::int32_t c = 0; c <= points; ++c) {
        weights[c] = kind == CellWeight::kHit    ? hit
                     : kind == CellWeight::kSwap ? missed * factor
                                                 : before;
        const std::int32_t left = from - c;
        before = missed;
        if (left <= 0) {
            missed = 0.0;
            continue;
        }
        hit += missed * draws / left;
        missed = missed * (left - draws) / left;
    }
}

// Sides of a group, sorted. A point is identified by its position in the order of the first
// objective.
struct Grid {
    std::int32_t points;
    std::int32_t objectives;
    const double* sides;        // (objectives, points)
    const std::int32_t* order;  // (objectives, points): the points by each side, ascending
    const double* weights;      // by the number of points that attain a cell
    PARETOPO_HD const double* side(std::int32_t m) const {
        return sides + std::int64_t{m} * points;
    }
    PARETOPO_HD std::int32_t lowest(std::int32_t m, std::int32_t k) const {
        return order[std::int64_t{m} * points + k];
    }
    PARETOPO_HD std::int32_t slabs() const { return objectives > 1 ? points : 1; }
    // Height of slab t, between two neighbours in the last objective.
    PARETOPO_HD double height(std::int32_t t) const {
        if (objectives == 1) return 1.0;
        const double* last = side(objectives - 1);
        const double below = t > 0 ? last[lowest(objectives - 1, t - 1)] : 0.0;
        return last[lowest(objectives - 1, t)] - below;
    }
};

// Integrates one slab of the grid over all objectives but the last, one row along the first
// objective at a time. For one lane of a team, which has its own memory.
struct SlabIntegral {
    // A row of the grid in one objective: the set of points that reach it, as bits.
    struct Level {
        double reached, area;
        std::int32_t at, left;
    };
    Grid grid;
    Level* levels;          // by objective
    std::uint64_t* active;  // (objectives, words)
    double* own;            // of each point, within its box; or null
    std::int32_t stride;    // between the values of two points

    PARETOPO_HD static std::int32_t words(std::int32_t points) { return (points + 63) / 64; }

    // The integral over slab t.
    PARETOPO_HD double measure(std::int32_t t) {
        const std::int32_t last = grid.objectives - 1;
        const std::int32_t width = words(grid.points);
        if (own) {
            for (std::int32_t j = 0; j < grid.points; ++j) own[std::int64_t{j} * stride] = 0.0;
        }
        std::uint64_t* in_slab = active + std::int64_t{last} * width;
        for (std::int32_t w = 0; w < width; ++w) in_slab[w] = 0;
        for (std::int32_t k = t; k < grid.points; ++k) {
            const std::int32_t j = grid.lowest(last, k);
            in_slab[j / 64] |= std::uint64_t{1} << j % 64;
        }
        if (last <= 1) return row(in_slab, grid.points - t, 1.0);
        levels[last] = {0.0, 1.0, 0, grid.points - t};
        return rows(last);
    }

  private:
    // Visits every row, level by level: a point leaves a level once the sweep has passed it.
    PARETOPO_HD double rows(std::int32_t last) {
        const std::int32_t width = words(grid.points);
        double total = 0.0;
        std::int32_t m = last - 1;
        enter(m);
        while (m < last) {
            Level& level = levels[m];
            if (level.at == grid.points) {
                if (++m < last) leave(m);
                continue;
            }
            const std::int32_t j = grid.lowest(m, level.at);
            std::uint64_t* here = active + std::int64_t{m} * width;
            if ((here[j / 64] >> j % 64 & 1) == 0) {
                ++level.at;
                continue;
            }
            const double height = grid.side(m)[j] - level.reached;
            level.reached = grid.side(m)[j];
            if (height > 0.0) {
                level.area = levels[m + 1].area * height;
                if (m > 1) {
                    enter(--m);
                    continue;
                }
                total += row(here, level.left, level.area);
            }
            leave(m);
        }
        return total;
    }
    PARETOPO_HD void enter(std::int32_t m) {
        const std::int32_t width = words(grid.points);
        levels[m] = {0.0, 0.0, 0, levels[m + 1].left};
        for (std::int32_t w = 0; w < width; ++w) {
            active[std::int64_t{m} * width + w] = active[std::int64_t{m + 1} * width + w];
        }
    }
    PARETOPO_HD void leave(std::int32_t m) {
        const std::int32_t j = grid.lowest(m, levels[m].at);
        active[std::int64_t{m} * words(grid.points) + j / 64] &= ~(std::uint64_t{1} << j % 64);
        --levels[m].left;
        ++levels[m].at;
    }

    // Moves away from the reference: `left` points attain the interval before the next point.
    PARETOPO_HD double row(const std::uint64_t* reaching, std::int32_t left, double area) {
        double reached = 0.0;
        double sum = 0.0;
        for (std::int32_t w = 0; w < words(grid.points); ++w) {
            for (std::uint64_t bits = reaching[w]; bits != 0; bits &= bits - 1) {
                const std::int32_t j = 64 * w + lowest_bit(bits);
                sum += grid.weights[left--] * (grid.sides[j] - reached);
                reached = grid.sides[j];
                if (own) own[std::int64_t{j} * stride] += area * sum;
            }
        }
        return area * sum;
    }
};

}  // namespace paretopo
