#include "cpu/hypervolume_3d.hpp"

#include <algorithm>

namespace paretopo::cpu {

// Into rows_, z descending; equal ones in the order of their indices.
void Sweep::take(const double* sides, std::size_t count) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = descending_key(sides[3 * i + 2]);
    order_.sort();
    rows_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t i = order_.at(k);
        const double* side = sides + 3 * std::size_t{i};
        rows_[k] = {side[0], side[1], side[2], i};
    }
}

void Sweep::take_in_order(const double* sides, std::size_t count) {
    take(sides, count);
    const auto is_before = [](const Row& a, const Row& b) {
        if (a.x != b.x) return a.x > b.x;
        if (a.y != b.y) return a.y > b.y;
        return a.index < b.index;
    };
    for (std::size_t first = 0, end = 0; first < count; first = end) {
        for (++end; end < count && rows_[end].z == rows_[first].z;) ++end;
        if (end - first == 1) continue;
        std::sort(rows_.begin() + static_cast<std::ptrdiff_t>(first),
                  rows_.begin() + static_cast<std::ptrdiff_t>(end), is_before);
    }
}

double Sweep::volume_2d(const double* sides, std::size_t count) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = descending_key(sides[2 * i]);
    order_.sort();
    double area = 0.0;
    double height = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
        const double* side = sides + 2 * std::size_t{order_.at(k)};
        if (!(side[1] > height)) continue;
        area += side[0] * (side[1] - height);
        height = side[1];
    }
    return area;
}

double Sweep::volume_3d(const double* sides, std::size_t count) {
    take(sides, count);
    staircase_.clear();
    double volume = 0.0;
    for (const Row& row : rows_) {
        const Maxima::Place place = staircase_.first_not_left_of(row.x);
        const Maxima::Step* cover = staircase_.at(place);
        if (cover && cover->y >= row.y) continue;
        double floor = cover ? cover->y : 0.0;
        double edge = row.x;
        double area = 0.0;
        const auto neighbours =
            staircase_.insert(place, {row.x, row.y, 0}, [&](const Maxima::Step& removed) {
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
