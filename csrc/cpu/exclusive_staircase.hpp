// The staircase of a sweep over z that knows, for each of its steps, the part of the plane that the
// step alone covers, as columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "cpu/rank_set.hpp"

namespace paretopo::cpu {

class ExclusiveStaircase {
  public:
    // Columns of one step lie side by side; their lower ends descend from left to right, their
    // upper end is the y of the step.
    struct Column {
        double left, right, low, since;  // since: the z at which it opened
    };

    // x ascends and y descends from step to step.
    struct Step {
        double x, y;
        double volume;              // of the columns closed so far
        std::uint32_t left, right;  // its neighbours
        std::uint32_t rank;         // of x
        std::uint32_t begin, end;   // its columns, from right to left
        std::uint32_t room;         // where those of another step may begin
    };

    // No step, for up to `count` points whose x have the ranks 0..count - 1; equal x, equal ranks.
    void clear(std::size_t count) {
        const double infinity = std::numeric_limits<double>::infinity();
        const auto rank_beyond = static_cast<std::uint32_t>(count);
        leftmost_ = static_cast<std::uint32_t>(count);
        rightmost_ = leftmost_ + 1;
        steps_.resize(count + 2);
        step_at_.resize(count + 1);
        columns_.resize(2 * count);
        used_ = 0;
        ranks_.reset(count + 1);
        ranks_.insert(rank_beyond);
        step_at_[rank_beyond] = rightmost_;
        steps_[leftmost_] = {0.0, infinity, 0.0, leftmost_, rightmost_, 0, 0, 0, 0};
        steps_[rightmost_] = {infinity, 0.0, 0.0, leftmost_, rightmost_, rank_beyond, 0, 0, 0};
    }

    // The first step whose x has no lower rank.
    std::uint32_t first_from(std::uint32_t rank) const { return step_at_[ranks_.first_from(rank)]; }

    const Step& operator[](std::uint32_t id) const { return steps_[id]; }

    // Adds a step that none covers, at z; `cover` is first_from(rank). Calls closed(id, volume) for
    // each step that it covers and so removes.
    template <typename Closed>
    void insert(std::uint32_t id, std::uint32_t rank, double x, double y, double z,
                std::uint32_t cover, const Closed& closed) {
        double floor = steps_[cover].y;
        double edge = x;
        const bool is_below = steps_[cover].rank == rank;
        const std::uint32_t right = is_below ? steps_[cover].right : cover;
        std::uint32_t left = is_below ? cover : steps_[cover].left;
        const std::uint32_t begin = used_;
        while (steps_[left].y <= y) {
            const Step& step = steps_[left];
            closed(left, close(step, z));
            if (edge > step.x) columns_[used_++] = {step.x, edge, floor, z};
            edge = step.x;
            floor = step.y;
            ranks_.erase(step.rank);
            left = step.left;
        }
        const double end = steps_[left].x;
        columns_[used_++] = {end, edge, floor, z};
        steps_[id] = {x, y, 0.0, left, right, rank, begin, used_, used_};
        ranks_.insert(rank);
        step_at_[rank] = id;
        steps_[left].right = id;
        steps_[right].left = id;
        cut_below(steps_[left], y, z);
        cut_left(steps_[right], x, z);
    }

    // Closes all columns of a step at z; returns all that they ever enclosed.
    double close(const Step& step, double z) const {
        double volume = 0.0;
        for (std::uint32_t c = step.end; c-- > step.begin;) {
            volume += enclosed(columns_[c], step.y, z);
        }
        return step.volume + volume;
    }

    // Calls closed(id, volume) for all steps.
    template <typename Closed>
    void close_all(const Closed& closed) const {
        for (std::uint32_t id = steps_[leftmost_].right; id != rightmost_; id = steps_[id].right) {
            closed(id, close(steps_[id], 0.0));
        }
    }

    // A point that the step dominates covers everything left of `x` and below `height`.
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
               step_at_.capacity() * sizeof step_at_[0] + ranks_.bytes();
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

    // Puts one column, or none, in the place of those from `first` to `end`.
    void replace(Step& step, std::uint32_t first, std::uint32_t end, bool by_one,
                 const Column& column) {
        if (by_one && first == end && step.end == step.room) {
            // Twice the room: a column moves as often as others come.
            const std::uint32_t size = step.end - step.begin;
            const std::uint32_t moved = used_;
            used_ += 2 * size + 2;
            if (columns_.size() < used_ + 2 * steps_.size()) {
                columns_.resize(2 * (used_ + 2 * steps_.size()));
            }
            for (std::uint32_t i = 0; i < size; ++i) {
                columns_[moved + i] = columns_[step.begin + i];
            }
            first += moved - step.begin;
            end += moved - step.begin;
            step.begin = moved;
            step.end = moved + size;
            step.room = used_;
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

    std::uint32_t leftmost_ = 0;  // stand for the borders of the plane
    std::uint32_t rightmost_ = 0;
    std::uint32_t used_ = 0;  // columns
    std::vector<Step> steps_;
    std::vector<Column> columns_;
    std::vector<std::uint32_t> step_at_;  // of each rank
    RankSet ranks_;
};

}  // namespace paretopo::cpu
