// The dominance relation in a block of small groups, one bit per pair, and the ranks computed from
// it. Both classes do the same; the byte version is faster for groups of up to eight points.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/lanes/ranking/byte_rows.hpp"
#include "cpu/lanes/simd/simd.hpp"
#include "cpu/tuning/instruction_sets.hpp"
#include "cpu/tuning/ranking.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Maximum points of a group if their number is only known at run time: few, unless there are few
// objectives.
inline constexpr int kMaxPoints = kMaxInLane;
inline constexpr int kMaxFlatPoints = 128;
static_assert(kTuning.most_ranked_in_lanes <= kMaxFlatPoints &&
              kTuning.most_filtered_in_lanes <= kMaxFlatPoints);

// The capacity of a block whose groups have kPoints points; 0 if that is only known at run time.
constexpr int capacity_of(int points) { return points ? points : kMaxPoints; }

// For each lane: does the first point dominate the second, or the second the first?
template <typename Scalar>
struct Verdict {
    typename Lanes<Scalar>::Mask first;
    typename Lanes<Scalar>::Mask second;
};

// Bit j of word j / kBits of point i: j dominates i. kPoints is 0 if only known at run time.
template <typename Scalar, int kPoints, int kCapacity>
class WordDominators {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    using Int = typename V::Int;
    using Mask = typename V::Mask;
    static constexpr int kBits = 8 * static_cast<int>(sizeof(Int));
    static constexpr int kWords = (kCapacity + kBits - 1) / kBits;

  public:
    explicit WordDominators(int points) : points_(points) {}

    // pairwise(i)(j) is the Verdict of points i and j.
    template <typename Pairwise>
    PARETOPO_INLINE void fill(const Pairwise& pairwise) {
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
#pragma GCC unroll 2
            for (int w = 0; w < words(); ++w) sets_[i][w] = I{};
        }
        // Point i stays in registers during the loop over the others.
        for (int i = 1; i < points(); ++i) {
            const auto point = pairwise(i);
            const I own_bit = bit_of(i);
            const int own_word = i / kBits;
            for (int w = 0; w < words(); ++w) {
                I above{};  // of the points of this word, those that dominate i
                I bit = V::all_int(1);
                const int end = i < (w + 1) * kBits ? i : (w + 1) * kBits;
#pragma GCC unroll 16
                for (int j = w * kBits; j < end; ++j) {
                    const Verdict<Scalar> dominates = point(j);
                    I& below = sets_[j][own_word];
                    below = V::or_where(dominates.first, below, own_bit);
                    above = V::or_where(dominates.second, above, bit);
                    bit = bit + bit;
                }
                sets_[i][w] = above;
            }
        }
    }

    // Clears the dominators of absent points.
    void keep(const Mask* present) {
        for (int i = 0; i < points(); ++i) {
            for (int w = 0; w < words(); ++w) {
                sets_[i][w] = V::choose(present[i], sets_[i][w], I{});
            }
        }
    }

    // Peels front after front. A point that leaves never returns, so that ranks count the rounds.
    // `present` may be null: then every point is present.
    PARETOPO_INLINE void rank(const Mask* present, I* ranks) const {
        I alive[kWords];
        all_points(present, alive);
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) ranks[i] = I{};
        for (;;) {
            I next[kWords];
            I left{};
            for (int w = 0; w < words(); ++w) {
                I dominated_here{};
                I bit = V::all_int(1);
                const int end = points() < (w + 1) * kBits ? points() : (w + 1) * kBits;
#pragma GCC unroll 16
                for (int i = w * kBits; i < end; ++i) {
                    Mask dominated = V::test_bits(sets_[i][0], alive[0]);
                    for (int v = 1; v < words(); ++v) {
                        dominated = V::either(dominated, V::test_bits(sets_[i][v], alive[v]));
                    }
                    ranks[i] = V::add_where(dominated, ranks[i], V::all_int(1));
                    dominated_here = V::or_where(dominated, dominated_here, bit);
                    bit = bit + bit;
                }
                next[w] = dominated_here;
                left |= dominated_here;
            }
            if (!V::any(V::test_bits(left, left))) return;
            for (int w = 0; w < words(); ++w) alive[w] = next[w];
        }
    }

    // Marks the lanes in which a present point dominates point i.
    PARETOPO_INLINE void dominated(const Mask* present, Mask* by_point) const {
        I alive[kWords];
        all_points(present, alive);
        for (int i = 0; i < points(); ++i) {
            I found = sets_[i][0] & alive[0];
            for (int w = 1; w < words(); ++w) found |= sets_[i][w] & alive[w];
            by_point[i] = V::test_bits(found, found);
        }
    }

  private:
    PARETOPO_INLINE int points() const { return kPoints ? kPoints : points_; }
    PARETOPO_INLINE int words() const {
        return kPoints || kWords == 1 ? kWords : (points_ + kBits - 1) / kBits;
    }

    static PARETOPO_INLINE I bit_of(int point) {
        return V::all_int(static_cast<Int>(std::make_unsigned_t<Int>{1} << (point % kBits)));
    }

    PARETOPO_INLINE void all_points(const Mask* present, I* words) const {
        for (int w = 0; w < kWords; ++w) words[w] = I{};
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            const Mask where = present ? present[i] : V::all_lanes();
            words[i / kBits] = V::or_where(where, words[i / kBits], bit_of(i));
        }
    }

    int points_;
    I sets_[kCapacity][kWords];
};

