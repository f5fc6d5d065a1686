// Rows that do not cover each other, in columns, with their last objective in descending order.
#pragma once

#include <cstddef>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Is some row at least as large as `point` in every objective?
inline bool some_row_covers(const double* point, Columns rows, int objectives) {
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
// objective.
template <int kObjectives>
PARETOPO_INLINE void insert_in(Columns& rows, const double* point, int objectives,
                               std::size_t high) {
    const int width = kObjectives > 0 ? kObjectives : objectives;
    const double* last = rows[width - 1];
    std::size_t place = high;
    while (place > 0 && last[place - 1] == point[width - 1]) --place;
    // Covered rows come after this position.
    const auto kept_at = [&](std::size_t i) {
        Mask covered = reaches(all(point[0]), load(rows[0] + i));
        for (int m = 1; m < width; ++m) {
            covered = both(covered, reaches(all(point[m]), load(rows[m] + i)));
        }
        const std::size_t left = rows.count - i;
        const int valid = left < kLanes ? static_cast<int>(left) : kLanes;
        return without(lanes_before(valid), covered);
    };
    std::size_t kept = place;
    for (std::size_t i = place; i < rows.count; i += kLanes) {
        const Mask keep = kept_at(i);
        const auto stays = static_cast<std::size_t>(count(keep));
        if (kept != i || (stays < kLanes && i + stays < rows.count)) {
            for (int m = 0; m < width; ++m) squeeze(rows[m] + kept, keep, load(rows[m] + i));
        }
        kept += stays;
    }
    for (std::size_t i = place + (kept - place + kLanes - 1) / kLanes * kLanes; i > place;) {
        i -= kLanes;
        for (int m = 0; m < width; ++m) store(rows[m] + i + 1, load(rows[m] + i));
    }
    for (int m = 0; m < width; ++m) rows[m][place] = point[m];
    rows.count = kept + 1;
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
