// An index of rows: for each objective and each of some bounds, a bit for every row that reaches
// the bound. A few words of bits then name the only rows that can cover a point, be covered by it,
// or lie near it. (Range-encoded bitmaps: O'Neil and Quass, 1997, "Improved query performance with
// variant indexes".)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "cpu/lanes/simd/columns.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// A bit for each row of a block.
struct Bits {
    static constexpr std::size_t kRows = 512;
    static constexpr int kWords = kRows / 64;

    Words part[kParts];

    // Calls visit(first) for the first row of each vector of rows with a bit, until it returns
    // false; returns false then.
    template <typename Visit>
    PARETOPO_INLINE bool for_each_vector(const Visit& visit) const {
        using V = Lanes<double>;
        unsigned some = 0;  // the words that have bits
        for (int p = 0; p < kParts; ++p) {
            some |= V::bits(V::test_bits(part[p], part[p])) << p * kLanes;
        }
        if (!some) return true;
        std::uint64_t words[kWords];
        std::memcpy(words, part, sizeof words);
        constexpr std::uint64_t kAll = (1U << kLanes) - 1;
        for (; some; some &= some - 1) {
            const int w = __builtin_ctz(some);
            for (std::uint64_t word = words[w]; word;) {
                const int first = __builtin_ctzll(word) / kLanes * kLanes;
                word &= ~(kAll << first);
                if (!visit(static_cast<std::size_t>(64 * w + first))) return false;
            }
        }
        return true;
    }
};

PARETOPO_INLINE Bits operator&(Bits a, const Bits& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] &= b.part[p];
    return a;
}
PARETOPO_INLINE Bits operator|(Bits a, const Bits& b) {
    for (int p = 0; p < kParts; ++p) a.part[p] |= b.part[p];
    return a;
}
PARETOPO_INLINE Bits operator~(Bits a) {
    for (int p = 0; p < kParts; ++p) a.part[p] = ~a.part[p];
    return a;
}

// The rows are removed by clearing their bits; the caller gives them values that no comparison
// accepts.
// kObjectives: the number of objectives; 0: given at run time.
template <int kObjectives>
class BitIndex {
  public:
    // Only the first objectives have bits.
    static constexpr int kMaxObjectives = 16;

    // For each objective, the last bound that a value reaches; the first bound is -infinity.
    struct Places {
        int of[kMaxObjectives];
    };

    explicit BitIndex(int objectives)
        : given_(objectives < kMaxObjectives ? objectives : kMaxObjectives) {}

    // The blocks of the first rows(); the last may be filled in part.
    std::size_t blocks() const { return (words_ + Bits::kWords - 1) / Bits::kWords; }
    std::size_t rows() const { return words_ * 64; }
    bool has_room() const { return words_ < room_ * Bits::kWords; }
    void clear() { words_ = 0; }

    // Doubles the room, and clears. If memory runs out, nothing changes.
    void grow() {
        const std::size_t room = 2 * room_ + 2;
        const int count = room < kManyBlocks ? kLeastBounds : 2 * kLeastBounds;
        Buffer<std::uint64_t> bits;
        bits.of(room * lines(count) * Bits::kWords);
        bounds_.of(static_cast<std::size_t>(width()) * kStride);
        bits_.swap(bits);
        room_ = room;
        count_ = count;
        clear();
    }

    // Clears, and chooses bounds that divide the rows into parts of about the same size.
    void choose_bounds(const Columns& rows) {
        const auto sampled = static_cast<std::size_t>(2 * count_);
        double sample[4 * kLeastBounds];
        for (int m = 0; m < width(); ++m) {
            for (std::size_t k = 0; k < sampled; ++k) sample[k] = rows[m][k * rows.count / sampled];
            std::sort(sample, sample + sampled, [](double a, double b) { return a < b; });
            double* bounds = bounds_of(m);
            for (int b = 1; b < count_; ++b) bounds[b] = sample[2 * b];
            bounds[0] = -std::numeric_limits<double>::infinity();
            bounds[count_] = -bounds[0];
        }
        clear();
    }

