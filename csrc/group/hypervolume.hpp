// The hypervolume of ONE small group: the volume that its points dominate above a reference.
// Definition: Zitzler and Thiele, 1998; sweeps after Fonseca, Paquete and Lopez-Ibanez, 2006.
//
// Points come as sides: distances from the reference, all positive, larger is better. Sums have
// positive terms only, so that no digits cancel.
#pragma once

#include "portability.hpp"

namespace paretopo {

// sides: (count, 2), first side descending.
PARETOPO_HD inline double area_of_sorted(const double* sides, int count) {
    double area = 0.0;
    double height = 0.0;
    for (int i = 0; i < count; ++i) {
        const double y = sides[2 * i + 1];
        if (!(y > height)) continue;
        area += sides[2 * i] * (y - height);
        height = y;
    }
    return area;
}

// A staircase of maxima in flat memory: x descends, y ascends. For groups of a few dozen points.
class FlatStaircase {
  public:
    PARETOPO_HD FlatStaircase(double* x, double* y) : x_(x), y_(y) {}

    // Adds a point; returns the area that it alone dominates.
    PARETOPO_HD double add(double x, double y) {
        int first = 0;  // first step left of, or at, x
        while (first < size_ && x_[first] > x) ++first;
        double height = first > 0 ? y_[first - 1] : 0.0;
        if (y <= height) return 0.0;
        if (first < size_ && x_[first] == x && y_[first] >= y) return 0.0;

        double gain = 0.0;
        double right = x;
        int end = first;
        for (; end < size_ && y_[end] <= y; ++end) {
            gain += (right - x_[end]) * (y - height);
            right = x_[end];
            height = y_[end];
        }
        gain += (right - (end < size_ ? x_[end] : 0.0)) * (y - height);
        replace(first, end, x, y);
        return gain;
    }

  private:
    PARETOPO_HD void replace(int first, int end, double x, double y) {
        const int shift = 1 - (end - first);
        if (shift > 0) {
            for (int i = size_ - 1; i >= end; --i) move(i, i + shift);
        } else if (shift < 0) {
            for (int i = end; i < size_; ++i) move(i, i + shift);
        }
        x_[first] = x;
        y_[first] = y;
        size_ += shift;
    }
    PARETOPO_HD void move(int from, int to) {
        x_[to] = x_[from];
        y_[to] = y_[from];
    }

    double* x_;
    double* y_;
    int size_ = 0;
};

}  // namespace paretopo
