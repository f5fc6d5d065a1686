// Rows that do not cover each other, in the order of their arrival. From some hundred rows on,
// every 64 rows join an index, so that most rows are never read; the rows after them are scanned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cpu/lanes/volume/bit_index.hpp"
#include "cpu/tuning/archive.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

template <int kObjectives>
class IndexedRows {
  public:
    // The columns after the objectives are only kept.
    IndexedRows(int objectives, int columns)
        : given_(objectives), columns_(columns), index_(objectives) {}

    std::size_t size() const { return rows_.rows.count - gone_; }

    // Calls visit(row) for the place of each row, in order.
    template <typename Visit>
    void for_each(const Visit& visit) const {
        for (std::size_t i = 0; i < rows_.rows.count; ++i) {
            if (rows_.rows[0][i] != kGone) visit(i);
        }
    }
    double at(std::size_t i, int column) const { return rows_.rows[column][i]; }

    bool covers(const double* point) const {
        const std::size_t blocks = index_.blocks();
        if (blocks > 0) {
            const Places places = index_.places(point);
            for (std::size_t block = 0; block < blocks; ++block) {
                const bool none_covers =
                    index_.above(places, block).for_each_vector([&](std::size_t i) {
                        return !bits(covering(point, block * Bits::kRows + i));
                    });
                if (!none_covers) return true;
            }
        }
        for (std::size_t i = index_.rows(); i < rows_.rows.count; i += kLanes) {
            if (bits(both(rows_from(i), covering(point, i)))) return true;
        }
        return false;
    }

    // If memory runs out, no row changes.
    void need_one_more() {
        rows_.need_one_more(columns_);
        if (next_indexed() > rows_.rows.count + 1 || index_.has_room()) return;
        index_.grow();
        index_anew();
    }

    // Removes the rows that the point covers; calls leave(row) for the place of each before.
    template <typename Leave>
    void remove_covered(const double* point, const Leave& leave) {
        const std::size_t blocks = index_.blocks();
        if (blocks > 0) {
            const Places places = index_.places(point);
            for (std::size_t block = 0; block < blocks; ++block) {
                index_.below(places, block).for_each_vector([&](std::size_t at) {
                    const std::size_t i = block * Bits::kRows + at;
                    const unsigned gone = index_.remove(i, bits(covered(point, i)));
                    for_each_lane(gone, i, leave);
                    for_each_lane(gone, i, [this](std::size_t row) {
                        for (int m = 0; m < columns_; ++m) rows_.rows[m][row] = kGone;
                        ++gone_;
                    });
                    return true;
                });
            }
        }
        squeeze_rows(index_.rows(), [&](std::size_t i) {
            const Mask gone = both(rows_from(i), covered(point, i));
            for_each_lane(bits(gone), i, leave);
            return gone;
        });
        const bool is_mostly_gone = gone_ > size() + Bits::kRows;
        if (is_mostly_gone) index_anew();
    }

    // Appends a row with these values in its columns; needs room.
    template <typename Value>
    void append(const Value& value) {
        Columns& rows = rows_.rows;
        for (int m = 0; m < columns_; ++m) rows[m][rows.count] = value(m);
        ++rows.count;
        rows.close(columns_);
        if (rows.count == next_indexed()) add_to_index();
    }

    // Copies rows of positive values to `near`, in order, such that the volume that a point adds to
    // them is that which it adds to all rows, bit for bit. corners: (objectives, kLanes), scratch.
    // Returns false if a row covers the point, which then adds nothing.
    bool pick(const double* point, Doubles* corners, GrowingColumns& near) const {
        for (int m = 0; m < width(); ++m) corners[m] = all(0.0);
        if (!shrink_box(point, corners)) return false;
        near.clear(width());
        copy_inside(corners, near);
        // In place of the rows that cut the box: rows that cut it at the same corner.
        for (int cut = 0; cut + 1 < width(); ++cut) {
            near.need_one_more(width());
            for (int m = 0; m < width(); ++m) {
                near.rows[m][near.rows.count] = m == cut ? corners[m][0] : point[m];
            }
            ++near.rows.count;
        }
        return true;
    }

    void clear() {
        rows_.clear(columns_);
        index_.clear();
        gone_ = 0;
    }

  private:
    using Places = typename BitIndex<kObjectives>::Places;
    static constexpr double kGone = -std::numeric_limits<double>::infinity();  // of all columns

    PARETOPO_INLINE int width() const { return kObjectives > 0 ? kObjectives : given_; }

    // The next number of rows at which the index grows.
    std::size_t next_indexed() const {
        return index_.rows() == 0 ? kMinIndexed : index_.rows() + 64;
    }

    void add_to_index() {
        if (index_.rows() == 0) index_.choose_bounds(rows_.rows);
        while (index_.rows() + 64 <= rows_.rows.count) index_.add_rows(rows_.rows);
    }

    Mask rows_from(std::size_t i) const {
        const std::size_t left = rows_.rows.count - i;
        return lanes_before(left < kLanes ? static_cast<int>(left) : kLanes);
    }

