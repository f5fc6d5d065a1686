// What each point of a set of 2 or 3 objectives dominates alone.
//
// The sweep over z keeps, for each point of the staircase, the part of the plane that it alone
// dominates, as boxes: columns from its own height down to what points above it in z cover. A new
// point takes over the columns that it covers; each column that closes adds its area times the
// height that it was open for.
//
// Source: Emmerich and Fonseca, 2011, "Computing hypervolume contributions in low dimensions:
// asymptotically optimal algorithm and complexity results", EMO.
#include <algorithm>
#include <utility>

#include "cpu/dimension_sweep.hpp"
#include "cpu/lanes/interrupt.hpp"

namespace paretopo::cpu {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

// Columns of one owner from left to right; their lower ends descend, their upper end is the y of
// the owner.
struct Column {
    double left, right, low, since;  // since: the z at which it opened
    std::uint32_t previous, next;
};

class Owners {
  public:
    explicit Owners(std::size_t count) : first_(count, kNone), last_(count, kNone) {
        columns_.reserve(count);
    }

    void append(std::uint32_t owner, double left, double right, double low, double z) {
        insert_after(owner, last_[owner], left, right, low, z);
    }

    void prepend(std::uint32_t owner, double left, double right, double low, double z) {
        insert_after(owner, kNone, left, right, low, z);
    }

    // Closes all columns at z; returns what they enclose.
    double close(std::uint32_t owner, double y, double z) {
        double volume = 0.0;
        for (std::uint32_t c = first_[owner]; c != kNone;) {
            volume += enclosed(columns_[c], y, z);
            const std::uint32_t next = columns_[c].next;
            free_.push_back(c);
            c = next;
        }
        first_[owner] = last_[owner] = kNone;
        return volume;
    }

    // A point to the right covers everything below `height`.
    double cut_below(std::uint32_t owner, double y, double height, double z) {
        std::uint32_t c = last_[owner];
        if (c == kNone || columns_[c].low >= height) return 0.0;
        const double right = columns_[c].right;
        double left = right;
        double volume = 0.0;
        while (c != kNone && columns_[c].low < height) {
            volume += enclosed(columns_[c], y, z);
            left = columns_[c].left;
            const std::uint32_t previous = columns_[c].previous;
            remove(owner, c);
            c = previous;
        }
        append(owner, left, right, height, z);
        return volume;
    }

    // A point above covers everything left of `x`.
    double cut_left(std::uint32_t owner, double y, double x, double z) {
        double volume = 0.0;
        std::uint32_t c = first_[owner];
        while (c != kNone && columns_[c].right <= x) {
            volume += enclosed(columns_[c], y, z);
            const std::uint32_t next = columns_[c].next;
            remove(owner, c);
            c = next;
        }
        if (c != kNone && columns_[c].left < x) volume += cut_column(columns_[c], y, x, z);
        return volume;
    }

    // A point that the owner dominates covers everything left of `x` and below `height`.
    double cut_corner(std::uint32_t owner, double y, double x, double height, double z) {
        std::uint32_t c = first_[owner];
        while (c != kNone && columns_[c].low >= height) c = columns_[c].next;
        if (c == kNone || columns_[c].left >= x) return 0.0;
        const double left = columns_[c].left;
        double right = left;
        double volume = 0.0;
        std::uint32_t before = columns_[c].previous;
        while (c != kNone && columns_[c].left < x) {
            if (columns_[c].right > x) {
                volume += cut_column(columns_[c], y, x, z);
                right = x;
                break;
            }
            volume += enclosed(columns_[c], y, z);
            right = columns_[c].right;
            const std::uint32_t next = columns_[c].next;
            remove(owner, c);
            c = next;
        }
        if (height < y) insert_after(owner, before, left, right, height, z);
        return volume;
    }

  private:
    static double enclosed(const Column& column, double y, double z) {
        return (column.right - column.left) * (y - column.low) * (column.since - z);
    }

