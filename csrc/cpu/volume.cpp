#include "cpu/volume.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "group/contributions.hpp"
#include "group/hypervolume.hpp"

namespace paretopo::cpu {
namespace {

double box_of(const double* sides, int objectives) {
    return std::accumulate(sides, sides + objectives, 1.0, std::multiplies<>());
}

bool covers(const double* a, const double* b, int objectives) {
    for (int m = 0; m < objectives; ++m) {
        if (a[m] < b[m]) return false;
    }
    return true;
}

// Removes the rows that `point` covers, keeping the order of the others.
void drop_covered(std::vector<double>& rows, const double* point, int objectives) {
    const auto width = static_cast<std::size_t>(objectives);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < rows.size(); at += width) {
        if (covers(point, &rows[at], objectives)) continue;
        if (kept != at) std::copy_n(&rows[at], width, &rows[kept]);
        kept += width;
    }
    rows.resize(kept);
}

// Appends a row unless it is covered; removes those it covers.
void keep_if_nondominated(std::vector<double>& rows, const double* row, int objectives) {
    const auto width = static_cast<std::size_t>(objectives);
    for (std::size_t at = 0; at < rows.size(); at += width) {
        if (covers(&rows[at], row, objectives)) return;
    }
    drop_covered(rows, row, objectives);
    rows.insert(rows.end(), row, row + objectives);
}

}  // namespace

Volume::Level& Volume::level(int objectives) {
    const auto index = static_cast<std::size_t>(objectives);
    return levels_[index];
}

double Volume::of(const double* sides, std::size_t count, int objectives) {
    // Recursion only goes to fewer objectives, so levels never move under a caller's feet.
    if (levels_.size() <= static_cast<std::size_t>(objectives)) {
        levels_.resize(static_cast<std::size_t>(objectives) + 1);
    }
    if (count == 0) return 0.0;
    if (count == 1) return box_of(sides, objectives);
    switch (objectives) {
        case 1:
            return *std::max_element(sides, sides + count);
        case 2:
            return of_2d(sides, count);
        case 3:
            return of_3d(sides, count);
        default:
            return by_slices(sides, count, objectives);
    }
}

void Volume::sort_by_last(const double* sides, std::size_t count, int objectives) {
    auto& order = level(objectives).order;
    order.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        order[i] = {-sides[(i + 1) * static_cast<std::size_t>(objectives) - 1],
                    static_cast<std::uint32_t>(i)};
    }
    std::sort(order.begin(), order.end());
}

double Volume::of_2d(const double* sides, std::size_t count) {
    sort_by_last(sides, count, 2);
    double area = 0.0;
    double width = 0.0;
    for (const auto& [last, i] : level(2).order) {
        const double x = sides[2 * static_cast<std::size_t>(i)];
        if (!(x > width)) continue;
        area += (x - width) * -last;
        width = x;
    }
    return area;
}

double Volume::of_3d(const double* sides, std::size_t count) {
    constexpr std::size_t kFlat = 48;  // up to here moving steps is cheaper than chunks
    sort_by_last(sides, count, 3);
    double volume = 0.0;
    if (count <= kFlat) {
        std::array<double, kFlat> x;
        std::array<double, kFlat> y;
        FlatStaircase staircase(x.data(), y.data());
        for (const auto& [last, i] : level(3).order) {
            const double* side = sides + 3 * static_cast<std::size_t>(i);
            volume += staircase.add(side[0], side[1]) * -last;
        }
        return volume;
    }

    staircase_.clear();
    for (const auto& [last, i] : level(3).order) {
        const double x = -sides[3 * static_cast<std::size_t>(i)];  // a staircase holds minima
        const double y = -sides[3 * static_cast<std::size_t>(i) + 1];
        const auto* left = staircase_.step_at_or_left(x);
        double floor = left ? left->y : 0.0;
        if (floor <= y) continue;
        double gain = 0.0;
        double edge = x;
        const auto next = staircase_.insert(x, y, [&](const auto& removed) {
            gain += (removed.x - edge) * (floor - y);
            edge = removed.x;
            floor = removed.y;
        });
        gain += ((next ? next->x : 0.0) - edge) * (floor - y);
        volume += gain * -last;
    }
    return volume;
}

double Volume::by_slices(const double* sides, std::size_t count, int objectives) {
    sort_by_last(sides, count, objectives);
    Level& mine = level(objectives);
    const int rest = objectives - 1;
    mine.slice.clear();  // the rows before this one, without the last objective, non-dominated
    double volume = 0.0;
    for (const auto& [last, i] : mine.order) {
        const double* point =
            sides + static_cast<std::size_t>(i) * static_cast<std::size_t>(objectives);
        const std::size_t rows = mine.slice.size() / static_cast<std::size_t>(rest);
        const double gain = exclusive(point, mine.slice.data(), rows, rest);
        if (!(gain > 0.0)) continue;
        volume += gain * -last;
        drop_covered(mine.slice, point, rest);
        mine.slice.insert(mine.slice.end(), point, point + rest);
    }
    return volume;
}

double Volume::exclusive(const double* point, const double* sides, std::size_t count,
                         int objectives, std::size_t skip) {
    if (levels_.size() <= static_cast<std::size_t>(objectives)) {
        levels_.resize(static_cast<std::size_t>(objectives) + 1);
    }
    Level& mine = level(objectives);
    const auto width = static_cast<std::size_t>(objectives);
    mine.corner.assign(width, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
        if (i == skip) continue;
        if (raise_corner(point, sides + i * width, objectives, mine.corner.data())) return 0.0;
    }

    mine.limited.clear();
    mine.box.resize(width);
    for (std::size_t i = 0; i < count; ++i) {
        if (i == skip || !limit_to_box(point, mine.corner.data(), sides + i * width, objectives,
                                       mine.box.data())) {
            continue;
        }
        if (objectives > 3) {
            keep_if_nondominated(mine.limited, mine.box.data(), objectives);
        } else {
            mine.limited.insert(mine.limited.end(), mine.box.begin(), mine.box.end());
        }
    }
    for (std::size_t m = 0; m < width; ++m) mine.box[m] = point[m] - mine.corner[m];
    const double box = box_of(mine.box.data(), objectives);
    const double shared = of(mine.limited.data(), mine.limited.size() / width, objectives);
    return std::max(0.0, box - shared);
}

}  // namespace paretopo::cpu