    // Adds the next 64 rows, which are all present.
    void add_rows(const Columns& rows) {
        const std::size_t block = words_ / Bits::kWords;
        const std::size_t word = words_ % Bits::kWords;
        if (word == 0) {
            for (int line = 0; line < static_cast<int>(lines(count_)); ++line) {
                std::memset(at(0, line, block), 0, sizeof(Bits));
            }
        }
        for (int m = 0; m < width(); ++m) {
            const double* values = rows[m] + words_ * 64;
            for (int b = 0; b < count_; ++b) {
                const Doubles bound = all(bounds_of(m)[b]);
                std::uint64_t reaching = 0;
                for (int i = 0; i < 64; i += kLanes) {
                    reaching |= std::uint64_t{bits(reaches(load(values + i), bound))} << i;
                }
                at(m, b, block)[word] = reaching;
            }
        }
        at(width(), 0, block)[word] = ~std::uint64_t{0};
        ++words_;
    }

    Places places(const double* point) const {
        Places places;
        for (int m = 0; m < width(); ++m) places.of[m] = 0;
        // All objectives at once, as each step waits for the one before.
        for (int step = count_ / 2; step > 0; step /= 2) {
            for (int m = 0; m < width(); ++m) {
                int& place = places.of[m];
                place += bounds_of(m)[place + step] <= point[m] ? step : 0;
            }
        }
        return places;
    }

    PARETOPO_INLINE int width() const { return kObjectives > 0 ? kObjectives : given_; }

    // Some rows of a block, among them all that reach a point, or the values at its places.
    PARETOPO_INLINE Bits above(const Places& places, std::size_t block) const {
        Bits some = present(block);
        for (int m = 0; m < width(); ++m) some = some & reaching(m, places.of[m], block);
        return some;
    }

    // Some rows, among them all that the point reaches.
    PARETOPO_INLINE Bits below(const Places& places, std::size_t block) const {
        Bits others = reaching(0, places.of[0] + 1, block);
        for (int m = 1; m < width(); ++m) others = others | reaching(m, places.of[m] + 1, block);
        return present(block) & ~others;
    }

    // Some rows, among them all that are below the point in at most one objective.
    PARETOPO_INLINE Bits almost_above(const Places& places, std::size_t block) const {
        Bits once = ~reaching(0, places.of[0], block);
        Bits twice = once & ~once;
        for (int m = 1; m < width(); ++m) {
            const Bits is_short = ~reaching(m, places.of[m], block);
            twice = twice | (once & is_short);
            once = once | is_short;
        }
        return present(block) & ~twice;
    }

    // `gone`: the bits of a vector of rows. Returns those of rows that were present.
    unsigned remove(std::size_t row, unsigned gone) {
        std::uint64_t& word = at(width(), 0, row / Bits::kRows)[row % Bits::kRows / 64];
        const std::uint64_t left = word & std::uint64_t{gone} << (row % 64);
        word &= ~left;
        return static_cast<unsigned>(left >> (row % 64));
    }

  private:
    // Powers of two. With 3 objectives, few rows are below a point in two of them. Twice as many
    // bounds for many rows: they name fewer rows, but take longer to set.
    static constexpr int kLeastBounds = kObjectives == 3 ? 128 : 64;
    static constexpr std::size_t kManyBlocks = 14;
    static constexpr std::size_t kStride = 2 * kLeastBounds + 8;  // of bounds; the last is infinity

    double* bounds_of(int m) const {
        return bounds_.data() + static_cast<std::size_t>(m) * kStride;
    }
    // One for each bound of an objective, one without a row, and one for the rows that are present.
    std::size_t lines(int bounds) const {
        return static_cast<std::size_t>(width() * (bounds + 1) + 1);
    }

    PARETOPO_INLINE std::size_t offset(int m, int bound, std::size_t block) const {
        const auto line = static_cast<std::size_t>(m * (count_ + 1) + bound);
        return (line * room_ + block) * Bits::kWords;
    }
    std::uint64_t* at(int m, int bound, std::size_t block) const {
        return bits_.data() + offset(m, bound, block);
    }
    PARETOPO_INLINE Bits reaching(int m, int bound, std::size_t block) const {
        const std::uint64_t* from = bits_.data() + offset(m, bound, block);
        Bits bits;
        // One vector at a time: GCC copies the whole in halves of vectors, through memory.
        for (Words& part : bits.part) {
            std::memcpy(&part, from, sizeof part);
            from += sizeof part / sizeof *from;
        }
        return bits;
    }
    PARETOPO_INLINE Bits present(std::size_t block) const { return reaching(width(), 0, block); }

    int given_;
    std::size_t words_ = 0;
    std::size_t room_ = 0;      // blocks
    int count_ = kLeastBounds;  // bounds of each objective
    Buffer<std::uint64_t> bits_;
    Buffer<double> bounds_;
};

}  // namespace paretopo::cpu::PARETOPO_LANES
