// Sweeps over small sets, one set per lane, without a branch that depends on the points.
#pragma once

#include "cpu/lanes/simd/doubles.hpp"
#include "cpu/lanes/volume.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// points: first side in any order, last side descending.
PARETOPO_INLINE Doubles swept_2d(const Doubles* points, int count) {
    Doubles area = all(0.0);
    Doubles width = all(0.0);
    for (int i = 0; i < count; ++i) {
        const Doubles y = points[2 * i + 1];
        const Doubles next = i + 1 < count ? points[2 * i + 3] : all(0.0);
        width = larger(width, points[2 * i]);
        area += width * (y - next);
    }
    return area;
}

// A point on its way to its position in a staircase of descending x, and the area of the steps that
// it has passed, itself included.
struct Insertion {
    Doubles x, y;
    Doubles area = all(0.0);
    Doubles height = all(0.0);
    Doubles right = all(0.0);

    PARETOPO_INLINE void pass(Doubles& step_x, Doubles& step_y) {
        const Mask is_before = above(x, step_x);
        const Doubles here = larger(step_x, x);
        const Doubles top = choose(is_before, y, step_y);
        x = smaller(step_x, x);
        y = choose(is_before, step_y, y);
        area += (right - here) * height;
        height = larger(height, top);
        right = here;
        step_x = here;
        step_y = top;
    }

    PARETOPO_INLINE Doubles end() const {
        return area + (right - x) * height + x * larger(height, y);
    }
};

// points: last side descending. Inserts two points at once, because neither needs a result that the
// other computes in the same step.
inline __attribute__((noinline)) Doubles swept_3d(const Doubles* points, int count) {
    Doubles x[kMaxMeasuredInLane + 1];
    Doubles y[kMaxMeasuredInLane + 1];
    Doubles volume = all(0.0);
    for (int i = 0; i < count; i += 2) {
        const Doubles* point = points + 3 * i;
        const bool has_second = i + 1 < count;
        Insertion first{point[0], point[1]};
        Insertion second{has_second ? point[3] : all(0.0), has_second ? point[4] : all(0.0)};
        for (int k = 0; k < i; ++k) {
            first.pass(x[k], y[k]);
            second.pass(x[k], y[k]);
        }
        const Doubles z = has_second ? point[5] : all(0.0);
        volume += first.end() * (point[2] - z);
        if (!has_second) break;
        x[i] = first.x;
        y[i] = first.y;
        second.pass(x[i], y[i]);
        x[i + 1] = second.x;
        y[i + 1] = second.y;
        const Doubles next = i + 2 < count ? point[8] : all(0.0);
        volume += second.end() * (z - next);
    }
    return volume;
}

// points: last side descending.
inline __attribute__((noinline)) Doubles swept_4d(const Doubles* points, int count) {
    Doubles slice[3 * kMaxMeasuredInLane];
    Doubles volume = all(0.0);
    for (int i = 0; i < count; ++i) {
        Doubles x = points[4 * i];
        Doubles y = points[4 * i + 1];
        Doubles z = points[4 * i + 2];
        for (int k = 0; k < i; ++k) {  // into descending order of z
            Doubles* at = slice + 3 * k;
            const Mask is_before = above(z, at[2]);
            const Doubles high = larger(at[2], z);
            z = smaller(at[2], z);
            at[2] = high;
            const Doubles here_x = choose(is_before, x, at[0]);
            const Doubles here_y = choose(is_before, y, at[1]);
            x = choose(is_before, at[0], x);
            y = choose(is_before, at[1], y);
            at[0] = here_x;
            at[1] = here_y;
        }
        slice[3 * i] = x;
        slice[3 * i + 1] = y;
        slice[3 * i + 2] = z;
        const Doubles next = i + 1 < count ? points[4 * i + 7] : all(0.0);
        volume += swept_3d(slice, i + 1) * (points[4 * i + 3] - next);
    }
    return volume;
}

// As bits of a double, 2^i for point i: the points that no other covers; among equal ones the
// first.
inline __attribute__((noinline)) Doubles uncovered_4d(const Doubles* points, int count) {
    // Non-negative doubles are in the order of their bits: a difference of bits is negative if the
    // first double is smaller.
    Words stays[kMaxMeasuredInLane];  // negative in lanes that keep the point
    const auto side = [points](int i, int m) __attribute__((always_inline)) {
        return (Words)points[4 * i + m];
    };
    for (int i = 0; i < count; ++i) {
        Words own = Words{} - 1;
        for (int j = 0; j < i; ++j) {
            const Words is_worse = (side(j, 0) - side(i, 0)) | (side(j, 1) - side(i, 1)) |
                                   (side(j, 2) - side(i, 2)) | (side(j, 3) - side(i, 3));
            const Words is_better = (side(i, 0) - side(j, 0)) | (side(i, 1) - side(j, 1)) |
                                    (side(i, 2) - side(j, 2)) | (side(i, 3) - side(j, 3));
            own &= is_worse;                    // somewhere worse: j does not cover i
            stays[j] &= is_better | ~is_worse;  // i does not cover j, or equals it
        }
        stays[i] = own;
    }
    Doubles uncovered = all(0.0);
    double bit = 1.0;
    for (int i = 0; i < count; ++i, bit *= 2.0) {
        uncovered += where(negative(stays[i]), all(bit));
    }
    return uncovered;
}

}  // namespace paretopo::cpu::PARETOPO_LANES
