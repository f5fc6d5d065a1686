// The maxima of a growing planar set whose x have ranks known in advance: the steps are linked, and
// a set of ranks finds the next one without a search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/sorting/rank_set.hpp"

namespace paretopo::cpu {

class RankedStaircase {
  public:
    // Starts empty, for up to `count` points whose positive x have the ranks 0..count - 1; equal x,
    // equal ranks.
    void clear(std::size_t count) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const auto rightmost = static_cast<std::uint32_t>(count);
        const std::uint32_t leftmost = rightmost + 1;
        steps_.resize(count + 2);
        steps_[rightmost] = {kInfinity, 0.0, leftmost, rightmost};
        steps_[leftmost] = {0.0, kInfinity, leftmost, rightmost};
        ranks_.reset(count + 1);
        ranks_.insert(rightmost);
    }

    // Returns the area that the point adds: 0 if a step covers it.
    double add(double x, double y, std::uint32_t rank) {
        const auto cover = static_cast<std::uint32_t>(ranks_.first_from(rank));
        double floor = steps_[cover].y;
        if (floor >= y) return 0.0;
        const bool is_below = cover == rank;
        const std::uint32_t right = is_below ? steps_[cover].right : cover;
        std::uint32_t left = is_below ? cover : steps_[cover].left;
        double edge = x;
        double area = 0.0;
        for (; steps_[left].y <= y; left = steps_[left].left) {
            area += (edge - steps_[left].x) * (y - floor);
            edge = steps_[left].x;
            floor = steps_[left].y;
            ranks_.erase(left);
        }
        area += (edge - steps_[left].x) * (y - floor);
        steps_[rank] = {x, y, left, right};
        steps_[left].right = rank;
        steps_[right].left = rank;
        ranks_.insert(rank);
        return area;
    }

  private:
    // x ascends and y descends from step to step.
    struct Step {
        double x, y;
        std::uint32_t left, right;  // its neighbours
    };

    std::vector<Step> steps_;  // by rank; then sentinels for the borders of the plane
    RankSet ranks_;
};

}  // namespace paretopo::cpu
