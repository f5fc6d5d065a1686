// Hypervolumes of many small sets, one set per lane. Points are sorted by networks and swept by
// insertion, without a branch that depends on them; padding is a point of zeros.
//
// Every sum runs over differences of neighbours in a sorted order, so that equal coordinates, whose
// order a network does not fix, meet a factor of zero: the result depends on the set alone and not
// on the lanes beside it.
#include "cpu/small_sets.hpp"

#include <cstring>

#include "cpu/lanes/networks.hpp"
#include "cpu/lanes/tile.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// points: first side in any order, last side descending.
PARETOPO_LANE Doubles swept_2d(const Doubles* points, int count) {
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

// Puts (px, py) into `count` points in descending order of x; returns the area of all of them.
PARETOPO_LANE Doubles insert_area(Doubles* x, Doubles* y, int count, Doubles px, Doubles py) {
    Doubles area = all(0.0);
    Doubles height = all(0.0);
    Doubles right = all(0.0);
    for (int k = 0; k < count; ++k) {
        const Mask is_before = above(px, x[k]);
        const Doubles here = larger(x[k], px);
        px = smaller(x[k], px);
        const Doubles top = choose(is_before, py, y[k]);
        py = choose(is_before, y[k], py);
        x[k] = here;
        y[k] = top;
        area += (right - here) * height;
        height = larger(height, top);
        right = here;
    }
    x[count] = px;
    y[count] = py;
    area += (right - px) * height;
    return area + px * larger(height, py);
}

// points: last side descending.
template <int kStride>
PARETOPO_LANE Doubles swept_3d(const Doubles* points, int count) {
    Doubles x[kMostSmall];
    Doubles y[kMostSmall];
    Doubles volume = all(0.0);
    for (int i = 0; i < count; ++i) {
        const Doubles* point = points + kStride * i;
        const Doubles next = i + 1 < count ? point[kStride + 2] : all(0.0);
        const Doubles area = insert_area(x, y, i, point[0], point[1]);
        volume += area * (point[2] - next);
    }
    return volume;
}

// points: last side descending.
PARETOPO_LANE Doubles swept_4d(const Doubles* points, int count) {
    Doubles slice[3 * kMostSmall];
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
        volume += swept_3d<3>(slice, i + 1) * (points[4 * i + 3] - next);
    }
    return volume;
}

struct Left {
    int most;   // points in the fullest lane
    bool full;  // every lane has kept all of its points
};

// Replaces points that an earlier one covers by zeros. Worth it where the sweep is cubic. points:
// last side descending.
PARETOPO_LANE Left drop_covered(Doubles* points, int count) {
    Doubles left = all(1.0);
    for (int i = 1; i < count; ++i) {
        Doubles* own = points + 4 * i;
        Doubles margin = all(-1.0);  // not negative where some point is nowhere smaller
        for (int j = 0; j < i; ++j) {
            const Doubles* other = points + 4 * j;
            const Doubles least =
                smaller(smaller(other[0] - own[0], other[1] - own[1]), other[2] - own[2]);
            margin = larger(margin, least);
        }
        const Mask stays = above(all(0.0), margin);
        for (int m = 0; m < 4; ++m) own[m] = where(stays, own[m]);
        left += where(stays, all(1.0));
    }
    return {static_cast<int>(largest(left)), -largest(-left) == count};
}

template <int kPoints, int kObjectives>
Doubles volume_of(Doubles* points, int count) {
    for (int i = count * kObjectives; i < kPoints * kObjectives; ++i) points[i] = all(0.0);
    sort_points<kPoints, kObjectives>(points);
    if constexpr (kObjectives == 2) {
        return swept_2d(points, kPoints);
    } else if constexpr (kObjectives == 3) {
        return swept_3d<3>(points, count);
    } else {
        const Left left = drop_covered(points, count);
        if (!left.full) sort_points<kPoints, kObjectives>(points);  // zeros to the end
        return swept_4d(points, left.most);
    }
}

