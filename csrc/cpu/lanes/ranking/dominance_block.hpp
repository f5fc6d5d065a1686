// The dominance relation within a block of small groups, and the ranks: one group per lane.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "batch.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/ranking/dominators.hpp"
#include "cpu/lanes/ranking/pairwise.hpp"
#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// A block of kLanes groups. kPoints and kObjectives fix the shape at compile time, so that loops
// unroll and points stay in registers; 0 leaves it to run time, up to kCapacity points.
template <typename Scalar, int kPoints, int kObjectives, int kCapacity = capacity_of(kPoints)>
class DominanceBlock {
    using V = Lanes<Scalar>;
    using F = typename V::F;
    using I = typename V::I;
    using Int = typename V::Int;
    using Mask = typename V::Mask;
    using Dominators = std::conditional_t<kPoints && kPoints <= 8, ByteDominators<Scalar, kPoints>,
                                          WordDominators<Scalar, kPoints, kCapacity>>;
    static constexpr int kValues = kPoints * kObjectives ? kPoints * kObjectives : kMaxValuesInLane;

  public:
    static constexpr int kLanes = V::kLanes;

    explicit DominanceBlock(const Batch<Scalar>& batch)
        : batch_(batch), dominators_(batch.points) {}

    PARETOPO_INLINE void read(std::int64_t first, int groups) {
        groups_ = groups;
        const bool last = (first + kLanes) * points() * objectives() + kLanes >
                          batch_.groups * points() * objectives();
        read_columns<Scalar>(batch_.group(first), points() * objectives(), groups, last, columns_);
        is_masked_ = batch_.mask != nullptr;
        if (is_masked_) read_mask(first, groups);
    }

    // Ranks numbers that were rounded to Scalar, which keeps their order except for ties. False if
    // there are ties or numbers that are not finite; the results are then undefined.
    PARETOPO_INLINE bool find_dominators_of_rounded() {
        if constexpr (kPoints) return compare_rounded();
        return compare_rounded_out_of_line();
    }

    PARETOPO_INLINE void find_dominators() {
        if constexpr (kPoints) return compare();
        compare_out_of_line();
    }

    PARETOPO_INLINE void rank() {
        if constexpr (kPoints) return peel();
        peel_out_of_line();
    }

    // Ranks of the block, group-major, as the public int32.
    PARETOPO_INLINE void write_ranks(std::int32_t* ranks) {
        F as_floats[kCapacity];
        for (int i = 0; i < points(); ++i) as_floats[i] = (F)ranks_[i];
        if constexpr (sizeof(Int) == 4) {
            write_columns<Scalar, kPoints>(as_floats, points(), groups_,
                                           reinterpret_cast<Scalar*>(ranks));
        } else {
            alignas(kVectorBytes) Scalar wide[kLanes * kCapacity];
            write_columns<Scalar, kPoints>(as_floats, points(), groups_, wide);
            for (int k = 0; k < groups_ * points(); ++k) {
                Int rank;
                std::memcpy(&rank, wide + k, sizeof rank);
                ranks[k] = static_cast<std::int32_t>(rank);
            }
        }
    }

    __attribute__((noinline)) void write_nondominated(bool keep_duplicates,
                                                      std::uint8_t* nondominated) const {
        Mask dominated[kCapacity];
        dominators_.dominated(is_masked_ ? present_ : nullptr, dominated);
        for (int i = 0; i < points(); ++i) {
            I bad = V::choose(dominated[i], V::all_int(1), I{});
            if (is_masked_) bad = V::choose(present_[i], bad, V::all_int(1));
            for (int g = 0; g < groups_; ++g) nondominated[g * points() + i] = bad[g] == 0;
        }
        if (!keep_duplicates) drop_repeats(nondominated);
    }

  protected:
    PARETOPO_INLINE int points() const { return kPoints ? kPoints : batch_.points; }
    PARETOPO_INLINE int objectives() const { return kObjectives ? kObjectives : batch_.objectives; }

    Batch<Scalar> batch_;
    int groups_ = 0;
    bool is_masked_ = false;
    F columns_[kValues];  // values, then advantages
    Dominators dominators_;
    I ranks_[kCapacity];
    I fronts_;
    Mask present_[kCapacity];

  private:
    // Steps are inlined if the shape is known at compile time. Otherwise each is one shared
    // function, because so much code takes long to compile.
    __attribute__((noinline)) bool compare_rounded_out_of_line() { return compare_rounded(); }
    __attribute__((noinline)) void compare_out_of_line() { compare(); }
    __attribute__((noinline)) void peel_out_of_line() { peel(); }

    PARETOPO_INLINE bool compare_rounded() {
        F numbers[kValues];
        if (!to_maximised_numbers(numbers)) return false;
        using U = typename V::U;
        U closest = (U)V::all_int(-1);
        dominators_.fill(Pairwise<Scalar, F, kObjectives, true>{numbers, objectives(), &closest});
        if (is_masked_) dominators_.keep(present_);
        return !V::any(V::equal((I)closest, I{}));
    }

    PARETOPO_INLINE void compare() {
        F numbers[kValues];
        if (to_maximised_numbers(numbers)) {
            dominators_.fill(Pairwise<Scalar, F, kObjectives>{numbers, objectives()});
        } else {
            compare_keys();
        }
        if (is_masked_) dominators_.keep(present_);
    }

    // Rarely needed.
    __attribute__((noinline)) void compare_keys() {
        I keys[kValues];
        for (int c = 0; c < points() * objectives(); ++c) {
            keys[c] = ordered<Scalar>(columns_[c], batch_.is_minimised(c % objectives()));
        }
        dominators_.fill(Pairwise<Scalar, I, kObjectives>{keys, objectives()});
    }

    PARETOPO_INLINE void peel() {
        dominators_.rank(is_masked_ ? present_ : nullptr, ranks_);
        fronts_ = I{};
#pragma GCC unroll 16
        for (int i = 0; i < points(); ++i) fronts_ = V::larger(fronts_, ranks_[i]);
        fronts_ = fronts_ + V::all_int(1);
        if (!is_masked_) return;
        for (int i = 0; i < points(); ++i) {
            ranks_[i] = V::choose(present_[i], ranks_[i], V::all_int(kUnranked));
        }
    }

    // The values as numbers, larger is better, -0 as +0; false if one is NaN or infinite.
    PARETOPO_INLINE bool to_maximised_numbers(F* numbers) const {
        I not_finite{};
#pragma GCC unroll 32
        for (int c = 0; c < points() * objectives(); ++c) {
            const bool flip = batch_.minimised != 0 && batch_.is_minimised(c % objectives());
            numbers[c] = flip ? V::all(0) - columns_[c] : columns_[c] + V::all(0);
            not_finite |= (I)(numbers[c] - numbers[c]);
        }
        return !V::any(V::test_bits(not_finite, not_finite));
    }

    void read_mask(std::int64_t first, int groups) {
        const std::uint8_t* mask = batch_.group_mask(first);
        for (int i = 0; i < points(); ++i) {
            I in{};
            for (int g = 0; g < groups; ++g) in[g] = mask[g * points() + i];
            present_[i] = V::test_bits(in, in);
        }
    }

    // Keeps only the first of equal points. There are few per lane, and their columns are still in
    // cache.
    void drop_repeats(std::uint8_t* nondominated) const {
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
            for (int g = 0; g < groups_; ++g) nondominated[g * points() + i] &= repeats[g] == 0;
        }
    }

    F at(int point, int objective) const { return columns_[point * objectives() + objective]; }
};

}  // namespace paretopo::cpu::PARETOPO_LANES
