// The exclusive volume of ONE point, by one warp, in any number of objectives: its box, shrunk to
// its tightest corner, less the union of the others within it. That union is a hypervolume, summed
// point by point in the order of the last side (While, Bradstreet and Barone, 2012). Each level has
// one side less, down to the sweep in 3.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "gpu/launch/team.hpp"
#include "gpu/volume/sides.hpp"
#include "gpu/volume/sweep.hpp"
#include "portability.hpp"

namespace paretopo::gpu {

class Exclusive {
  public:
    // Memory of one warp. Fewer than 3 sides are padded with ones.
    PARETOPO_HD Exclusive(Arena& arena, std::int32_t points, std::int32_t sides)
        : points_(points), width_(sides < 3 ? 3 : sides) {
        own_ = arena.array<double>(width_);
        corner_ = arena.array<std::int64_t>(width_);
        others_ = arena.array<double>(std::int64_t{points} * width_);
        counts_ = arena.array<std::int32_t>(points);
        kept_ = arena.array<std::int32_t>(points);
        levels_ = arena.array<Level>(width_ + 1);
        rows_ = arena.array<double>(points * (width_ * (width_ + 1) / 2 - kNarrower));
    }

    // own(k): side k of the point. read(j, row): writes the sides of point j; false if it does not
    // count. Returns `height` times the volume, scaled so that only the product has to be
    // representable.
    template <typename Warp, typename Own, typename Read>
    PARETOPO_HD double volume(Warp& warp, std::int32_t sides, double height, Own own, Read read) {
        for_each(warp, width_, [&](std::int64_t k) {
            own_[k] = k < sides ? own(static_cast<std::int32_t>(k)) : 1.0;
            corner_[k] = 0;
        });
        for_each(warp, points_, [&](std::int64_t j) {
            double* row = others_ + j * width_;
            for (std::int32_t k = sides; k < width_; ++k) row[k] = 1.0;
            counts_[j] = read(j, row);
            if (counts_[j] != 0) move_corner(warp, row);
        });
        for_each(warp, width_, [&](std::int64_t k) { own_[k] -= corner(k); });

        double box = 1.0;
        int power = 0;
        for (std::int32_t k = 0; k < width_; ++k) {
            if (!(own_[k] > 0.0)) return 0.0;
            const Scale scale = Scale::of(own_[k]);
            box *= own_[k] * scale.factor;
            power += scale.power;
        }
        for_each(warp, points_, [&](std::int64_t j) {
            double* row = others_ + j * width_;
            for (std::int32_t k = 0; counts_[j] != 0 && k < width_; ++k) {
                const double left = row[k] - corner(k);
                if (!(left > 0.0)) counts_[j] = 0;
                row[k] = (left < own_[k] ? left : own_[k]) * Scale::of(own_[k]).factor;
            }
        });
        const double taken = union_of(warp, arrange(warp, points_, width_));
        const Scale scale = Scale::of(height);
        return ldexp((box - taken) * (height * scale.factor), power + scale.power);
    }

  private:
    // Positive doubles have the order of their bits.
    PARETOPO_HD double corner(std::int64_t k) const {
        const std::int64_t bits = corner_[k];  // a single load: nvcc would copy byte by byte
        double value;
        std::memcpy(&value, &bits, sizeof(value));
        return value;
    }

    // A point that is smaller in one side only cuts the box off below its own side there. A point
    // that is smaller in none leaves nothing.
    template <typename Warp>
    PARETOPO_HD void move_corner(Warp& warp, const double* row) {
        std::int32_t behind = -1;
        for (std::int32_t k = 0; k < width_; ++k) {
            if (row[k] >= own_[k]) continue;
            if (behind >= 0) return;
            behind = k;
        }
        const std::int32_t at = behind < 0 ? 0 : behind;
        const double to = behind < 0 ? own_[0] : row[behind];
        std::int64_t bits;
        std::memcpy(&bits, &to, sizeof(bits));
        warp.atomic_max(&corner_[at], bits);
    }

    // Is candidate j, of `width` sides, within candidate k? Of equal ones the later is within.
    PARETOPO_HD bool is_within(std::int64_t j, std::int64_t k, std::int32_t width) const {
        const double* a = others_ + j * width;
        const double* b = others_ + k * width;
        bool is_smaller = false;
        for (std::int32_t m = 0; m < width; ++m) {
            if (a[m] > b[m]) return false;
            is_smaller |= a[m] < b[m];
        }
        return is_smaller || k < j;
    }

