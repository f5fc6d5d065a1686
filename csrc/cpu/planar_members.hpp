// The members of an archive of 2 objectives as a staircase: O(log n) for an addition, and for each
// member that leaves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/key_order.hpp"
#include "cpu/staircase_of_maxima.hpp"

namespace paretopo::cpu {

// Points here: any finite numbers of which more is better.
class PlanarMembers {
  public:
    explicit PlanarMembers(const double* ref) : ref_{ref[0], ref[1]} {}

    bool is_covered(double x, double y) const {
        const StaircaseOfMaxima::Step* cover = staircase_.at(staircase_.first_not_left_of(x));
        return cover && cover->y >= y;
    }

    // Adds a point that none covers; members that it covers leave. Returns the area that it gains.
    // If memory runs out, nothing has changed.
    double add_member(double x, double y) {
        if (arrivals_ == std::numeric_limits<std::uint32_t>::max()) renumber();
        staircase_.reserve_one();
        const StaircaseOfMaxima::Place place = staircase_.first_not_left_of(x);
        const StaircaseOfMaxima::Step* right = staircase_.at(place);
        double floor = right ? side(right->y, 1) : 0.0;
        double edge = side(x, 0);
        const double top = side(y, 1);
        double area = 0.0;
        // Where the point is no better than the reference, all strips are empty.
        const auto strip = [&](double end) {
            if (top > floor && edge > end) area += (edge - end) * (top - floor);
        };
        const auto found =
            staircase_.insert(place, {x, y, arrivals_}, [&](const StaircaseOfMaxima::Step& left) {
                strip(side(left.x, 0));
                edge = std::min(edge, side(left.x, 0));
                floor = std::max(floor, side(left.y, 1));
                --count_;
            });
        strip(found.left ? side(found.left->x, 0) : 0.0);
        ++arrivals_;
        ++count_;
        return area;
    }

    std::size_t members() const { return count_; }

    // Calls visit(x, y) in the order of arrival.
    template <typename Visit>
    void for_each(Visit visit) const {
        std::vector<StaircaseOfMaxima::Step> steps;
        steps.reserve(count_);
        KeyOrder order;
        order.keys.reserve(count_);
        staircase_.for_each([&](const StaircaseOfMaxima::Step& step) {
            steps.push_back(step);
            order.keys.push_back(step.id);
        });
        order.sort();
        for (std::size_t k = 0; k < steps.size(); ++k) {
            visit(steps[order.at(k)].x, steps[order.at(k)].y);
        }
    }

    void clear() {
        staircase_.clear();
        count_ = 0;
        arrivals_ = 0;
    }

  private:
    // From the reference, 0 if on its wrong side.
    double side(double value, int m) const {
        constexpr double kLargest = std::numeric_limits<double>::max();
        return std::clamp(value - ref_[m], 0.0, kLargest);
    }

    void renumber() {
        StaircaseOfMaxima fresh;
        std::uint32_t arrivals = 0;
        for_each([&](double x, double y) {
            fresh.reserve_one();
            fresh.insert(fresh.first_not_left_of(x), {x, y, arrivals++}, [](const auto&) {});
        });
        staircase_ = std::move(fresh);
        arrivals_ = arrivals;
    }

    double ref_[2];
    StaircaseOfMaxima staircase_;
    std::size_t count_ = 0;
    std::uint32_t arrivals_ = 0;
};

}  // namespace paretopo::cpu
