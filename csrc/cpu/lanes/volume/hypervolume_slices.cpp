// Hypervolume from 4 objectives: a sweep over the last objective, best first. Each point adds its
// exclusive volume within the slice, which is the non-dominated part of the points before it. The
// exclusive volume is the point's box, shrunk to its tightest lower corner, less the part that the
// slice dominates. That part is a hypervolume of fewer, limited points.
//
// Sources: While, Bradstreet and Barone, 2012, "A fast way of calculating exact hypervolumes"
// (limiting, slicing); Guerreiro and Fonseca, 2018, "Computing and updating hypervolume
// contributions in up to four dimensions" (delimiters of a box).
#include <cstring>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/lanes/volume/hypervolume.hpp"
#include "cpu/lanes/volume/inclusion_exclusion.hpp"
#include "cpu/lanes/volume/sorted_rows.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

PARETOPO_INLINE double product(const double* sides, int objectives) {
    double volume = sides[0];
    for (int m = 1; m < objectives; ++m) volume *= sides[m];
    return volume;
}

// How many of the best rows does no other of them cover in their first objectives?
std::size_t count_uncovered(const Columns& rows, std::size_t best, int objectives) {
    std::size_t uncovered = 0;
    for (std::size_t i = 0; i < best; ++i) {
        int covering = 0;
        for (std::size_t j = 0; j < best; j += kLanes) {
            Mask covers = reaches(load(rows[0] + j), all(rows[0][i]));
            for (int m = 1; m < objectives; ++m) {
                covers = both(covers, reaches(load(rows[m] + j), all(rows[m][i])));
            }
            covering += count(covers);
        }
        uncovered += covering == 1 ? 1 : 0;  // itself
    }
    return uncovered;
}

// Do slices become so large that comparing ranks saves more time than ranking takes?
bool pays_to_rank(const Columns& rows, int objectives) {
    if (rows.count > kMaxInWords) return false;
    if (objectives == 4) {
        return rows.count > kMaxUnranked4 && count_uncovered(rows, 32, 3) >= 14;
    }
    if (objectives != 5 || rows[4][1] == rows[4][0]) return false;
    return rows.count > kMaxUnranked5 && count_uncovered(rows, 16, 4) >= 12;
}

}  // namespace

double Hypervolume::sorted(int objectives, const Columns& rows) {
    const std::size_t n = rows.count;
    if (n == 0) return 0.0;
    if (n == 1) {
        double volume = 1.0;
        for (int m = 0; m < objectives; ++m) volume *= rows[m][0];
        return volume;
    }
    if (n == 2) {
        double one = 1.0;
        double other = 1.0;
        double common = 1.0;
        for (int m = 0; m < objectives; ++m) {
            const double a = rows[m][0];
            const double b = rows[m][1];
            one *= a;
            other *= b;
            common *= a < b ? a : b;
        }
        return one + (other - common);
    }
    if (n == 3 || (objectives > 3 && n <= kFewRows)) {
        double* scratch = level(objectives).vectors.of(static_cast<std::size_t>(2 * objectives));
        return volume_of_few(rows, objectives, scratch);
    }
    switch (objectives) {
        case 1:
            return rows[0][0];
        case 2:
            return volume_2d(rows);
        case 3:
            return volume_3d(rows, nullptr);
        default:
            return by_slices(objectives, rows);
    }
}

