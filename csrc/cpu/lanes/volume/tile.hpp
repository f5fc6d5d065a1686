// Reads sets of points, one set per lane, as sides.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/lanes/simd/doubles.hpp"
#include "cpu/lanes/simd/transpose.hpp"
#include "cpu/lanes/volume.hpp"
#include "formulas/sides.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

inline constexpr int kMaxObjectives = 4;

// The transformation of values into sides, and the range of sides that need no scaling.
struct Frame {
    double sign[kMaxObjectives];
    double most, least;

    template <typename Scalar>
    explicit Frame(const Batch<Scalar>& batch) {
        for (int m = 0; m < batch.objectives; ++m) {
            sign[m] = (batch.minimised >> m & 1) != 0 ? -1.0 : 1.0;
        }
        most = 1.0;
        for (int k = 0; k < safe_power(batch.objectives); ++k) most *= 2.0;
        least = kMaxMeasuredInLane / most;  // of a sum; its largest term is then at least 1 / most
    }
};

// Collects one tile: kLanes sets, one per lane.
template <int kObjectives, typename Scalar>
class Tile {
  public:
    Tile(const Batch<Scalar>& batch, References ref) : batch_(batch), ref_(ref), frame_(batch) {
        for (int m = 0; m < kObjectives && !ref.per_group; ++m) {
            corner_[m] = all(frame_.sign[m] * ref.at[m]);
        }
    }

    // `groups`: kLanes indices; `present`: by group, a bit for each present point. Present points
    // become adjacent in each lane; returns the number in the fullest lane.
    PARETOPO_INLINE int read(const std::int64_t* groups, const std::uint32_t* present) {
        int most = 0;
        Doubles sizes;
        for (int lane = 0; lane < kLanes; ++lane) {
            const int size = __builtin_popcount(present[groups[lane]]);
            most = size > most ? size : most;
            sizes[lane] = size;
        }
        const int width = most * kObjectives;
        const Scalar* sets[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            sets[lane] = side_by_side(groups[lane], present[groups[lane]], copies_[lane]);
        }
        for (int m = 0; m < kObjectives; ++m) sum_[m] = all(0.0);
        if (ref_.per_group) take_corners(groups);
        // kObjectives vectors hold kLanes points: the objective of a column is a compile-time
        // constant here.
        for (int c = 0; c < width; c += kObjectives * kLanes) {
#pragma GCC unroll 4
            for (int part = 0; part < kObjectives; ++part) {
                const int first = c + part * kLanes;
                if (first >= width) break;
                Doubles rows[kLanes];
#pragma GCC unroll 8
                for (int lane = 0; lane < kLanes; ++lane) {
                    Packed packed;
                    std::memcpy(&packed, sets[lane] + first, sizeof packed);
                    rows[lane] = __builtin_convertvector(packed, Doubles);
                }
                rotate_addresses<double, kLanes>(rows);
#pragma GCC unroll 8
                for (int k = 0; k < kLanes; ++k) {  // there is room for a vector after `width`
                    const int point = c / kObjectives + (part * kLanes + k) / kObjectives;
                    values[first + k] = side_of(rows[k], (part * kLanes + k) % kObjectives,
                                                above(sizes, all(point)));
                }
            }
        }
        return most;
    }

    // Sets the sides of a point to zeros unless it is better than the reference in every objective.
    PARETOPO_INLINE void drop_outside(int count) {
        for (int i = 0; i < count; ++i) {
            Doubles* point = values + i * kObjectives;
            Doubles least = point[0];
            for (int m = 1; m < kObjectives; ++m) least = smaller(least, point[m]);
            const Mask inside = above(least, all(0.0));
            for (int m = 0; m < kObjectives; ++m) point[m] = where(inside, point[m]);
        }
    }

    // Lanes without NaN or infinity, and with products in the range of doubles.
    PARETOPO_INLINE unsigned sound() const {
        Mask good = opposite(none());
        for (int m = 0; m < kObjectives; ++m) {
            const Mask fits =
                either(reaches(sum_[m], all(frame_.least)), reaches(all(0.0), sum_[m]));
            good = both(good, both(fits, reaches(all(frame_.most), sum_[m])));
        }
        return bits(good);
    }

    static constexpr int kRoomBehind = kLanes * kObjectives;  // whole vectors reach that far
    Doubles values[kMaxMeasuredInLane * kObjectives + kRoomBehind];

  private:
    typedef Scalar Packed __attribute__((vector_size(kLanes * sizeof(Scalar))));

    // The present points of group g: in the batch itself if they are adjacent and have room after
    // them, otherwise as a copy.
    PARETOPO_INLINE const Scalar* side_by_side(std::int64_t g, std::uint32_t present,
                                               Scalar* copy) {
        const Scalar* from = batch_.group(g);
        const std::int64_t width = batch_.points * kObjectives;
        const bool has_room = (batch_.groups - g - 1) * width >= kRoomBehind;
        if ((present & (present + 1)) == 0 && has_room) return from;
        Scalar* to = copy;
        for (; present != 0; present &= present - 1, to += kObjectives) {
            const Scalar* point = from + __builtin_ctz(present) * kObjectives;
            for (int m = 0; m < kObjectives; ++m) to[m] = point[m];
        }
        return copy;
    }

    void take_corners(const std::int64_t* groups) {
        for (int lane = 0; lane < kLanes; ++lane) {
            const double* corner = ref_.of(groups[lane], kObjectives);
            for (int m = 0; m < kObjectives; ++m) corner_[m][lane] = frame_.sign[m] * corner[m];
        }
    }

    // 0 if the point is absent.
    PARETOPO_INLINE Doubles side_of(Doubles value, int m, Mask counts) {
        const Doubles difference = value * all(frame_.sign[m]) - corner_[m];
        const Doubles side = where(counts, larger(all(0.0), difference));  // NaN stays NaN
        sum_[m] += side;
        return side;
    }

    const Batch<Scalar>& batch_;
    References ref_;
    Frame frame_;
    Doubles corner_[kObjectives];  // the reference times its sign
    Doubles sum_[kObjectives];     // NaN or infinite if a value is
    Scalar copies_[kLanes][kMaxMeasuredInLane * kObjectives + kRoomBehind] = {};
};

}  // namespace paretopo::cpu::PARETOPO_LANES
