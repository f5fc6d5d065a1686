// Hypervolumes of many small sets, one set per lane. Points are sorted by networks and swept by
// insertion, without a branch that depends on them; padding is a point of zeros.
//
// Every sum runs over differences of neighbours in a sorted order, so that equal coordinates, whose
// order a network does not fix, meet a factor of zero: the result depends on the set alone and not
// on the lanes beside it.
#include "cpu/small_sets.hpp"

#include <cstring>

#include "cpu/lanes/networks.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

constexpr int kMostObjectives = 4;

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

// Replaces points that an earlier one covers by zeros; returns how many are left in the fullest
// lane. Worth it where the sweep is cubic. points: last side descending.
PARETOPO_LANE int drop_covered(Doubles* points, int count) {
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
    return static_cast<int>(largest(left));
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
        const int left = drop_covered(points, count);
        if (left < count) sort_points<kPoints, kObjectives>(points);  // zeros to the end
        return swept_4d(points, left);
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

// Lane j of row i becomes lane i of row j.
PARETOPO_LANE void transpose(Doubles* rows) {
    const auto swap = [rows](int i, int h, auto low, auto high) __attribute__((always_inline)) {
        const Doubles a = rows[i];
        const Doubles b = rows[i + h];
        rows[i] = low(a, b);
        rows[i + h] = high(a, b);
    };
#if defined(__AVX512F__)
    for (int i = 0; i < 4; ++i) {
        swap(
            i, 4,
            [](Doubles a, Doubles b) {
                return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
            },
            [](Doubles a, Doubles b) {
                return __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
            });
    }
    for (int k = 0; k < 4; ++k) {
        swap((k & 1) + (k & 2) * 2, 2,
             [](Doubles a, Doubles b) {
                 return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
             },
             [](Doubles a, Doubles b) {
                 return __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
             });
    }
    for (int i = 0; i < 8; i += 2) {
        swap(
            i, 1,
            [](Doubles a, Doubles b) {
                return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14);
            },
            [](Doubles a, Doubles b) {
                return __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
            });
    }
#elif defined(__AVX2__)
    for (int i = 0; i < 2; ++i) {
        swap(
            i, 2, [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 0, 1, 4, 5); },
            [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 2, 3, 6, 7); });
    }
    for (int i = 0; i < 4; i += 2) {
        swap(
            i, 1, [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 0, 4, 2, 6); },
            [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 1, 5, 3, 7); });
    }
#else
    swap(
        0, 1, [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 0, 2); },
        [](Doubles a, Doubles b) { return __builtin_shufflevector(a, b, 1, 3); });
#endif
}

// What turns a value into a side, and which sides need no scaling.
struct Frame {
    double sign[kMostObjectives];
    double ref[kMostObjectives];  // times its sign
    double most, least;

    template <typename Scalar>
    Frame(const Batch<Scalar>& batch, const double* corner) {
        for (int m = 0; m < batch.objectives; ++m) {
            sign[m] = (batch.minimised >> m & 1) != 0 ? -1.0 : 1.0;
            ref[m] = sign[m] * corner[m];
        }
        most = 1.0;
        for (int k = 0; k < 600 / batch.objectives; ++k) most *= 2.0;
        least = kMostSmall / most;  // of a sum; its largest term is at least 1 / most then
    }
};

// Collects one tile: kLanes sets, a lane each.
template <int kObjectives, typename Scalar>
class Tile {
  public:
    Tile(const Batch<Scalar>& batch, const double* ref) : batch_(batch), frame_(batch, ref) {}

    // `groups`: kLanes indices. Reads whole vectors, never beyond the last value of the batch.
    PARETOPO_LANE int read(const std::int64_t* groups) {
        typedef Scalar Packed __attribute__((vector_size(kLanes * sizeof(Scalar))));
        const int width = batch_.points * kObjectives;
        const Scalar* end = batch_.values + batch_.groups * width;
        start();
        // kObjectives vectors hold kLanes points: the objective of a column is known here.
        for (int c = 0; c < width; c += kObjectives * kLanes) {
#pragma GCC unroll 4
            for (int part = 0; part < kObjectives; ++part) {
                const int first = c + part * kLanes;
                if (first >= width) break;
                Doubles rows[kLanes];
#pragma GCC unroll 8
                for (int lane = 0; lane < kLanes; ++lane) {
                    const Scalar* from = batch_.values + groups[lane] * width + first;
                    Packed packed{};
                    if (from + kLanes <= end) {
                        std::memcpy(&packed, from, sizeof packed);
                    } else {
                        for (int k = 0; k < end - from; ++k) packed[k] = from[k];
                    }
                    rows[lane] = __builtin_convertvector(packed, Doubles);
                }
                transpose(rows);
#pragma GCC unroll 8
                for (int k = 0; k < kLanes; ++k) {  // what lies behind the group is not looked at
                    if (first + k < width) {
                        values[first + k] = side_of(rows[k], (part * kLanes + k) % kObjectives);
                    }
                }
            }
        }
        return batch_.points;
    }

    // The points that count, side by side in each lane; at most `most` of them.
    PARETOPO_LANE int read_present(const std::int64_t* groups, int most) {
        auto* flat = reinterpret_cast<double*>(values);
        for (int lane = 0; lane < kLanes; ++lane) {
            const std::int64_t first = groups[lane] * batch_.points;
            const std::uint8_t* mask = batch_.mask + first;
            const Scalar* from = batch_.values + first * kObjectives;
            double* to = flat + lane;
            for (int i = 0; i < batch_.points; ++i, from += kObjectives) {
                if (mask[i] == 0) continue;
                for (int m = 0; m < kObjectives; ++m, to += kLanes)
                    *to = static_cast<double>(from[m]);
            }
            for (; to < flat + most * kObjectives * kLanes;) {
                for (int m = 0; m < kObjectives; ++m, to += kLanes) {
                    *to = frame_.sign[m] * frame_.ref[m];  // a point on the reference adds nothing
                }
            }
        }
        start();
        for (int i = 0; i < most; ++i) {
            for (int m = 0; m < kObjectives; ++m) {
                Doubles& value = values[i * kObjectives + m];
                value = side_of(value, m);
            }
        }
        return most;
    }

    // Lanes that hold numbers only, with products in the range of doubles.
    PARETOPO_LANE unsigned sound() const {
        Mask good = opposite(none());
        for (int m = 0; m < kObjectives; ++m) {
            const Mask fits =
                either(reaches(sum_[m], all(frame_.least)), reaches(all(0.0), sum_[m]));
            good = both(good, both(fits, reaches(all(frame_.most), sum_[m])));
        }
        return bits(good);
    }

    Doubles values[kMostSmall * kObjectives];

  private:
    PARETOPO_LANE void start() {
        for (int m = 0; m < kObjectives; ++m) sum_[m] = all(0.0);
    }

    PARETOPO_LANE Doubles side_of(Doubles value, int m) {
        const Doubles difference = value * all(frame_.sign[m]) - all(frame_.ref[m]);
        const Doubles side = larger(all(0.0), difference);  // NaN stays NaN
        sum_[m] += side;
        return side;
    }

    const Batch<Scalar>& batch_;
    Frame frame_;
    Doubles sum_[kObjectives];  // NaN or infinite if a value is
};

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
