// The staircase of a sweep over z that keeps, for each step, the area that only this step covers,
// as columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/sorting/rank_set.hpp"

namespace paretopo::cpu {

class ExclusiveStaircase {
  public:
    // Columns of one step are adjacent. Their lower ends descend from left to right; their upper
    // end is the y of the step.
    struct Column {
        double left, right, low, since;  // since: the z at which it opened
    };

    // x ascends and y descends from step to step.
    struct Step {
        double x = 0.0, y = 0.0, z = 0.0;
        double volume = 0.0;                // of the columns closed so far
        std::uint32_t index = 0;            // the caller's
        std::uint32_t rank = 0;             // of x
        std::uint32_t left = 0, right = 0;  // its neighbours
        std::uint32_t begin = 0, end = 0;   // its columns, from right to left
        std::uint32_t room = 0;             // from here on, another step's columns may begin
    };

    // Starts empty, for up to `count` points whose x have the ranks 0..count - 1; equal x, equal
    // ranks.
    void clear(std::size_t count) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const auto beyond = static_cast<std::uint32_t>(count);
        steps_.assign({{.x = 0.0, .y = kInfinity, .left = kLeftmost, .right = kRightmost},
                       {.x = kInfinity, .rank = beyond, .left = kLeftmost, .right = kRightmost}});
        free_ = kNone;
        size_ = 0;
        used_ = 0;
        step_at_.resize(count + 1);
        step_at_[beyond] = kRightmost;
        ranks_.reset(count + 1);
        ranks_.insert(beyond);
    }

    // The first step whose x has no lower rank; after the last, a step of height 0.
    std::uint32_t first_from(std::uint32_t rank) const { return step_at_[ranks_.first_from(rank)]; }

    const Step& operator[](std::uint32_t id) const { return steps_[id]; }

    // Adds a step that no other covers; `cover` is first_from(rank). Calls closed(index, volume)
    // for each step that it covers and therefore removes.
    template <typename Closed>
    void insert(double x, double y, double z, std::uint32_t index, std::uint32_t rank,
                std::uint32_t cover, const Closed& closed) {
        make_room(size_ + 1);
        double floor = steps_[cover].y;
        double edge = x;
        const bool is_below = steps_[cover].rank == rank;
        const std::uint32_t right = is_below ? steps_[cover].right : cover;
        std::uint32_t left = is_below ? cover : steps_[cover].left;
        const std::uint32_t begin = used_;
        while (steps_[left].y <= y) {
            const std::uint32_t id = left;
            Step& step = steps_[id];
            closed(step.index, close(step, z));
            if (edge > step.x) columns_[used_++] = {step.x, edge, floor, z};
            edge = step.x;
            floor = step.y;
            ranks_.erase(step.rank);
            left = step.left;
            step.right = std::exchange(free_, id);
            --size_;
        }
        columns_[used_++] = {steps_[left].x, edge, floor, z};
        const std::uint32_t id = new_step();
        steps_[id] = {x, y, z, 0.0, index, rank, left, right, begin, used_, used_};
        steps_[left].right = id;
        steps_[right].left = id;
        ranks_.insert(rank);
        step_at_[rank] = id;
        cut_below(steps_[left], y, z);
        cut_left(steps_[right], x, z);
    }

    // Calls closed(index, volume) for all steps, at the bottom.
    template <typename Closed>
    void close_all(const Closed& closed) const {
        for_each([&](const Step& step) { closed(step.index, close(step, 0.0)); });
    }

    // A point dominated by the step covers everything left of `x` and below `height`.
    void cut_corner(std::uint32_t id, double x, double height, double z) {
        Step& step = steps_[id];
        std::uint32_t c = step.end;  // one beyond the column
        while (c > step.begin && columns_[c - 1].low >= height) --c;
        if (c == step.begin || columns_[c - 1].left >= x) return;
        const std::uint32_t end = c;
        const double left = columns_[c - 1].left;
        double right = left;
        double volume = 0.0;
        for (; c > step.begin && columns_[c - 1].left < x; --c) {
            Column& column = columns_[c - 1];
            if (column.right > x) {
                volume += cut_column(column, step.y, x, z);
                right = x;
                break;
            }
            volume += enclosed(column, step.y, z);
            right = column.right;
        }
        step.volume += volume;
        replace(step, c, end, height < step.y, {left, right, height, z});
    }

    std::size_t bytes() const {
        return steps_.capacity() * sizeof(Step) + columns_.capacity() * sizeof(Column) +
               spare_.capacity() * sizeof(Column) + step_at_.capacity() * sizeof step_at_[0] +
               ranks_.bytes();
    }

