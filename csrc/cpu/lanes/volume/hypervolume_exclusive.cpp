// What a point adds to a volume, as a sum of positive terms: where a box less what limits it would
// lose its digits.
#include <utility>

#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// With less of a box left, its volume is summed up instead: rounding errors are then below 1e-9 of
// what is left.
constexpr double kSafe = 0x1p-13;

// How many rows reach the last objective of `row`.
std::size_t rows_above(const double* row, Columns rows, int objectives) {
    std::size_t high = 0;
    const Doubles key = all(row[objectives - 1]);
    for (;;) {  // sides are positive: the zeros behind the rows stop it
        const int reach = count(reaches(load(rows[objectives - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) return high;
    }
}

}  // namespace

// A difference of volumes keeps the digits that the box has beyond it. Where hardly any are left,
// the box is cut into slices along the last objective, each with what the point adds there: a sum
// of positive terms.
double Hypervolume::exact_exclusive_of(int objectives, const double* point, Columns rows,
                                       std::size_t& high) {
    latest_box_ = 0.0;
    const double gain = exclusive_of(objectives, point, rows, high);
    if (objectives == 1 || gain > kSafe * latest_box_) return gain;
    if (latest_box_ == 0.0) return gain;  // nothing was taken away
    const bool before = std::exchange(is_exact_, true);
    const double sum = exclusive_by_slices(objectives, point, rows);
    is_exact_ = before;
    return sum;
}

double Hypervolume::exclusive_by_slices(int objectives, const double* point, Columns rows) {
    const int rest = objectives - 1;
    Level& mine = level(objectives);
    // Rows that reach above the point are as good as those that reach its top.
    double* top = mine.vectors.of(static_cast<std::size_t>(2 * objectives));
    double* row = top + objectives;
    for (int m = 0; m < objectives; ++m) top[m] = point[m];
    Columns prefix = columns_in(mine.prefix, rest, rows.count);
    prefix.close(rest);
    const double* last = rows[rest];
    double level = top[rest];
    double volume = 0.0;
    for (std::size_t i = 0;;) {
        for (; i < rows.count && (last[i] >= level || last[i] == 0.0); ++i) {
            if (last[i] == 0.0) continue;  // a row that has been taken out
            for (int m = 0; m < rest; ++m) row[m] = rows[m][i] < top[m] ? rows[m][i] : top[m];
            if (some_row_covers(row, prefix, rest)) continue;
            insert(prefix, row, rest, rows_above(row, prefix, rest));
        }
        const double next = i < rows.count ? last[i] : 0.0;
        std::size_t high = 0;
        const double gain = exact_exclusive_of(rest, top, prefix, high);
        if (!(gain > 0.0)) break;
        volume += gain * (level - next);
        if (i == rows.count) break;
        level = next;
    }
    return volume;
}

}  // namespace paretopo::cpu::PARETOPO_LANES
