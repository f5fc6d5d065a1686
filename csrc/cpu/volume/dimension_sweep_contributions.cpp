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

// Among boxes of equal x the highest comes first.
void DimensionSweep::sort_ties() {
    const auto is_before = [](const IndexedBox& a, const IndexedBox& b) {
        return a.y != b.y ? a.y > b.y : a.index < b.index;
    };
    for (std::size_t first = 0, end = 0; first < boxes_.size(); first = end) {
        for (++end; end < boxes_.size() && boxes_[end].x == boxes_[first].x;) ++end;
        if (end - first == 1) continue;
        std::sort(boxes_.begin() + static_cast<std::ptrdiff_t>(first),
                  boxes_.begin() + static_cast<std::ptrdiff_t>(end), is_before);
    }
}

// Point k of the front exclusively owns the rectangle to the right of its successor and above its
// predecessor: all of it, or only the part above the staircase of the points that k dominates.
bool DimensionSweep::contributions_2d(const double* sides, std::size_t count,
                                      const Ignorable& ignorable, double* own) {
    order_.keys.resize(count);
    std::uint64_t* keys = order_.keys.data();
    for (std::size_t i = 0; i < count; ++i) keys[i] = descending_key(sides[2 * i]);
    order_.sort();
    boxes_.resize(count);
    bool has_ties = false;
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t i = order_.at(k);
        const double* side = sides + 2 * std::size_t{i};
        boxes_[k] = {side[0], side[1], 1.0, i};
        has_ties |= k > 0 && boxes_[k - 1].x == side[0];
    }
    if (has_ties) sort_ties();
    std::fill_n(own, count, 0.0);

    double below = 0.0;
    Poller poller;
    for (std::size_t k = 0, next = 0; k < count; k = next) {
        poller.step();
        const auto [x, y, z, index] = boxes_[k];
        next = k + 1;
        while (next < count && boxes_[next].y <= y) {
            if (ignorable && !ignorable(index, boxes_[next].index)) return false;
            ++next;
        }
        const double left = next < count ? boxes_[next].x : 0.0;
        const bool has_copy = k + 1 < count && boxes_[k + 1].x == x && boxes_[k + 1].y == y;
        if (!has_copy) {
            double edge = x;
            double floor = below;
            for (std::size_t i = k + 1; !ignorable && i < next && boxes_[i].x > left; ++i) {
                own[index] += (edge - boxes_[i].x) * (y - floor);
                edge = boxes_[i].x;
                floor = std::max(floor, boxes_[i].y);
            }
            own[index] += (edge - left) * (y - floor);
        }
        below = y;
    }
    return true;
}

}  // namespace paretopo::cpu
