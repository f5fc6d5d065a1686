// The exclusive volume of each point of a set of 2 or 3 objectives.
//
// The sweep over z keeps the exclusive area of each point of the staircase as boxes: columns from
// its own height down to the points above it in z. A new point takes over the columns that it
// covers. Each column that closes adds its area times the height over which it was open.
//
// Source: Emmerich and Fonseca, 2011, "Computing hypervolume contributions in low dimensions:
// asymptotically optimal algorithm and complexity results", EMO.
#include <algorithm>
#include <utility>

#include "cpu/runtime/interrupt.hpp"
#include "cpu/volume/dimension_sweep.hpp"

namespace paretopo::cpu {
bool DimensionSweep::contributions_3d(const double* sides, std::size_t count,
                                      const Ignorable& ignorable, double* own) {
    rank_by_x(sides, count);
    take_sorted(sides, count);
    exclusive_.clear(count);
    std::fill_n(own, count, 0.0);
    const auto closed = [own](std::uint32_t index, double volume) { own[index] = volume; };
    Poller poller;
    for (const auto& [x, y, z, index] : boxes_) {
        poller.step();
        const std::uint32_t cover = exclusive_.first_from(ranks_[index]);
        const ExclusiveStaircase::Step& step = exclusive_[cover];
        if (step.y >= y) {
            const bool is_copy = step.x == x && step.y == y && step.z == z;
            if (ignorable) {
                if (!ignorable(step.index, index)) return false;
                if (!is_copy) continue;
            }
            if (exclusive_[step.right].y >= y) continue;  // two points cover it: nothing changes
            exclusive_.cut_corner(cover, x, y, z);
            continue;
        }
        exclusive_.insert(x, y, z, index, ranks_[index], cover, closed);
    }
    exclusive_.close_all(closed);
    return true;
}

void DimensionSweep::rank_by_x(const double* sides, std::size_t count) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = ascending_key(sides[3 * i]);
    order_.sort();
    ranks_.resize(count);
    std::uint32_t rank = 0;
    for_each_item(count, [&](std::size_t k) {
        rank += k > 0 && !order_.repeats(k);
        ranks_[order_.at(k)] = rank;
    });
}

// Fills rows_, x descending; among rows of equal x the highest comes first.
void DimensionSweep::order_by_x(const double* sides, std::size_t count) {
    const SortedKeys order = order_.sorted();
    rows_.resize(count);
    std::uint32_t* const rows = rows_.data();
    bool has_ties = false;
    for (std::size_t k = 0; k < count; ++k) {
        rows[k] = order.at(k);
        has_ties |= order.repeats(k);
    }
    if (!has_ties) return;
    const auto is_before = [sides](std::uint32_t a, std::uint32_t b) {
        const double y_a = sides[2 * std::size_t{a} + 1];
        const double y_b = sides[2 * std::size_t{b} + 1];
        return y_a != y_b ? y_a > y_b : a < b;
    };
    for (std::size_t first = 0, end = 0; first < count; first = end) {
        for (++end; end < count && order.repeats(end);) ++end;
        if (end - first > 1) std::sort(rows + first, rows + end, is_before);
    }
}

// The contributions of a front in the order of x: the rectangles between neighbours. False if y
// does not rise along the order. Stops at the first pair that shows this.
bool DimensionSweep::contributions_of_front(const double* sides, double* own) {
    constexpr std::size_t kPollInterval = 4096;
    const SortedKeys order = order_.sorted();
    double x = sides[2 * std::size_t{order.at(0)}];
    double below = 0.0;
    for (std::size_t first = 0; first < order.size; first += kPollInterval) {
        if (first > 0) check_interrupt();
        const std::size_t end = std::min(first + kPollInterval, order.size);
        for (std::size_t k = first; k < end; ++k) {
            __builtin_prefetch(sides + 2 * std::size_t{order.ahead(k)});
            const std::size_t row = order.at(k);
            const double left = k + 1 < order.size ? sides[2 * std::size_t{order.at(k + 1)}] : 0.0;
            const double y = sides[2 * row + 1];
            if (!(y > below) || left == x) return false;
            own[row] = (x - left) * (y - below);
            x = left;
            below = y;
        }
    }
    return true;
}

// Point k of the front exclusively owns the rectangle to the right of its successor and above its
// predecessor: all of it, or only the part above the staircase of the points that k dominates.
bool DimensionSweep::contributions_2d(const double* sides, std::size_t count,
                                      const Ignorable& ignorable, double* own) {
    if (count == 0) return true;
    order_.keys.resize(count);
    std::uint64_t* keys = order_.keys.data();
    for (std::size_t i = 0; i < count; ++i) keys[i] = descending_key(sides[2 * i]);
    order_.sort();
    if (contributions_of_front(sides, own)) return true;

    order_by_x(sides, count);
    struct Box {
        double x, y;
    };
    const auto box = [sides, rows = rows_.data()](std::size_t k) {
        const double* side = sides + 2 * std::size_t{rows[k]};
        return Box{side[0], side[1]};
    };
    std::fill_n(own, count, 0.0);
    double below = 0.0;
    Poller poller;
    for (std::size_t k = 0, next = 0; k < count; k = next) {
        poller.step();
        const auto [x, y] = box(k);
        const std::uint32_t row = rows_[k];
        next = k + 1;
        for (; next < count; ++next) {
            const Box other = box(next);
            if (other.y > y) break;
            const bool has_equal_side = other.x == x || other.y == y;
            if (ignorable && has_equal_side && !ignorable(row, rows_[next])) return false;
        }
        const double left = next < count ? box(next).x : 0.0;
        const bool has_copy = k + 1 < count && box(k + 1).x == x && box(k + 1).y == y;
        if (!has_copy) {
            double edge = x;
            double floor = below;
            for (std::size_t i = k + 1; !ignorable && i < next && box(i).x > left; ++i) {
                own[row] += (edge - box(i).x) * (y - floor);
                edge = box(i).x;
                floor = std::max(floor, box(i).y);
            }
            own[row] += (edge - left) * (y - floor);
        }
        below = y;
    }
    return true;
}

}  // namespace paretopo::cpu
