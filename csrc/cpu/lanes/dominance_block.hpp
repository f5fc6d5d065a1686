// Who dominates whom, and the ranks that follow, in a block of small groups: one group per lane.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cpu/lanes/block.hpp"
#include "cpu/lanes/simd.hpp"
#include "ops.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Who dominates whom in a block of kLanes groups. kPoints and kObjectives fix the shape at compile
// time, so that loops unroll and points stay in registers; 0 leaves it to run time.
template <typename Scalar, int kPoints, int kObjectives>
class DominanceBlock {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    using I = typename V::I;
    using Int = typename V::Int;
    using Mask = typename V::Mask;
    static constexpr int kLanes = V::kLanes;
    static constexpr int kBits = 8 * static_cast<int>(sizeof(Int));
    static constexpr int kValues = kPoints * kObjectives ? kPoints * kObjectives : kMostValues;
    static constexpr int kWords = kPoints ? (kPoints + kBits - 1) / kBits : (64 / kBits);

  public:
    explicit DominanceBlock(const Batch<Scalar>& batch) : batch_(batch) {}

    void read(std::int64_t first, int groups) {
        groups_ = groups;
        const bool last = (first + kLanes) * points() * objectives() + kLanes >
                          batch_.groups * points() * objectives();
        read_columns<Scalar>(batch_.group(first), points() * objectives(), groups, last, columns_);
        is_masked_ = batch_.mask != nullptr;
        if (is_masked_) read_mask(first, groups);
    }

    // D[i], bit j: j dominates i.
    PARETOPO_INLINE void find_dominators() {
        if (batch_.minimised == 0 && !has_nan()) {
            compare_all(columns_);  // plain floats are in order already
        } else {
            I keys[kValues];
            for (int c = 0; c < points() * objectives(); ++c) {
                keys[c] = ordered<Scalar>(columns_[c], batch_.is_minimised(c % objectives()));
            }
            compare_all(keys);
        }
        if (!is_masked_) return;
        for (int i = 0; i < points(); ++i) {
            for (int w = 0; w < words(); ++w) {
                dominators_[i][w] = V::choose(present_[i], dominators_[i][w], I{});
            }
        }
    }

