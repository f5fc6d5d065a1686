// Reads sets of points, one set per lane, as sides.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/lanes/doubles.hpp"
#include "cpu/small_sets.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

inline constexpr int kMostObjectives = 4;

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
                for (int m = 0; m < kObjectives; ++m, to += kLanes) {
                    *to = static_cast<double>(from[m]);
                }
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

    // A point that is not better than the reference everywhere becomes a point of zeros.
    PARETOPO_LANE void drop_outside(int count) {
        for (int i = 0; i < count; ++i) {
            Doubles* point = values + i * kObjectives;
            Doubles least = point[0];
            for (int m = 1; m < kObjectives; ++m) least = smaller(least, point[m]);
            const Mask inside = above(least, all(0.0));
            for (int m = 0; m < kObjectives; ++m) point[m] = where(inside, point[m]);
        }
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

}  // namespace paretopo::cpu::PARETOPO_LANES
