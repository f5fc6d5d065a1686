// The least gap from each row of one set to any row of another: one row per lane, and a loop over
// the other rows. Also rays through boxes. Every lane rounds as scalar code would.
#include <limits>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/quality.hpp"
#include "cpu/lanes/simd/doubles.hpp"
#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr int kTile = 4;  // vectors of rows that are compared with a row of the other set at once
static_assert(kMaxRowsAtOnce % (kTile * kLanes) == 0);

constexpr double start_of(Gap gap) {
    return gap == Gap::kExcess ? -std::numeric_limits<double>::infinity() : 0.0;
}

// The gap of x and y, extended by one more objective.
template <Gap kGap>
PARETOPO_INLINE Doubles widen(Doubles gap, Doubles x, Doubles y) {
    if constexpr (kGap == Gap::kDistance) {
        const Doubles apart = x - y;
        return gap + apart * apart;
    } else if constexpr (kGap == Gap::kShortfall) {
        const Doubles above = larger(y - x, all(0.0));
        return gap + above * above;
    } else if constexpr (kGap == Gap::kExcess) {
        return larger(y - x, gap);
    } else {
        return larger(x * y, gap);
    }
}

// kWidth: the number of objectives if known at compile time, or 0.
template <Gap kGap, int kWidth, int kVectors>
PARETOPO_INLINE void pass(const TwoSets& sets, std::size_t first, double* nearest) {
    const auto width = static_cast<std::size_t>(kWidth > 0 ? kWidth : sets.objectives);
    const double* columns = sets.columns + first;
    Doubles best[kVectors];
    for (int v = 0; v < kVectors; ++v) best[v] = load(nearest + first + v * kLanes);
    for (std::size_t row = 0; row < sets.row_count; ++row) {
        const double* values = sets.rows + row * width;
        Doubles gap[kVectors];
        for (int v = 0; v < kVectors; ++v) gap[v] = all(start_of(kGap));
        for (std::size_t m = 0; m < width; ++m) {
            const Doubles y = all(values[m]);
            const double* column = columns + m * sets.stride;
            for (int v = 0; v < kVectors; ++v) {
                gap[v] = widen<kGap>(gap[v], load(column + v * kLanes), y);
            }
        }
        for (int v = 0; v < kVectors; ++v) best[v] = smaller(gap[v], best[v]);
    }
    for (int v = 0; v < kVectors; ++v) store(nearest + first + v * kLanes, best[v]);
}

template <Gap kGap, int kWidth>
void pass_all(const TwoSets& sets, double* nearest) {
    std::size_t first = 0;
    while (first < sets.column_count) {
        if (sets.column_count - first > 2 * kLanes) {
            pass<kGap, kWidth, kTile>(sets, first, nearest);
            first += kTile * kLanes;
        } else {
            pass<kGap, kWidth, 1>(sets, first, nearest);
            first += kLanes;
        }
    }
}

template <Gap kGap>
void pass_gap(const TwoSets& sets, double* nearest) {
    switch (sets.objectives) {
        case 2:
            return pass_all<kGap, 2>(sets, nearest);
        case 3:
            return pass_all<kGap, 3>(sets, nearest);
        default:
            return pass_all<kGap, 0>(sets, nearest);
    }
}

void find_nearest(Gap gap, const TwoSets& sets, double* nearest) {
    switch (gap) {
        case Gap::kDistance:
            return pass_gap<Gap::kDistance>(sets, nearest);
        case Gap::kShortfall:
            return pass_gap<Gap::kShortfall>(sets, nearest);
        case Gap::kExcess:
            return pass_gap<Gap::kExcess>(sets, nearest);
        case Gap::kProduct:
            return pass_gap<Gap::kProduct>(sets, nearest);
    }
}

// ---- The farthest row ----

constexpr int kNear = 4;  // vectors of columns to compare with a row before it may be dropped