// Sweeps the rows that share the best last objective as one set with one objective less. Limiting
// makes about half of all rows share it.
Columns Hypervolume::first_block(int objectives, const Columns& rows, std::size_t tied,
                                 double& volume) {
    const int rest = objectives - 1;
    Level& mine = level(objectives);
    Columns block = columns_in(mine.block, rest, tied);
    std::uint32_t* order = mine.order.of(tied + kPadding);
    descending(rows[rest - 1], tied, order, buckets_);
    for (int m = 0; m < rest; ++m) {
        const double* from = rows[m];
        double* to = block[m];
        for (std::size_t i = 0; i < tied; ++i) to[i] = from[order[i]];
    }
    block.count = tied;
    block.close(rest);

    Columns prefix = columns_in(mine.prefix, rest, rows.count);
    prefix.close(rest);
    double* point = mine.vectors.of(static_cast<std::size_t>(2 * objectives));
    double* gains = rest == 3 ? mine.gains.of(tied) : nullptr;
    if (gains) volume = volume_3d(block, gains);
    for (std::size_t i = 0; i < tied; ++i) {
        if (i % kPollInterval == kPollInterval - 1) check_interrupt();
        for (int m = 0; m < rest; ++m) point[m] = block[m][i];
        if (gains ? gains[i] > 0.0 : !some_row_covers(point, prefix, rest))
            append(prefix, point, rest);
    }
    if (!gains) volume = sorted(rest, prefix);
    return prefix;
}

double Hypervolume::by_slices(int objectives, const Columns& rows) {
    poller_.step();
    Slices slices = first_slice(objectives, rows);
    if (objectives == 4) {
        if (add_slices_of_3(rows, slices)) return slices.volume;
        slices = first_slice(objectives, rows);
    }
    const int rest = objectives - 1;
    const double* last = rows[rest];
    double* point = level(objectives).vectors.of(static_cast<std::size_t>(2 * objectives));
    for (std::size_t i = slices.next; i < rows.count;) {
        const std::size_t end = rows.count - i > kPollInterval ? i + kPollInterval : rows.count;
        for (; i < end; ++i) {
            for (int m = 0; m < rest; ++m) point[m] = rows[m][i];
            std::size_t high = 0;
            const double gain = exclusive_of(rest, point, slices.prefix, high);
            if (!(gain > 0.0)) continue;
            slices.volume += gain * last[i];
            if (i + 1 < rows.count) insert(slices.prefix, point, rest, high);
        }
        if (i < rows.count) check_interrupt();
    }
    return slices.volume;
}

Hypervolume::Slices Hypervolume::first_slice(int objectives, const Columns& rows) {
    const int rest = objectives - 1;
    const double* last = rows[rest];
    std::size_t i = 1;
    while (i < rows.count && last[i] == last[0]) ++i;

    Slices slices;
    slices.next = i;
    if (i > 1) {
        slices.prefix = first_block(objectives, rows, i, slices.volume);
    } else {
        double* point = level(objectives).vectors.of(static_cast<std::size_t>(2 * objectives));
        slices.prefix = columns_in(level(objectives).prefix, rest, rows.count);
        for (int m = 0; m < rest; ++m) point[m] = rows[m][0];
        append(slices.prefix, point, rest);
        slices.volume = product(point, rest);
    }
    slices.volume *= last[0];
    return slices;
}

// Finds the hits of many points before it measures their volumes: the processor then need not know
// how many hits a point has before it turns to the next. False if the volume of a point vanishes,
// so that it must not enter the slice.
bool Hypervolume::add_slices_of_3(const Columns& rows, Slices& slices) {
    constexpr std::size_t kRoom = 1024;  // hits
    Hits found[kPollInterval];
    double heights[kPollInterval];
    const std::size_t most = room_for_hits(rows.count);
    const std::size_t room = most + kRoom;
    double* memory = steps_.of(3 * room);
    double point[3];
    for (std::size_t i = slices.next; i < rows.count;) {
        std::size_t count = 0;
        std::size_t used = 0;
        for (; i < rows.count && count < kPollInterval && used + most <= room; ++i) {
            for (int m = 0; m < 3; ++m) point[m] = rows[m][i];
            std::size_t high = 0;
            if (!find_hits(point, slices.prefix, memory + used, room, high, found[count])) {
                continue;
            }
            heights[count] = rows[3][i];
            used += (found[count].count + 2 * kEight) / kEight * kEight;
            ++count;
            if (i + 1 < rows.count) insert(slices.prefix, point, 3, high);
        }
        for (std::size_t k = 0; k < count; ++k) {
            const double gain = free_volume(found[k]);
            if (!(gain > 0.0)) return false;
            slices.volume += gain * heights[k];
        }
        if (i < rows.count) check_interrupt();
    }
    return true;
}

