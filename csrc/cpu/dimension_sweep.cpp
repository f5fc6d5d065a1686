#include "cpu/dimension_sweep.hpp"

#include <algorithm>

#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {

template <typename Before>
void DimensionSweep::take(const double* sides, std::size_t count, Before is_before) {
    boxes_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* side = sides + 3 * i;
        boxes_[i] = {side[0], side[1], side[2], static_cast<std::uint32_t>(i)};
    }
    sort_boxes_.sort(boxes_, [](const IndexedBox& box) { return box.z; }, is_before);
}

void DimensionSweep::take_sorted(const double* sides, std::size_t count) {
    take(sides, count, [](const IndexedBox& a, const IndexedBox& b) {
        if (a.z != b.z) return a.z > b.z;
        if (a.x != b.x) return a.x > b.x;
        if (a.y != b.y) return a.y > b.y;
        return a.index < b.index;
    });
}

double DimensionSweep::volume_2d(const double* sides, std::size_t count) {
    rectangles_.resize(count);
    for (std::size_t i = 0; i < count; ++i) rectangles_[i] = {sides[2 * i], sides[2 * i + 1]};
    sort_rectangles_.sort(
        rectangles_, [](const Rectangle& rectangle) { return rectangle.x; },
        [](const Rectangle& a, const Rectangle& b) { return a.x > b.x; });
    double area = 0.0;
    double height = 0.0;
    for (const auto& [x, y] : rectangles_) {
        if (!(y > height)) continue;
        area += x * (y - height);
        height = y;
    }
    return area;
}

double DimensionSweep::volume_3d(const double* sides, std::size_t count) {
    take(sides, count, [](const IndexedBox& a, const IndexedBox& b) { return a.z > b.z; });
    staircase_.clear();
    double volume = 0.0;
    Pace pace;
    for (const IndexedBox& row : boxes_) {
        pace.step();
        const StaircaseOfMaxima::Place place = staircase_.first_not_left_of(row.x);
        const StaircaseOfMaxima::Step* cover = staircase_.at(place);
        if (cover && cover->y >= row.y) continue;
        double floor = cover ? cover->y : 0.0;
        double edge = row.x;
        double area = 0.0;
        const auto neighbours = staircase_.insert(place, {row.x, row.y, 0},
                                                  [&](const StaircaseOfMaxima::Step& removed) {
                                                      area += (edge - removed.x) * (row.y - floor);
                                                      edge = removed.x;
                                                      floor = removed.y;
                                                  });
        area += (edge - (neighbours.left ? neighbours.left->x : 0.0)) * (row.y - floor);
        volume += area * row.z;
    }
    return volume;
}

}  // namespace paretopo::cpu
