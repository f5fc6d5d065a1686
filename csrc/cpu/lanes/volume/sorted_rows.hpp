// Rows that do not cover each other, in columns, with their last objective in descending order.
#pragma once

#include <cstddef>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Is some row at least as large as `point` in every objective?
inline bool some_row_covers(const double* point, const Columns& rows, int objectives) {
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        Mask covers = reaches(load(rows[0] + i), all(point[0]));
        for (int m = 1; m < objectives && bits(covers); ++m) {
            covers = both(covers, reaches(load(rows[m] + i), all(point[m])));
        }
        if (bits(covers)) return true;
    }
    return false;
}

PARETOPO_INLINE void append(Columns& rows, const double* point, int objectives) {
    for (int m = 0; m < objectives; ++m) rows[m][rows.count] = point[m];
    ++rows.count;
    rows.close(objectives);
}

// Drops the rows that `point` covers, and inserts it after the `high` rows that reach its last
// objective. Blocks are stored where the next call loads them: a load that takes parts of two
// recent stores would wait for both.
template <int kObjectives>
PARETOPO_INLINE void insert_in(Columns& rows, const double* point, int objectives,
                               std::size_t high) {
    const int width = kObjectives > 0 ? kObjectives : objectives;
    const double* last = rows[width - 1];
    std::size_t place = high;
    while (place > 0 && last[place - 1] == point[width - 1]) --place;
    // Covered rows come after this position.
    const auto covered_at = [&](std::size_t i) {
        Mask covered = reaches(all(point[0]), load(rows[0] + i));
        for (int m = 1; m < width; ++m) {
            covered = both(covered, reaches(all(point[m]), load(rows[m] + i)));
        }
        return covered;
    };
    const std::size_t first = place / kLanes * kLanes;
    const auto lane = static_cast<int>(place - first);
    const Mask before = lanes_before(lane);
    const Mask at = without(lanes_before(lane + 1), before);

    // The first covered row; the zeros after the rows are covered, too.
    std::size_t i = first;
    Mask covered = without(covered_at(i), before);
    while (!bits(covered)) covered = covered_at(i += kLanes);
    const int hole = __builtin_ctz(bits(covered));

    // The rows from `place` to there move by one.
    for (std::size_t block = i;; block -= kLanes) {
        Mask moves = block == i ? lanes_before(hole + 1) : lanes_before(kLanes);
        if (block == first) moves = without(moves, before);
        for (int m = 0; m < width; ++m) {
            double* column = rows[m] + block;
            const Doubles here = load(column);
            if (block > first) {
                store(column, choose(moves, load(column - 1), here));
            } else {
                const Doubles moved = choose(moves, after_one(here), here);
                store(column, choose(at, all(point[m]), moved));
            }
        }
        if (block == first) break;
    }
    if (i + static_cast<std::size_t>(hole) == rows.count) {
        ++rows.count;
        for (int m = 0; m < width; ++m) rows[m][rows.count + kPadding - 1] = 0.0;
        return;
    }

    // Other covered rows are squeezed out.
    std::size_t kept = i;
    for (Mask gone = without(covered, lanes_before(hole + 1));;) {
        const std::size_t left = rows.count - i;
        const Mask valid = lanes_before(left < kLanes ? static_cast<int>(left) : kLanes);
        const Mask keep = without(valid, gone);
        if (kept != i || bits(keep) != bits(valid)) {
            for (int m = 0; m < width; ++m) squeeze(rows[m] + kept, keep, load(rows[m] + i));
        }
        kept += static_cast<std::size_t>(count(keep));
        i += kLanes;
        if (i >= rows.count) break;
        gone = covered_at(i);
    }
    if (kept == rows.count) return;
    rows.count = kept;
    rows.close(width);
}

inline void insert(Columns& rows, const double* point, int objectives, std::size_t high) {
    switch (objectives) {
        case 3:
            return insert_in<3>(rows, point, 3, high);
        case 4:
            return insert_in<4>(rows, point, 4, high);
        case 5:
            return insert_in<5>(rows, point, 5, high);
        default:
            return insert_in<0>(rows, point, objectives, high);
    }
}

}  // namespace paretopo::cpu::PARETOPO_LANES