    // Copies the candidates that count into the rows of that width. They are sorted by the last
    // side, without those within others; or, for the sweep, all are sorted by x.
    template <typename Warp>
    PARETOPO_HD std::int32_t arrange(Warp& warp, std::int32_t candidates, std::int32_t width) {
        const bool is_for_sweep = width == 3;
        for_each(warp, candidates, [&](std::int64_t j) {
            kept_[j] = counts_[j];
            for (std::int64_t k = 0; !is_for_sweep && kept_[j] != 0 && k < candidates; ++k) {
                if (k != j && counts_[k] != 0 && is_within(j, k, width)) kept_[j] = 0;
            }
        });
        const std::int32_t key = is_for_sweep ? 0 : width - 1;
        for_each(warp, candidates, [&](std::int64_t j) {
            if (kept_[j] == 0) return;
            const double own = others_[j * width + key];
            std::int64_t place = 0;
            for (std::int64_t k = 0; k < candidates; ++k) {
                if (kept_[k] == 0) continue;  // it may never have been written
                const double other = others_[k * width + key];
                place += other > own || (other == own && k < j);
            }
            for (std::int32_t m = 0; m < width; ++m) {
                rows(width)[place * width + m] = others_[j * width + m];
            }
        });
        return warp.count([&](int lane) {
            int own = 0;
            for (std::int64_t j = lane; j < candidates; j += warp.lanes()) own += kept_[j] != 0;
            return own;
        });
    }

    // The region of row i, without its last side, that rows 0..i-1 leave uncovered, as candidates.
    template <typename Warp>
    PARETOPO_HD void limit(Warp& warp, std::int32_t i, std::int32_t width) {
        const double* all = rows(width);
        for_each(warp, i, [&](std::int64_t j) {
            for (std::int32_t m = 0; m < width - 1; ++m) {
                const double own = all[i * width + m];
                const double other = all[j * width + m];
                others_[j * (width - 1) + m] = other < own ? other : own;
            }
            counts_[j] = 1;
        });
    }

    template <typename Warp>
    PARETOPO_HD double swept(Warp& warp, std::int32_t count) {
        const Box* boxes = reinterpret_cast<const Box*>(rows(3));
        return warp.sum([&](int lane) {
            double own = 0.0;
            for (std::int64_t i = lane; i < count; i += warp.lanes()) {
                own += volume_beyond(boxes, count, i);
            }
            return own;
        });
    }

    // The volume of the `count` rows of width_, level by level without recursion.
    template <typename Warp>
    PARETOPO_HD double union_of(Warp& warp, std::int32_t count) {
        if (width_ == 3) return swept(warp, count);
        std::int32_t width = width_;
        enter(warp, width, {0.0, count, 0});
        while (true) {
            Level level = levels_[width];
            double below;  // the volume that earlier rows take from the current one
            if (level.next == level.count) {
                if (width == width_) return level.total;
                below = level.total;
                level = levels_[++width];
                warp.each([](int) {});  // all have read it before it changes
            } else {
                limit(warp, level.next, width);
                const std::int32_t candidates = arrange(warp, level.next, width - 1);
                if (width - 1 > 3 && candidates > 0) {
                    enter(warp, --width, {0.0, candidates, 0});
                    continue;
                }
                below = candidates == 0 ? 0.0 : swept(warp, candidates);
            }
            const double* row = rows(width) + std::int64_t{level.next} * width;
            double box = 1.0;
            for (std::int32_t m = 0; m < width - 1; ++m) box *= row[m];
            level.total += row[width - 1] * (box - below);
            ++level.next;
            enter(warp, width, level);
        }
    }

    // The rows of one width and the partial sum of their volumes.
    struct Level {
        double total;
        std::int32_t count;
        std::int32_t next;
    };

    template <typename Warp>
    PARETOPO_HD void enter(Warp& warp, std::int32_t width, Level level) {
        warp.each([&](int lane) {
            if (lane == 0) levels_[width] = level;
        });
    }

    // Rows of width_, width_ - 1, ..., 3.
    PARETOPO_HD double* rows(std::int32_t width) const {
        return rows_ + std::int64_t{points_} * ((width_ * (width_ + 1) - width * (width + 1)) / 2);
    }

    static constexpr std::int32_t kNarrower = 1 + 2;  // widths below 3 have no rows

    std::int32_t points_;
    std::int32_t width_;
    double* own_;
    std::int64_t* corner_;
    double* others_;        // candidates of the current level
    std::int32_t* counts_;  // nonzero for those that count
    std::int32_t* kept_;    // nonzero for those within no other
    Level* levels_;         // of each width
    double* rows_;
};

}  // namespace paretopo::gpu