    static double cut_column(Column& column, double y, double x, double z) {
        const double volume = (x - column.left) * (y - column.low) * (column.since - z);
        column.left = x;
        return volume;
    }

    void insert_after(std::uint32_t owner, std::uint32_t before, double left, double right,
                      double low, double z) {
        const std::uint32_t next = before == kNone ? first_[owner] : columns_[before].next;
        std::uint32_t c = static_cast<std::uint32_t>(columns_.size());
        if (free_.empty()) {
            columns_.push_back({left, right, low, z, before, next});
        } else {
            c = free_.back();
            free_.pop_back();
            columns_[c] = {left, right, low, z, before, next};
        }
        (before == kNone ? first_[owner] : columns_[before].next) = c;
        (next == kNone ? last_[owner] : columns_[next].previous) = c;
    }

    void remove(std::uint32_t owner, std::uint32_t c) {
        const auto [previous, next] = std::pair(columns_[c].previous, columns_[c].next);
        (previous == kNone ? first_[owner] : columns_[previous].next) = next;
        (next == kNone ? last_[owner] : columns_[next].previous) = previous;
        free_.push_back(c);
    }

    std::vector<Column> columns_;
    std::vector<std::uint32_t> free_, first_, last_;
};

}  // namespace

bool DimensionSweep::contributions_3d(const double* sides, std::size_t count,
                                      const Ignorable& ignorable, double* own) {
    take_sorted(sides, count);
    staircase_.clear();
    Owners owners(count);
    std::fill_n(own, count, 0.0);
    std::vector<StaircaseOfMaxima::Step> removed;
    Pace pace;
    for (std::size_t i = 0; i < count; ++i) {
        pace.step();
        const auto [x, y, z, index] = boxes_[i];
        const auto id = static_cast<std::uint32_t>(i);
        const StaircaseOfMaxima::Place place = staircase_.first_not_left_of(x);
        const StaircaseOfMaxima::Step* cover = staircase_.at(place);
        if (cover && cover->y >= y) {
            const bool is_copy = cover->x == x && cover->y == y && boxes_[cover->id].z == z;
            if (ignorable) {
                if (!ignorable(boxes_[cover->id].index, index)) return false;
                if (!is_copy) continue;
            }
            const StaircaseOfMaxima::Step* second = staircase_.after(place);
            if (second && second->y >= y) continue;  // nobody loses what two dominate
            own[boxes_[cover->id].index] += owners.cut_corner(cover->id, cover->y, x, y, z);
            continue;
        }
        double floor = cover ? cover->y : 0.0;
        removed.clear();
        const auto [left, right] = staircase_.insert(
            place, {x, y, id},
            [&](const StaircaseOfMaxima::Step& step) { removed.push_back(step); });
        double edge = x;
        for (const StaircaseOfMaxima::Step& step : removed) {
            own[boxes_[step.id].index] += owners.close(step.id, step.y, z);
            if (edge > step.x) owners.prepend(id, step.x, edge, floor, z);
            edge = step.x;
            floor = step.y;
        }
        const double end = left ? left->x : 0.0;
        if (edge > end) owners.prepend(id, end, edge, floor, z);
        if (left) own[boxes_[left->id].index] += owners.cut_below(left->id, left->y, y, z);
        if (right) own[boxes_[right->id].index] += owners.cut_left(right->id, right->y, x, z);
    }
    staircase_.for_each([&](const StaircaseOfMaxima::Step& step) {
        own[boxes_[step.id].index] += owners.close(step.id, step.y, 0.0);
    });
    return true;
}

// Boxes of equal x: the highest first.
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

// Point k of the front alone owns the rectangle right of its successor and above its predecessor:
// all of it, or only what lies above the staircase of the points that k dominates.
bool DimensionSweep::contributions_2d(const double* sides, std::size_t count,
                                      const Ignorable& ignorable, double* own) {
    order_.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) order_.keys[i] = descending_key(sides[2 * i]);
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
    Pace pace;
    for (std::size_t k = 0, next = 0; k < count; k = next) {
        pace.step();
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
