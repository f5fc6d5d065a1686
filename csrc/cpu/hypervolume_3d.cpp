#include "cpu/hypervolume_3d.hpp"

#include <algorithm>

#include "cpu/interrupt.hpp"

namespace paretopo::cpu {

template <typename Before>
void Sweep::take(const double* sides, std::size_t count, Before is_before) {
    rows_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const double* side = sides + 3 * i;
        rows_[i] = {side[0], side[1], side[2], static_cast<std::uint32_t>(i)};
    }
    sort_rows_.sort(rows_, [](const Row& row) { return row.z; }, is_before);
}

void Sweep::take_in_order(const double* sides, std::size_t count) {
    take(sides, count, [](const Row& a, const Row& b) {
        if (a.z != b.z) return a.z > b.z;
        if (a.x != b.x) return a.x > b.x;
        if (a.y != b.y) return a.y > b.y;
        return a.index < b.index;
    });
}

double Sweep::volume_2d(const double* sides, std::size_t count) {
    pairs_.resize(count);
    for (std::size_t i = 0; i < count; ++i) pairs_[i] = {sides[2 * i], sides[2 * i + 1]};
    sort_pairs_.sort(
        pairs_, [](const Pair& pair) { return pair.x; },
        [](const Pair& a, const Pair& b) { return a.x > b.x; });
    double area = 0.0;
    double height = 0.0;
    for (const auto& [x, y] : pairs_) {
        if (!(y > height)) continue;
        area += x * (y - height);
        height = y;
    }
    return area;
}

double Sweep::volume_3d(const double* sides, std::size_t count) {
    take(sides, count, [](const Row& a, const Row& b) { return a.z > b.z; });
    staircase_.clear();
    double volume = 0.0;
    Pace pace;
    for (const Row& row : rows_) {
        pace.step();
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