    // ... of the kLanes rows from i on, which may end with zeros.
    PARETOPO_INLINE Mask covering(const double* point, std::size_t i) const {
        const Columns& rows = rows_.rows;
        Mask covers = reaches(load(rows[0] + i), all(point[0]));
        for (int m = 1; m < width(); ++m) {
            covers = both(covers, reaches(load(rows[m] + i), all(point[m])));
        }
        return covers;
    }
    PARETOPO_INLINE Mask covered(const double* point, std::size_t i) const {
        const Columns& rows = rows_.rows;
        Mask covered = reaches(all(point[0]), load(rows[0] + i));
        for (int m = 1; m < width(); ++m) {
            covered = both(covered, reaches(all(point[m]), load(rows[m] + i)));
        }
        return covered;
    }

    template <typename Visit>
    static void for_each_lane(unsigned lanes, std::size_t i, const Visit& visit) {
        for (; lanes; lanes &= lanes - 1) {
            visit(i + static_cast<std::size_t>(__builtin_ctz(lanes)));
        }
    }

    // Drops the rows from `first` on that leaves(i) picks from the kLanes rows from i on.
    template <typename Leaves>
    PARETOPO_INLINE void squeeze_rows(std::size_t first, const Leaves& leaves) {
        Columns& rows = rows_.rows;
        std::size_t kept = first;
        for (std::size_t i = first; i < rows.count; i += kLanes) {
            const Mask present = rows_from(i);
            const Mask gone = leaves(i);
            const Mask stays = without(present, gone);
            if (kept != i || bits(gone)) {
                for (int m = 0; m < columns_; ++m) {
                    squeeze(rows[m] + kept, stays, load(rows[m] + i));
                }
            }
            kept += static_cast<std::size_t>(count(stays));
        }
        rows.count = kept;
    }

    void index_anew() {
        squeeze_rows(0, [this](std::size_t i) {
            return both(rows_from(i), reaches(all(kGone), load(rows_.rows[0] + i)));
        });
        rows_.rows.close(columns_);
        gone_ = 0;
        index_.clear();
        if (rows_.rows.count >= kMinIndexed) add_to_index();
    }

    // Raises corners[m] to the values of objective m of the rows that are below the point there
    // only: they cut its box. Returns false if a row covers the point.
    bool shrink_box(const double* point, Doubles* corners) const {
        bool has_cut = false;
        const auto cut = [&](std::size_t i) {
            const Columns& rows = rows_.rows;
            Mask once = none();
            Mask twice = none();
            for (int m = 0; m < width(); ++m) {
                const Mask is_short = above(all(point[m]), load(rows[m] + i));
                twice = either(twice, both(once, is_short));
                once = either(once, is_short);
            }
            if (bits(opposite(once))) return false;
            const Mask cuts = without(once, twice);
            if (!bits(cuts)) return true;
            has_cut = true;
            for (int m = 0; m < width(); ++m) {
                const Doubles value = load(rows[m] + i);
                const Mask is_short = both(cuts, above(all(point[m]), value));
                corners[m] = larger(corners[m], where(is_short, value));
            }
            return true;
        };
        for (std::size_t i = index_.rows(); i < rows_.rows.count; i += kLanes) {
            if (!cut(i)) return false;
        }
        const Places places = index_.places(point);
        Places low = places_of(corners);
        for (std::size_t block = 0; block < index_.blocks(); ++block) {
            const Bits some = index_.almost_above(places, block) & index_.above(low, block);
            const bool goes_on =
                some.for_each_vector([&](std::size_t i) { return cut(block * Bits::kRows + i); });
            if (!goes_on) return false;
            // Higher corners name fewer rows, but finding their places takes as long as a block.
            const bool is_doubled = (block & (block + 1)) == 0;
            if (has_cut && is_doubled) {
                low = places_of(corners);
                has_cut = false;
            }
        }
        for (int m = 0; m < width(); ++m) corners[m] = all(largest(corners[m]));
        return true;
    }

    Places places_of(const Doubles* corners) const {
        double corner[BitIndex<kObjectives>::kMaxObjectives];
        for (int m = 0; m < width() && m < BitIndex<kObjectives>::kMaxObjectives; ++m) {
            corner[m] = largest(corners[m]);
        }
        return index_.places(corner);
    }

    // Copies the rows above the corner; those on its last side, too, because a row that ends a
    // sweep lies there.
    void copy_inside(const Doubles* corners, GrowingColumns& near) const {
        const auto copy = [&](std::size_t i) {
            const Columns& rows = rows_.rows;
            const int last = width() - 1;
            Mask inside = reaches(load(rows[last] + i), corners[last]);
            for (int m = 0; m < last; ++m) {
                inside = both(inside, above(load(rows[m] + i), corners[m]));
            }
            if (!bits(inside)) return true;
            near.need_one_more(width());
            for (int m = 0; m < width(); ++m) {
                squeeze(near.rows[m] + near.rows.count, inside, load(rows[m] + i));
            }
            near.rows.count += static_cast<std::size_t>(count(inside));
            return true;
        };
        const Places low = places_of(corners);
        for (std::size_t block = 0; block < index_.blocks(); ++block) {
            index_.above(low, block).for_each_vector([&](std::size_t i) {
                return copy(block * Bits::kRows + i);
            });
        }
        for (std::size_t i = index_.rows(); i < rows_.rows.count; i += kLanes) copy(i);
    }

    int given_, columns_;
    GrowingColumns rows_;
    BitIndex<kObjectives> index_;
    std::size_t gone_ = 0;  // rows of blocks that have left
};

}  // namespace paretopo::cpu::PARETOPO_LANES