double Hypervolume::exclusive_of(int objectives, const double* point, const Columns& rows,
                                 std::size_t& high) {
    switch (objectives) {
        case 3:
            return exclusive_3d(point, rows, high);
        case 4:
            return exclusive_limited<4>(4, point, rows, high);
        case 5:
            return exclusive_limited<5>(5, point, rows, high);
        case 6:
            return exclusive_limited<6>(6, point, rows, high);
        case 7:
            return exclusive_limited<7>(7, point, rows, high);
        default:
            return exclusive_limited<0>(objectives, point, rows, high);
    }
}

template <int kObjectives>
double Hypervolume::exclusive_limited(int objectives, const double* point, const Columns& rows,
                                      std::size_t& high) {
    const int width = kObjectives > 0 ? kObjectives : objectives;
    Level& mine = level(width);
    double* scratch =
        kObjectives > 0 ? nullptr : mine.corners.of(static_cast<std::size_t>(width * (kLanes + 1)));
    double corner_here[kObjectives + 1];
    Doubles corners_here[kObjectives + 1];
    Doubles* corners = kObjectives > 0 ? corners_here : reinterpret_cast<Doubles*>(scratch);
    double* corner = kObjectives > 0 ? corner_here : scratch + width * kLanes;

    // A row that is below the point in only one objective cuts the box there.
    for (int m = 0; m < width; ++m) corners[m] = all(0.0);
    constexpr unsigned kAll = (1U << kLanes) - 1;
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        Mask once = none();
        Mask twice = none();
        for (int m = 0; m < width; ++m) {
            const Mask is_short = above(all(point[m]), load(rows[m] + i));
            twice = either(twice, both(once, is_short));
            once = either(once, is_short);
            if (m == width - 1) high += static_cast<std::size_t>(kLanes - count(is_short));
        }
        if (bits(once) != kAll) return 0.0;
        const Mask cuts = without(once, twice);
        if (!bits(cuts)) continue;
        for (int m = 0; m < width; ++m) {
            const Doubles side = load(rows[m] + i);
            corners[m] = larger(corners[m], where(both(cuts, above(all(point[m]), side)), side));
        }
    }
    for (int m = 0; m < width; ++m) corner[m] = largest(corners[m]);

    Columns limited = columns_in(mine.limited, width, rows.count);
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
        Doubles reach[kObjectives > 0 ? kObjectives : 1];
        Mask inside = above(load(rows[0] + i), all(corner[0]));
        for (int m = 1; m < width; ++m) {
            inside = both(inside, above(load(rows[m] + i), all(corner[m])));
        }
        if (!bits(inside)) continue;
        for (int m = 0; m < width; ++m) {
            Doubles& side = reach[kObjectives > 0 ? m : 0];
            side = smaller(load(rows[m] + i), all(point[m])) - all(corner[m]);
            squeeze(limited[m] + limited.count, inside, side);
        }
        limited.count += static_cast<std::size_t>(count(inside));
    }
    limited.close(width);

    double box = point[0] - corner[0];
    for (int m = 1; m < width; ++m) box *= point[m] - corner[m];
    if (limited.count == 0) return box;
    const double gain = box - sorted(width, limited);
    latest_box_ = box;
    return gain > 0.0 ? gain : 0.0;
}

// Top-level rows, sorted by their last objective.
Columns Hypervolume::sorted_columns(const double* sides, std::size_t count, int objectives) {
    const auto width = static_cast<std::size_t>(objectives);
    Columns rows = columns_in(all_, objectives, count);
    double* keys = keys_.of(count + kPadding);
    for (std::size_t i = 0; i < count; ++i) keys[i] = sides[i * width + width - 1];
    std::uint32_t* order = order_.of(count + kPadding);
    descending(keys, count, order, buckets_);
    for (std::size_t i = 0; i < count; ++i) {
        const double* side = sides + order[i] * width;
        for (int m = 0; m < objectives; ++m) rows[m][i] = side[m];
    }
    rows.count = count;
    rows.close(objectives);
    return rows;
}