    // Peels front after front. A point that leaves never comes back, so ranks count the rounds.
    PARETOPO_INLINE void rank() {
        I alive[kWords] = {};
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            ranks_[i] = I{};
            set_bit(alive, i, bit_of(i), is_present(i));
        }
        fronts_ = V::all_int(1);
        for (;;) {
            I next[kWords];
            for (int w = 0; w < words(); ++w) {
                I beaten_here{};
                I bit = V::all_int(1);
                const int end = points() < (w + 1) * kBits ? points() : (w + 1) * kBits;
#pragma GCC unroll 16
                for (int i = w * kBits; i < end; ++i) {
                    Mask beaten = V::meets(dominators_[i][0], alive[0]);
                    for (int v = 1; v < words(); ++v) {
                        beaten = V::either(beaten, V::meets(dominators_[i][v], alive[v]));
                    }
                    ranks_[i] = V::add_where(beaten, ranks_[i], V::all_int(1));
                    beaten_here = V::or_where(beaten, beaten_here, bit);
                    bit = bit + bit;
                }
                next[w] = beaten_here;
            }
            I left = next[0];
            for (int w = 1; w < words(); ++w) left |= next[w];
            const Mask some = V::meets(left, left);
            if (!V::any(some)) break;
            fronts_ = V::add_where(some, fronts_, V::all_int(1));
            for (int w = 0; w < words(); ++w) alive[w] = next[w];
        }
        if (!is_masked_) return;
        for (int i = 0; i < points(); ++i) {
            ranks_[i] = V::choose(present_[i], ranks_[i], V::all_int(kUnranked));
        }
    }

    // Ranks of the block, group-major, as the public int32.
    void write_ranks(std::int32_t* ranks) {
        if constexpr (sizeof(Int) == 4) {
            F as_floats[kRoom];
            for (int i = 0; i < points(); ++i) as_floats[i] = (F)ranks_[i];
            write_columns<Scalar, kPoints>(as_floats, points(), groups_,
                                           reinterpret_cast<Scalar*>(ranks));
        } else {
            for (int i = 0; i < points(); ++i) {
                for (int g = 0; g < groups_; ++g) {
                    ranks[g * points() + i] = static_cast<std::int32_t>(ranks_[i][g]);
                }
            }
        }
    }

    void write_chosen(bool keep_weakly, std::uint8_t* chosen) const {
        I there[kWords] = {};
        for (int i = 0; i < points(); ++i) set_bit(there, i, bit_of(i), is_present(i));
        for (int i = 0; i < points(); ++i) {
            I rivals = dominators_[i][0] & there[0];
            for (int w = 1; w < words(); ++w) rivals |= dominators_[i][w] & there[w];
            const I bad = V::choose(V::meets(rivals, rivals), V::all_int(1), I{});
            for (int g = 0; g < groups_; ++g) chosen[g * points() + i] = bad[g] == 0;
        }
        if (is_masked_) {
            for (int i = 0; i < points(); ++i) {
                const I in = V::choose(present_[i], V::all_int(1), I{});
                for (int g = 0; g < groups_; ++g) chosen[g * points() + i] &= in[g] != 0;
            }
        }
        if (!keep_weakly) drop_repeats(chosen);
    }

  protected:
    static constexpr int kRoom = kPoints ? kPoints : kMostPoints;

    PARETOPO_INLINE int points() const { return kPoints ? kPoints : batch_.points; }
    PARETOPO_INLINE int objectives() const { return kObjectives ? kObjectives : batch_.objectives; }
    PARETOPO_INLINE int words() const {
        return kPoints || kWords == 1 ? kWords : (batch_.points + kBits - 1) / kBits;
    }

    Batch<Scalar> batch_;
    int groups_ = 0;
    bool is_masked_ = false;
    F columns_[kValues];  // values, then advantages
    I dominators_[kRoom][kWords];
    I ranks_[kRoom];
    I fronts_;
    Mask present_[kRoom];

  private:
    PARETOPO_INLINE bool has_nan() const {
        const int count = points() * objectives();
        Mask found = V::unordered(columns_[count - 1], columns_[count - 1]);
#pragma GCC unroll 32
        for (int c = 0; c + 1 < count; c += 2) {
            found = V::either(found, V::unordered(columns_[c], columns_[c + 1]));
        }
        return V::any(found);
    }

    template <typename Vector>
    PARETOPO_INLINE void compare_all(const Vector* values) {
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
#pragma GCC unroll 2
            for (int w = 0; w < words(); ++w) dominators_[i][w] = I{};
        }
        // What belongs to point i stays in registers while the others pass by.
        for (int i = 1; i < points(); ++i) {
            Vector mine[kObjectives ? kObjectives : kMostValues];
#pragma GCC unroll 4
            for (int m = 0; m < objectives(); ++m) mine[m] = values[i * objectives() + m];
            const I own_bit = bit_of(i);
            const int own_word = i / kBits;
            for (int w = 0; w < words(); ++w) {
                I above{};  // of the points of this word, those that dominate i
                I bit = V::all_int(1);
                const int end = i < (w + 1) * kBits ? i : (w + 1) * kBits;
#pragma GCC unroll 16
                for (int j = w * kBits; j < end; ++j) {
                    Mask first = V::all_lanes();   // i is at least as good as j
                    Mask second = V::all_lanes();  // j is at least as good as i
#pragma GCC unroll 4
                    for (int m = 0; m < objectives(); ++m) {
                        const Vector other = values[j * objectives() + m];
                        first = V::and_at_least(first, mine[m], other);
                        second = V::and_at_least(second, other, mine[m]);
                    }
                    I& below = dominators_[j][own_word];
                    below = V::or_where(V::without(first, second), below, own_bit);
                    above = V::or_where(V::without(second, first), above, bit);
                    bit = bit + bit;
                }
                dominators_[i][w] = above;
            }
        }
    }

    static PARETOPO_INLINE I bit_of(int point) {
        return V::all_int(static_cast<Int>(std::make_unsigned_t<Int>{1} << (point % kBits)));
    }

    static PARETOPO_INLINE void set_bit(I* words, int point, I bit, Mask where) {
        words[point / kBits] = V::or_where(where, words[point / kBits], bit);
    }

    PARETOPO_INLINE Mask is_present(int point) const {
        return is_masked_ ? present_[point] : V::equal(I{}, I{});
    }

    void read_mask(std::int64_t first, int groups) {
        const std::uint8_t* mask = batch_.group_mask(first);
        for (int i = 0; i < points(); ++i) {
            I in{};
            for (int g = 0; g < groups; ++g) in[g] = mask[g * points() + i];
            present_[i] = V::meets(in, in);
        }
    }

    // Of equal points the first stays: lanes hold few, and the columns are still at hand.
    void drop_repeats(std::uint8_t* chosen) const {
        for (int i = 1; i < points(); ++i) {
            I repeats{};
            for (int j = 0; j < i; ++j) {
                Mask same = V::equal(I{}, I{});
                for (int m = 0; m < objectives(); ++m) {
                    same = V::both(same, V::equal(ordered<Scalar>(at(i, m), false),
                                                  ordered<Scalar>(at(j, m), false)));
                }
                if (is_masked_) same = V::both(same, present_[j]);
                repeats |= V::choose(same, V::all_int(1), I{});
            }
            for (int g = 0; g < groups_; ++g) chosen[g * points() + i] &= repeats[g] == 0;
        }
    }

    F at(int point, int objective) const { return columns_[point * objectives() + objective]; }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
