// The volume of a few rows by inclusion and exclusion over the boxes that rows have in common. Each
// box is a product of minima; eight subsets of rows are handled at a time. Rows may cover each
// other.
#pragma once

#include <cstddef>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Each row doubles the work, and terms have both signs: the rounding errors of at most 2^kFewRows
// terms stay below 1e-13 of the volume.
inline constexpr std::size_t kFewRows = 8;

// Lane s of eight stands for a subset of the first three rows, the bits of s.
inline constexpr double kNone = __builtin_inf();
alignas(64) inline constexpr double kOutside[3][kEight] = {
    {kNone, 0.0, kNone, 0.0, kNone, 0.0, kNone, 0.0},
    {kNone, kNone, 0.0, 0.0, kNone, kNone, 0.0, 0.0},
    {kNone, kNone, kNone, kNone, 0.0, 0.0, 0.0, 0.0}};
alignas(64) inline constexpr double kSign[kEight] = {-1.0, 1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0};

// Adds, with its sign, the volume of the common box of each subset of the first 3 + kMore rows and
// the box `cap`; without a cap, the empty subset is left out.
template <int kMore>
PARETOPO_INLINE void add_common(const Columns& rows, int objectives, const double* cap, bool is_odd,
                                Doubles* sums) {
    constexpr int kSubsets = 1 << kMore;  // of the rows after the first three
    for (int p = 0; p < kParts; ++p) {
        Doubles outside[3];
        for (int k = 0; k < 3; ++k) outside[k] = load(kOutside[k] + p * kLanes);
        Doubles common[kSubsets];
        for (int h = 0; h < kSubsets; ++h) common[h] = all(1.0);
        for (int m = 0; m < objectives; ++m) {
            const double* side = rows[m];
            Doubles least[kSubsets];
            least[0] =
                smaller(smaller(larger(all(side[0]), outside[0]), larger(all(side[1]), outside[1])),
                        larger(all(side[2]), outside[2]));
            if (cap) least[0] = smaller(least[0], all(cap[m]));
            for (int k = 0; k < kMore; ++k) {
                for (int h = 0; h < 1 << k; ++h) {
                    least[(1 << k) + h] = smaller(least[h], all(side[3 + k]));
                }
            }
            for (int h = 0; h < kSubsets; ++h) common[h] *= least[h];
        }
        if (!cap) common[0] = where(above(all(kNone), common[0]), common[0]);
        for (int h = 0; h < kSubsets; ++h) {
            const bool adds = ((__builtin_popcount(static_cast<unsigned>(h)) & 1) != 0) == is_odd;
            sums[p] = adds ? sums[p] + common[h] : sums[p] - common[h];
        }
    }
}

// For 3 to kFewRows rows. `cap`: room for a number per objective.
inline double volume_of_few(const Columns& rows, int objectives, double* cap) {
    Doubles sums[kParts];
    for (int p = 0; p < kParts; ++p) sums[p] = all(0.0);
    switch (rows.count) {
        case 3:
            add_common<0>(rows, objectives, nullptr, false, sums);
            break;
        case 4:
            add_common<1>(rows, objectives, nullptr, false, sums);
            break;
        case 5:
            add_common<2>(rows, objectives, nullptr, false, sums);
            break;
        default:
            add_common<3>(rows, objectives, nullptr, false, sums);
            const unsigned subsets = 1U << (rows.count - 6);  // of the rows after the first six
            for (unsigned s = 1; s < subsets; ++s) {
                for (int m = 0; m < objectives; ++m) {
                    const double* more = rows[m] + 6;
                    double least = kNone;
                    for (unsigned left = s; left != 0; left &= left - 1) {
                        const double side = more[__builtin_ctz(left)];
                        least = side < least ? side : least;
                    }
                    cap[m] = least;
                }
                add_common<3>(rows, objectives, cap, (__builtin_popcount(s) & 1) != 0, sums);
            }
    }
    for (int p = 0; p < kParts; ++p) sums[p] *= load(kSign + p * kLanes);
    return sum_of_eight(sums);
}

}  // namespace paretopo::cpu::PARETOPO_LANES