// The least gap to a row over the columns of one block, lane by lane.
template <Gap kGap, int kWidth>
PARETOPO_INLINE Doubles nearest_in_block(const TwoSets& sets, std::size_t first,
                                         const double* row) {
    const int width = kWidth > 0 ? kWidth : sets.objectives;
    const double* column = sets.columns + first;
    Doubles gap[kNear];
    for (int v = 0; v < kNear; ++v) gap[v] = all(start_of(kGap));
    for (int m = 0; m < width; ++m, column += sets.stride) {
        const Doubles x = all(row[m]);
        for (int v = 0; v < kNear; ++v) gap[v] = widen<kGap>(gap[v], x, load(column + v * kLanes));
    }
    for (int v = 1; v < kNear; ++v) gap[0] = smaller(gap[v], gap[0]);
    return gap[0];
}

// A row is dropped as soon as some column is near enough. The column that ended the previous row is
// tried first, and columns that often end rows move to the front.
template <Gap kGap, int kWidth>
double find_farthest_of(const TwoSets& sets, double enough) {
    using V = Lanes<double>;
    constexpr std::size_t kBlock = kNear * kLanes;
    const auto width = static_cast<std::size_t>(sets.objectives);
    std::size_t first = 0;  // of the block that ended the previous row
    Poller poller;
    for (std::size_t r = 0; r < sets.row_count; ++r) {
        const double* row = sets.rows + r * width;
        Doubles least = nearest_in_block<kGap, kWidth>(sets, first, row);
        const auto is_near = [&](Doubles gap) { return V::any(V::at_least(all(enough), gap)); };
        if (is_near(least)) continue;
        bool is_done = false;
        for (std::size_t at = 0; at < sets.stride; at += kBlock) {
            if (at == first) continue;
            poller.step();
            const Doubles gap = nearest_in_block<kGap, kWidth>(sets, at, row);
            if (is_near(gap)) {
                first = at;
                is_done = true;
                break;
            }
            least = smaller(gap, least);
        }
        if (is_done) continue;
        double gaps[kLanes];
        store(gaps, least);
        enough = gaps[0];
        for (int k = 1; k < kLanes; ++k) enough = gaps[k] < enough ? gaps[k] : enough;
    }
    return enough;
}

template <Gap kGap>
double find_farthest_for(const TwoSets& sets, double enough) {
    switch (sets.objectives) {
        case 2:
            return find_farthest_of<kGap, 2>(sets, enough);
        case 3:
            return find_farthest_of<kGap, 3>(sets, enough);
        default:
            return find_farthest_of<kGap, 0>(sets, enough);
    }
}

double find_farthest(Gap gap, const TwoSets& sets, double enough) {
    return gap == Gap::kExcess ? find_farthest_for<Gap::kExcess>(sets, enough)
                               : find_farthest_for<Gap::kProduct>(sets, enough);
}

// ---- Rays through boxes: a ray per lane ----

PARETOPO_INLINE Doubles power(Doubles base, int exponent) {
    Doubles result = exponent % 2 != 0 ? base : all(1.0);
    for (int left = exponent / 2; left > 0; left /= 2) {
        base = base * base;
        if (left % 2 != 0) result = result * base;
    }
    return result;
}

void share_rays(const double* sides, std::size_t count, int objectives, const double* inverses,
                double* scratch, double* shares) {
    for (std::size_t first = 0; first < kDirections; first += kLanes) {
        Doubles farthest = all(0.0);
        for (std::size_t i = 0; i < count; ++i) {
            const double* row = sides + i * static_cast<std::size_t>(objectives);
            Doubles reach = all(row[0]) * load(inverses + first);
            for (int m = 1; m < objectives; ++m) {
                const Doubles inverse = load(inverses + m * static_cast<int>(kDirections) + first);
                reach = smaller(all(row[m]) * inverse, reach);
            }
            farthest = larger(reach, farthest);
            store(scratch + i * kLanes, reach);
        }
        const Doubles unit = all(1.0) / farthest;
        Doubles sum = all(0.0);
        for (std::size_t i = 0; i < count; ++i) {
            sum = sum + power(load(scratch + i * kLanes) * unit, objectives);
        }
        store(shares + first, all(1.0) / sum);
    }
}

}  // namespace

const IndicatorKernels kIndicatorKernels{
    .find_nearest = find_nearest, .find_farthest = find_farthest, .share_rays = share_rays};

}  // namespace paretopo::cpu::PARETOPO_LANES
