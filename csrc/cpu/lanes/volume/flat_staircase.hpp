// A planar staircase of maxima in flat arrays: x descends, y ascends. For sets that remain after
// limiting, which usually have a few dozen steps at most.
#pragma once

#include <cstddef>
#include <cstring>

#include "cpu/lanes/simd/doubles.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

struct FlatStaircase {
    double* x;
    double* y;
    std::size_t size = 0;

    // The area that a new point took, and the run of steps that it covers.
    struct Taken {
        double area;
        std::size_t first, end;
    };

    // The area that (px, py) adds to the steps above the corner (left, below).
    PARETOPO_INLINE Taken take(double px, double py, double left, double below) const {
        std::size_t first = 0;
        if (size <= kWalk) {
            while (first < size && x[first] > px) ++first;
        } else {
            first = find(px);
        }
        double height = first > 0 ? y[first - 1] : below;
        if (height >= py) return {0.0, first, first};
        double area = 0.0;
        double right = px;
        std::size_t end = first;
        for (; end < size && y[end] <= py; ++end) {
            area += (right - x[end]) * (py - height);
            right = x[end];
            height = y[end];
        }
        area += (right - (end < size ? x[end] : left)) * (py - height);
        return {area, first, end};
    }

    PARETOPO_INLINE void replace(std::size_t first, std::size_t end, double px, double py) {
        if (end != first + 1) move(end, first + 1);
        x[first] = px;
        y[first] = py;
    }

    PARETOPO_INLINE void drop(std::size_t first, std::size_t end) {
        if (end != first) move(end, first);
    }

  private:
    static constexpr std::size_t kWalk = 24;  // up to here a linear scan beats a binary search

    std::size_t find(double px) const {
        std::size_t first = 0;
        for (std::size_t left = size; left > 0;) {
            const std::size_t half = left / 2;
            const bool is_right = x[first + half] > px;
            first = is_right ? first + half + 1 : first;
            left = is_right ? left - half - 1 : half;
        }
        return first;
    }

    PARETOPO_INLINE void move(std::size_t from, std::size_t to) {
        const std::size_t rows = size - from;
        if (rows <= kWalk) {
            if (to < from) {
                for (std::size_t i = 0; i < rows; ++i) {
                    x[to + i] = x[from + i];
                    y[to + i] = y[from + i];
                }
            } else {
                for (std::size_t i = rows; i-- > 0;) {
                    x[to + i] = x[from + i];
                    y[to + i] = y[from + i];
                }
            }
        } else {
            std::memmove(x + to, x + from, rows * sizeof(double));
            std::memmove(y + to, y + from, rows * sizeof(double));
        }
        size = size + to - from;
    }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