// Bit j of byte i of a group: j dominates i. A group is a row of eight bytes, so that one vector
// holds several groups whole and a front is peeled off in five instructions.
template <typename Scalar, int kPoints>
class ByteDominators {
    using V = Lanes<Scalar>;
    using I = typename V::I;
    using Int = typename V::Int;
    using Mask = typename V::Mask;
    using Rows = ByteRows;
    static constexpr int kBytes = static_cast<int>(sizeof(Int));
    static constexpr int kWords = 8 / kBytes;  // words that make up a row
    static_assert(kPoints > 0 && kPoints <= 8);

  public:
    explicit ByteDominators(int) {}

    template <typename Pairwise>
    PARETOPO_INLINE void fill(const Pairwise& pairwise) {
#pragma GCC unroll 2
        for (int w = 0; w < kWords; ++w) words_[w] = I{};
#pragma GCC unroll 8
        for (int i = 1; i < kPoints; ++i) {
            const auto point = pairwise(i);
#pragma GCC unroll 8
            for (int j = 0; j < i; ++j) {
                const Verdict<Scalar> dominates = point(j);
                I& below = words_[j / kBytes];
                below = V::or_where(dominates.first, below, bit_of(j, i));
                I& above = words_[i / kBytes];
                above = V::or_where(dominates.second, above, bit_of(i, j));
            }
        }
    }

    PARETOPO_INLINE void keep(const Mask* present) {
        I kept[kWords] = {};
        for (int i = 0; i < kPoints; ++i) {
            I& word = kept[i / kBytes];
            word = V::or_where(present[i], word, whole_byte(i));
        }
        for (int w = 0; w < kWords; ++w) words_[w] &= kept[w];
    }

    PARETOPO_INLINE void rank(const Mask* present, I* ranks) const {
        typename Rows::B dominators[kWords];
        typename Rows::B alive[kWords];
        typename Rows::B counts[kWords] = {};
        to_rows(words_, dominators);
        I there[kWords] = {};
#pragma GCC unroll 8
        for (int i = 0; i < kPoints; ++i) {
            const Mask where = present ? present[i] : V::all_lanes();
            I& word = there[i / kBytes];
            word = V::or_where(where, word, bit_of(i, i));
        }
        to_rows(there, alive);
#pragma GCC unroll 2
        for (int w = 0; w < kWords; ++w) alive[w] = Rows::spread(alive[w]);
        for (bool some = true; some;) {
            some = false;
#pragma GCC unroll 2
            for (int w = 0; w < kWords; ++w) {
                const typename Rows::Mask dominated = Rows::test_bits(dominators[w], alive[w]);
                counts[w] = Rows::count_where(dominated, counts[w]);
                alive[w] = Rows::spread(Rows::diagonal_where(dominated));
                some |= Rows::any(dominated);
            }
        }
        I packed[kWords];
        from_rows(counts, packed);
#pragma GCC unroll 8
        for (int i = 0; i < kPoints; ++i) {
            ranks[i] = (packed[i / kBytes] >> (8 * (i % kBytes))) & V::all_int(0xff);
        }
    }

  private:
    static PARETOPO_INLINE I bit_of(int byte, int bit) {
        using Unsigned = std::make_unsigned_t<Int>;
        return V::all_int(static_cast<Int>(Unsigned{1} << (8 * (byte % kBytes) + bit)));
    }
    static PARETOPO_INLINE I whole_byte(int byte) {
        using Unsigned = std::make_unsigned_t<Int>;
        return V::all_int(static_cast<Int>(Unsigned{0xff} << (8 * (byte % kBytes))));
    }

    static PARETOPO_INLINE void to_rows(const I* words, typename Rows::B* rows) {
        if constexpr (kWords == 1) {
            rows[0] = (typename Rows::B)words[0];
        } else {
            using F = typename V::F;
            rows[0] = (typename Rows::B)V::zip_first((F)words[0], (F)words[1]);
            rows[1] = (typename Rows::B)V::zip_second((F)words[0], (F)words[1]);
        }
    }
    static PARETOPO_INLINE void from_rows(const typename Rows::B* rows, I* words) {
        if constexpr (kWords == 1) {
            words[0] = (I)rows[0];
        } else {
            using F = typename V::F;
            words[0] = (I)V::unzip_first((F)rows[0], (F)rows[1]);
            words[1] = (I)V::unzip_second((F)rows[0], (F)rows[1]);
        }
    }

    I words_[kWords];
};

}  // namespace paretopo::cpu::PARETOPO_LANES
