#include "cpu/lanes/small_groups.hpp"

#include <algorithm>
#include <cstdint>

#include "cpu/lanes/block.hpp"
#include "cpu/lanes/simd.hpp"
#include "group/advantage.hpp"
#include "ops.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// A block of kLanes groups. kPoints and kObjectives fix the shape at compile time, so that loops
// unroll and points stay in registers; 0 leaves it to run time.
template <typename Scalar, int kPoints, int kObjectives>
class Block {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    using I = typename V::I;
    using Int = typename V::Int;
    using Mask = typename V::Mask;
    static constexpr int kLanes = V::kLanes;
    static constexpr int kBits = 8 * static_cast<int>(sizeof(Int));
    static constexpr int kRoom = kPoints ? kPoints : kMostPoints;
    static constexpr int kValues = kPoints * kObjectives ? kPoints * kObjectives : kMostValues;
    static constexpr int kWords = kPoints ? (kPoints + kBits - 1) / kBits : (64 / kBits);

  public:
    explicit Block(const Batch<Scalar>& batch) : batch_(batch) {}

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

    PARETOPO_INLINE void advantages(const Advantage<Scalar>& how) {
        const F highest = V::all(how.largest);
        const F lowest = V::all(-how.largest);
        F sums[kRoom];
        F low[kRoom];
        F high[kRoom];
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            F sum = V::all(0);
#pragma GCC unroll 4
            for (int m = 0; m < objectives(); ++m) {
                const F reward =
                    V::larger(columns_[i * objectives() + m], lowest);  // NaN is lowest
                sum = sum + V::all(how.weights[m]) * V::smaller(reward, highest);
            }
            sums[i] = low[i] = high[i] = sum;
        }
        for (int i = 1; i < points(); ++i) {
            const F mine = sums[i];
            const I rank = ranks_[i];
            F lower = mine;
            F upper = mine;
#pragma GCC unroll 16
            for (int j = 0; j < i; ++j) {
                const Mask same = V::equal(rank, ranks_[j]);
                lower = V::smaller_where(same, sums[j], lower);
                upper = V::larger_where(same, sums[j], upper);
                low[j] = V::smaller_where(same, mine, low[j]);
                high[j] = V::larger_where(same, mine, high[j]);
            }
            low[i] = lower;
            high[i] = upper;
        }
        const F half = V::all(Scalar(0.5));
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            const F q = (sums[i] - low[i]) / (high[i] - low[i]);
            const F used = high[i] > low[i] ? q : half;
            const F base = __builtin_convertvector(fronts_ - ranks_[i], F);
            columns_[i] = base + V::all(how.beta) * (used - half);
        }
    }

    // Ranks of the block, group-major, as the public int32.
    void write_ranks(std::int32_t* ranks) {
        if constexpr (sizeof(Int) == 4) {
            F as_floats[kRoom];
            for (int i = 0; i < points(); ++i) as_floats[i] = (F)ranks_[i];
            write_columns<Scalar>(as_floats, points(), groups_, reinterpret_cast<Scalar*>(ranks));
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

    void write_advantages(const Advantage<Scalar>& how, Scalar* advantages) {
        if (how.center == Center::kMean) subtract_mean();
        if (how.center == Center::kMean || how.center == Center::kNone) {
            if (is_masked_) {
                for (int i = 0; i < points(); ++i) {
                    columns_[i] = V::choose(present_[i], columns_[i], V::all(0));
                }
            }
            write_columns<Scalar>(columns_, points(), groups_, advantages);
            return;
        }
        alignas(kVectorBytes) Scalar own[kLanes * kRoom];
        alignas(kVectorBytes) std::int32_t ranks[kLanes * kRoom];
        write_ranks(ranks);
        write_columns<Scalar>(columns_, points(), groups_, own);
        for (int g = 0; g < groups_; ++g) {
            centre(own + g * points(), ranks + g * points(), points(), how.center,
                   advantages + g * points(), 0, 1);
        }
    }

  private:
    PARETOPO_INLINE int points() const { return kPoints ? kPoints : batch_.points; }
    PARETOPO_INLINE int objectives() const { return kObjectives ? kObjectives : batch_.objectives; }
    PARETOPO_INLINE int words() const {
        return kPoints || kWords == 1 ? kWords : (batch_.points + kBits - 1) / kBits;
    }

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

    // The mean of the present advantages, summed in index order in double, as everywhere.
    PARETOPO_INLINE void subtract_mean() {
        constexpr int kParts = static_cast<int>(sizeof(double) / sizeof(Scalar));
        typedef double D __attribute__((vector_size(kVectorBytes)));
        typedef Scalar Narrow __attribute__((vector_size(kVectorBytes / kParts)));
        D sum[kParts] = {};
        D count[kParts] = {};
        const auto part = [](F vector, int p) {
            Narrow piece;
            std::memcpy(&piece, reinterpret_cast<const char*>(&vector) + p * sizeof piece,
                        sizeof piece);
            return __builtin_convertvector(piece, D);
        };
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) {
            const F counted =
                is_masked_ ? V::choose(present_[i], columns_[i], V::all(0)) : columns_[i];
            for (int p = 0; p < kParts; ++p) sum[p] = sum[p] + part(counted, p);
            if (!is_masked_) continue;
            const F one = V::choose(present_[i], V::all(1), V::all(0));
            for (int p = 0; p < kParts; ++p) count[p] = count[p] + part(one, p);
        }
        F mean;
        const double everyone = points();
        for (int p = 0; p < kParts; ++p) {
            const D here = is_masked_ ? sum[p] / count[p] : sum[p] / (everyone - D{});
            const Narrow piece = __builtin_convertvector(here, Narrow);
            std::memcpy(reinterpret_cast<char*>(&mean) + p * sizeof piece, &piece, sizeof piece);
        }
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) columns_[i] = columns_[i] - mean;
    }

    Batch<Scalar> batch_;
    int groups_ = 0;
    bool is_masked_ = false;
    F columns_[kValues];  // values, then advantages
    I dominators_[kRoom][kWords];
    I ranks_[kRoom];
    I fronts_;
    Mask present_[kRoom];
};

