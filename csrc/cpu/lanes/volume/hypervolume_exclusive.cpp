// The exclusive volume of a point as a sum of positive terms, for points where the difference of a
// box and the covered part would cancel.
#include <utility>

#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// If less of a box than this is left, the volume is computed as a sum instead: rounding errors then
// stay below 1e-9 of it.
constexpr double kSafe = 0x1p-13;

// The number of rows that reach the last objective of `row`.
std::size_t rows_above(const double* row, const Columns& rows, int objectives) {
    std::size_t high = 0;
    const Doubles key = all(row[objectives - 1]);
    for (;;) {  // ends at the zeros after the rows, because sides are positive
        const int reach = count(reaches(load(rows[objectives - 1] + high), key));
        high += static_cast<std::size_t>(reach);
        if (reach < kLanes) return high;
    }
}

}  // namespace

// A difference of volumes loses the digits that it has fewer than the box.
Hypervolume::Exclusive Hypervolume::try_exclusive_of(int objectives, const double* point,
                                                     const Columns& rows, std::size_t& high) {
    latest_box_ = 0.0;
    const double gain = exclusive_of(objectives, point, rows, high);
    const bool is_difference = objectives > 1 && latest_box_ != 0.0;
    return {gain, !is_difference || gain > kSafe * latest_box_};
}

// If hardly any digits are left, the box is cut into slices along the last objective, each with the
// volume that the point adds there: a sum of positive terms.
double Hypervolume::exact_exclusive_of(int objectives, const double* point, const Columns& rows,
                                       std::size_t& high) {
    const auto [gain, is_exact] = try_exclusive_of(objectives, point, rows, high);
    if (is_exact) return gain;
    const bool before = std::exchange(is_exact_, true);
    const double sum = exclusive_by_slices(objectives, point, rows);
    is_exact_ = before;
    return sum;
}

double Hypervolume::exclusive_by_slices(int objectives, const double* point, const Columns& rows) {
    const int rest = objectives - 1;
    Level& mine = level(objectives);
    // Rows that reach above the point are equivalent to rows that reach its top.
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
            if (last[i] == 0.0) continue;  // a removed row
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