  private:
    // Sentinels for the borders of the plane.
    static constexpr std::uint32_t kLeftmost = 0;
    static constexpr std::uint32_t kRightmost = 1;
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};

    template <typename Visit>
    void for_each(const Visit& visit) const {
        for (std::uint32_t id = steps_[kLeftmost].right; id != kRightmost; id = steps_[id].right) {
            visit(steps_[id]);
        }
    }

    std::uint32_t new_step() {
        ++size_;
        if (free_ != kNone) return std::exchange(free_, steps_[free_].right);
        steps_.emplace_back();
        return static_cast<std::uint32_t>(steps_.size() - 1);
    }

    // Closes all columns of a step at z; returns their total volume.
    double close(const Step& step, double z) const {
        double volume = 0.0;
        for (std::uint32_t c = step.end; c-- > step.begin;) {
            volume += enclosed(columns_[c], step.y, z);
        }
        return step.volume + volume;
    }

    // Makes room for more columns. If there is none, the columns in use are compacted: rarely
    // enough to cost a new column little, often enough to keep them all in the cache.
    void make_room(std::size_t wanted) {
        if (columns_.size() - used_ >= wanted) return;
        std::size_t in_use = 0;
        for_each([&](const Step& step) { in_use += step.end - step.begin; });
        const std::size_t room = std::min(4 * (in_use + wanted) + 64, std::size_t{kNone});
        if (spare_.size() < room) spare_.resize(room);
        used_ = 0;
        for (std::uint32_t id = steps_[kLeftmost].right; id != kRightmost; id = steps_[id].right) {
            Step& step = steps_[id];
            const std::uint32_t begin = used_;
            for (std::uint32_t c = step.begin; c < step.end; ++c) spare_[used_++] = columns_[c];
            step.begin = begin;
            step.end = step.room = used_;
        }
        columns_.swap(spare_);
    }

    static double enclosed(const Column& column, double y, double z) {
        return (column.right - column.left) * (y - column.low) * (column.since - z);
    }

    static double cut_column(Column& column, double y, double x, double z) {
        const double volume = (x - column.left) * (y - column.low) * (column.since - z);
        column.left = x;
        return volume;
    }

    // A point to the right covers everything below `height`.
    void cut_below(Step& step, double height, double z) {
        std::uint32_t c = step.begin;
        if (c == step.end || columns_[c].low >= height) return;
        const double right = columns_[c].right;
        double left = right;
        double volume = 0.0;
        for (; c < step.end && columns_[c].low < height; ++c) {
            volume += enclosed(columns_[c], step.y, z);
            left = columns_[c].left;
        }
        step.volume += volume;
        step.begin = c - 1;
        columns_[c - 1] = {left, right, height, z};
    }

    // A point above covers everything left of `x`.
    void cut_left(Step& step, double x, double z) {
        double volume = 0.0;
        std::uint32_t c = step.end;
        for (; c > step.begin && columns_[c - 1].right <= x; --c) {
            volume += enclosed(columns_[c - 1], step.y, z);
        }
        if (c > step.begin && columns_[c - 1].left < x) {
            volume += cut_column(columns_[c - 1], step.y, x, z);
        }
        step.end = c;
        step.volume += volume;
    }

    // Replaces the columns from `first` to `end` by one column, or by none.
    void replace(Step& step, std::uint32_t first, std::uint32_t end, bool by_one,
                 const Column& column) {
        if (by_one && first == end && step.end == step.room) {
            // Doubles the room, so that moves take amortised constant time.
            const std::uint32_t size = step.end - step.begin;
            const std::uint32_t before = step.end - end;
            make_room(2 * std::size_t{size} + 2);
            std::copy_n(columns_.begin() + step.begin, size, columns_.begin() + used_);
            step.begin = used_;
            step.end = used_ + size;
            step.room = used_ = used_ + 2 * size + 2;
            first = end = step.end - before;
        }
        const std::uint32_t kept = step.end - end;
        const std::uint32_t to = first + (by_one ? 1 : 0);
        if (to > end) {
            for (std::uint32_t i = kept; i-- > 0;) columns_[to + i] = columns_[end + i];
        } else if (to < end) {
            for (std::uint32_t i = 0; i < kept; ++i) columns_[to + i] = columns_[end + i];
        }
        if (by_one) columns_[first] = column;
        step.end = to + kept;
    }

    std::uint32_t free_ = kNone;  // the first step to use again; the next is its `right`
    std::uint32_t size_ = 0;      // steps
    std::uint32_t used_ = 0;      // columns
    std::vector<Step> steps_;
    std::vector<Column> columns_, spare_;
    std::vector<std::uint32_t> step_at_;  // of each rank
    RankSet ranks_;
};

}  // namespace paretopo::cpu