template <int kObjectives>
Doubles volume_of(Doubles* points, int count) {
    if (count <= 4) return volume_of<4, kObjectives>(points, count);
    if (count <= 8) return volume_of<8, kObjectives>(points, count);
    if (count <= 12) return volume_of<12, kObjectives>(points, count);
    if (count <= 16) return volume_of<16, kObjectives>(points, count);
    if (count <= 24) return volume_of<24, kObjectives>(points, count);
    return volume_of<32, kObjectives>(points, count);
}

template <int kObjectives, typename Scalar>
void volumes_of(const Batch<Scalar>& batch, const double* ref, const std::int64_t* order,
                const int* counts, int groups, std::int64_t first, double* volumes,
                std::uint8_t* left_over) {
    Tile<kObjectives, Scalar> tile(batch, ref);
    for (int start = 0; start < groups; start += kLanes) {
        std::int64_t taken[kLanes];
        int most = 0;
        for (int lane = 0; lane < kLanes; ++lane) {
            const int k = start + lane < groups ? start + lane : groups - 1;
            taken[lane] = first + order[k];
            most = counts[order[k]] > most ? counts[order[k]] : most;
        }
        const int count = batch.mask ? tile.read_present(taken, most) : tile.read(taken);
        const unsigned sound = tile.sound();
        tile.drop_outside(count);
        const Doubles own = volume_of<kObjectives>(tile.values, count);
        constexpr unsigned kAll = (1U << kLanes) - 1;
        if (!batch.mask && sound == kAll && start + kLanes <= groups) {
            store(volumes + first + start, own);
            std::memset(left_over + start, 0, kLanes);
            continue;
        }
        for (int lane = 0; lane < kLanes && start + lane < groups; ++lane) {
            volumes[taken[lane]] = own[lane];
            left_over[taken[lane] - first] = sound >> lane & 1 ? 0 : 1;
        }
    }
}

}  // namespace

template <typename Scalar>
void small_volumes(const Batch<Scalar>& batch, const double* ref, std::int64_t first,
                   std::int64_t end, double* volumes, std::uint8_t* left_over) {
    // Sets of like size share a tile, so that few lanes wait for the largest.
    const int groups = static_cast<int>(end - first);
    std::int64_t order[kSmallPart];
    int counts[kSmallPart];
    for (int g = 0; g < groups; ++g) {
        order[g] = g;
        counts[g] = batch.points;
    }
    if (batch.mask) {
        int place[kMostSmall + 2] = {};
        for (int g = 0; g < groups; ++g) {
            const std::uint8_t* mask = batch.mask + (first + g) * batch.points;
            int present = 0;
            for (int i = 0; i < batch.points; ++i) present += mask[i] != 0;
            counts[g] = present;
            ++place[present + 1];
        }
        for (int k = 0; k <= kMostSmall; ++k) place[k + 1] += place[k];
        for (int g = 0; g < groups; ++g) order[place[counts[g]]++] = g;
    }
    switch (batch.objectives) {
        case 2:
            return volumes_of<2>(batch, ref, order, counts, groups, first, volumes, left_over);
        case 3:
            return volumes_of<3>(batch, ref, order, counts, groups, first, volumes, left_over);
        default:
            return volumes_of<4>(batch, ref, order, counts, groups, first, volumes, left_over);
    }
}

double small_volume_of(const double* sides, std::size_t count, int objectives) {
    Doubles points[kMostSmall * kMostObjectives];
    const int rows = static_cast<int>(count);
    for (int i = 0; i < rows * objectives; ++i) points[i] = all(sides[i]);
    switch (objectives) {
        case 2:
            return volume_of<2>(points, rows)[0];
        case 3:
            return volume_of<3>(points, rows)[0];
        default:
            return volume_of<4>(points, rows)[0];
    }
}

template void small_volumes(const Batch<float>&, const double*, std::int64_t, std::int64_t, double*,
                            std::uint8_t*);
template void small_volumes(const Batch<double>&, const double*, std::int64_t, std::int64_t,
                            double*, std::uint8_t*);

}  // namespace paretopo::cpu::PARETOPO_LANES