// Calls work(block, first group) for the blocks of groups first..end.
template <typename Scalar, int kPoints, int kObjectives, typename Work>
void each_block(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                const Work& work) {
    constexpr int kLanes = Lanes<Scalar>::kLanes;
    Block<Scalar, kPoints, kObjectives> block(batch);
    for (; first < end; first += kLanes) {
        block.read(first, static_cast<int>(end - first < kLanes ? end - first : kLanes));
        work(block, first);
    }
}

// The shapes that rollout groups most often have are compiled for; others take the general way.
template <typename Scalar, typename Work>
void each_block_of_shape(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                         const Work& work) {
    switch (batch.points * 8 + batch.objectives) {
        case 4 * 8 + 2:
            return each_block<Scalar, 4, 2>(batch, first, end, work);
        case 8 * 8 + 2:
            return each_block<Scalar, 8, 2>(batch, first, end, work);
        case 8 * 8 + 3:
            return each_block<Scalar, 8, 3>(batch, first, end, work);
        case 16 * 8 + 2:
            return each_block<Scalar, 16, 2>(batch, first, end, work);
        case 16 * 8 + 3:
            return each_block<Scalar, 16, 3>(batch, first, end, work);
        default:
            break;
    }
    if (batch.objectives == 2) return each_block<Scalar, 0, 2>(batch, first, end, work);
    if (batch.objectives == 3) return each_block<Scalar, 0, 3>(batch, first, end, work);
    each_block<Scalar, 0, 0>(batch, first, end, work);
}

}  // namespace

template <typename Scalar>
void rank_groups(Batch<Scalar> batch, std::int64_t from, std::int64_t end, std::int32_t* ranks) {
    each_block_of_shape(batch, from, end, [&](auto& block, std::int64_t first) {
        block.find_dominators();
        block.rank();
        block.write_ranks(ranks + first * batch.points);
    });
}

template <typename Scalar>
void filter_groups(Batch<Scalar> batch, std::int64_t from, std::int64_t end, bool keep_weakly,
                   std::uint8_t* chosen) {
    each_block<Scalar, 0, 0>(batch, from, end, [&](auto& block, std::int64_t first) {
        block.find_dominators();
        block.write_chosen(keep_weakly, chosen + first * batch.points);
    });
}

template <typename Scalar>
void advantage_of_groups(Batch<Scalar> batch, std::int64_t from, std::int64_t end,
                         Advantage<Scalar> how, Scalar* advantages, std::int32_t* ranks) {
    each_block_of_shape(batch, from, end, [&](auto& block, std::int64_t first) {
        block.find_dominators();
        block.rank();
        if (ranks) block.write_ranks(ranks + first * batch.points);
        block.advantages(how);
        block.write_advantages(how, advantages + first * batch.points);
    });
}

template void rank_groups(Batch<float>, std::int64_t, std::int64_t, std::int32_t*);
template void rank_groups(Batch<double>, std::int64_t, std::int64_t, std::int32_t*);
template void filter_groups(Batch<float>, std::int64_t, std::int64_t, bool, std::uint8_t*);
template void filter_groups(Batch<double>, std::int64_t, std::int64_t, bool, std::uint8_t*);
template void advantage_of_groups(Batch<float>, std::int64_t, std::int64_t, Advantage<float>,
                                  float*, std::int32_t*);
template void advantage_of_groups(Batch<double>, std::int64_t, std::int64_t, Advantage<double>,
                                  double*, std::int32_t*);

}  // namespace paretopo::cpu::PARETOPO_LANES
