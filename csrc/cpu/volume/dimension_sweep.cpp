#include "cpu/volume/dimension_sweep.hpp"

#include <algorithm>

#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {

void DimensionSweep::take(const double* sides, std::size_t count) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = descending_key(sides[3 * i + 2]);
    order_.sort();
    boxes_.resize(count);
    Poller poller;
    for (std::size_t k = 0; k < count; ++k) {
        poller.step();
        const std::uint32_t i = order_.at(k);
        const double* side = sides + 3 * std::size_t{i};
        boxes_[k] = {side[0], side[1], side[2], i};
    }
}

void DimensionSweep::take_sorted(const double* sides, std::size_t count) {
    take(sides, count);
    const auto is_before = [](const IndexedBox& a, const IndexedBox& b) {
        if (a.x != b.x) return a.x > b.x;
        if (a.y != b.y) return a.y > b.y;
        return a.index < b.index;
    };
    for (std::size_t first = 0, end = 0; first < count; first = end) {
        for (++end; end < count && boxes_[end].z == boxes_[first].z;) ++end;
        if (end - first == 1) continue;
        std::sort(boxes_.begin() + static_cast<std::ptrdiff_t>(first),
                  boxes_.begin() + static_cast<std::ptrdiff_t>(end), is_before);
    }
}

double DimensionSweep::volume_2d(const double* sides, std::size_t count) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = descending_key(sides[2 * i]);
    order_.sort();
    const SortedKeys order = order_.sorted();
    double area = 0.0;
    double height = 0.0;
    for_each_item(count, [&](std::size_t k) {
        __builtin_prefetch(sides + 2 * std::size_t{order.ahead(k)});
        const double* side = sides + 2 * std::size_t{order.at(k)};
        if (!(side[1] > height)) return;
        area += side[0] * (side[1] - height);
        height = side[1];
    });
    return area;
}

double DimensionSweep::volume_3d(const double* sides, std::size_t count) {
    take(sides, count);
    staircase_.clear();
    double volume = 0.0;
    Poller poller;
    for (const IndexedBox& row : boxes_) {
        poller.step();
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