double Hypervolume::of(const double* sides, std::size_t count, int objectives) {
    const Columns rows = sorted_columns(sides, count, objectives);
    if (pays_to_rank(rows, objectives)) {
        double volume = 0.0;
        if (objectives == 5) return ranked_slices_of_4(ranked(rows, 4), rows[4]);
        if (ranked_slices_of_3(ranked(rows, 3), volume)) return volume;
    }
    return sorted(objectives, rows);
}

double Hypervolume::exclusive(const double* point, const double* sides, std::size_t count,
                              int objectives) {
    std::size_t high = 0;
    return exact_exclusive_of(objectives, point, sorted_columns(sides, count, objectives), high);
}

void Hypervolume::contributions(const double* sides, std::size_t count, int objectives,
                                std::size_t first, std::size_t end, double* own) {
    const Columns rows = sorted_columns(sides, count, objectives);
    const std::uint32_t* order = order_.of(count);
    double* point = keys_.of(static_cast<std::size_t>(objectives));
    for (std::size_t i = first; i < end; ++i) {
        poller_.step();
        // A row of zeros limits nothing, so that a point is not compared with itself.
        for (int m = 0; m < objectives; ++m) {
            point[m] = rows[m][i];
            rows[m][i] = 0.0;
        }
        std::size_t high = 0;
        own[order[i]] = exact_exclusive_of(objectives, point, rows, high);
        for (int m = 0; m < objectives; ++m) rows[m][i] = point[m];
    }
}

Hypervolume::Hypervolume(int objectives)
    : most_objectives_(objectives),
      levels_(new Level[static_cast<std::size_t>(objectives < 3 ? 3 : objectives) + 1]) {}

Hypervolume::~Hypervolume() { delete[] levels_; }

void Hypervolume::nondominated(const double* sides, std::size_t count, int objectives,
                               std::uint8_t* kept) {
    const Columns rows = sorted_columns(sides, count, objectives);
    const std::uint32_t* order = order_.of(count);
    double* point = keys_.of(static_cast<std::size_t>(objectives));
    for (std::size_t k = 0; k < count; ++k) {
        poller_.step();
        for (int m = 0; m < objectives; ++m) point[m] = rows[m][k];
        bool is_dominated = false;
        for (std::size_t i = 0; i < count && !is_dominated; i += kLanes) {
            const Doubles last = load(rows[objectives - 1] + i);
            Mask covers = reaches(last, all(point[objectives - 1]));
            if (!bits(covers)) break;
            Mask better = above(last, all(point[objectives - 1]));
            for (int m = 0; m + 1 < objectives; ++m) {
                covers = both(covers, reaches(load(rows[m] + i), all(point[m])));
                better = either(better, above(load(rows[m] + i), all(point[m])));
            }
            is_dominated = bits(both(covers, better)) != 0;
        }
        kept[order[k]] = is_dominated ? 0 : 1;
    }
}

std::size_t Hypervolume::bytes() const {
    std::size_t sum = steps_.bytes() + all_.bytes() + keys_.bytes() + order_.bytes() +
                      buckets_.bytes() + words_.bytes() + values_.bytes() + ranked_sides_.bytes() +
                      limited_sides_.bytes() + ranks_.bytes() + prefix_of_3_.bytes() +
                      prefix_of_4_.bytes() + limited_ranks_.bytes();
    for (int m = 0; m <= most_objectives_; ++m) {
        const Level& one = levels_[m];
        sum += one.prefix.bytes() + one.limited.bytes() + one.block.bytes() + one.gains.bytes() +
               one.vectors.bytes() + one.corners.bytes() + one.order.bytes();
    }
    return sum;
}

namespace {
HypervolumeKernel* make(int objectives) { return new Hypervolume(objectives); }
}  // namespace

const SetVolumeKernels kSetVolumeKernels{.make = make};

}  // namespace paretopo::cpu::PARETOPO_LANES
