// Ranks groups of doubles as floats if that gives the same ranks: twice the lanes.
//
// Rounding keeps the order of numbers except for ties. The ranks are correct if every number is
// exactly a float, or if no two numbers of a group became equal; otherwise doubles are ranked.
#pragma once

#include <algorithm>
#include <cstdint>

#include "batch.hpp"
#include "cpu/lanes/ranking/block.hpp"
#include "cpu/lanes/ranking/dominance_block.hpp"
#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {

// Writes the numbers as floats; true if all of them are.
PARETOPO_INLINE bool round_to_floats(const double* numbers, int count, float* floats) {
    using V = Lanes<float>;
    constexpr int kLanes = V::kLanes;
    constexpr int kHalf = kLanes / 2;
    constexpr int kAhead = 4096;  // bytes
    using I = typename Lanes<double>::I;
    bool all_exact = true;
    I inexact{};
    int k = 0;
    for (; k + kLanes <= count; k += kLanes) {
        __builtin_prefetch(reinterpret_cast<const char*>(numbers + k) + kAhead);
        __builtin_prefetch(reinterpret_cast<const char*>(numbers + k) + kAhead + 64);
        typename V::D wide[2];
        typename V::D back[2];
        for (int p = 0; p < 2; ++p) wide[p] = Lanes<double>::load(numbers + k + p * kHalf);
        const typename V::F narrow = V::from_doubles(wide);
        V::to_doubles(narrow, back);
        for (int p = 0; p < 2; ++p) inexact |= (I)wide[p] ^ (I)back[p];
        V::store(floats + k, narrow);
    }
    for (; k < count; ++k) {
        floats[k] = static_cast<float>(numbers[k]);
        all_exact = all_exact && static_cast<double>(floats[k]) == numbers[k];
    }
    return all_exact && !Lanes<double>::any(Lanes<double>::test_bits(inexact, inexact));
}

// Like DominanceBlock, for results that depend only on ranks. A block has one group per lane of
// floats.
template <typename Scalar, int kPoints, int kObjectives, int kCapacity = capacity_of(kPoints)>
class RoundedBlock {
  public:
    static constexpr int kLanes = Lanes<float>::kLanes;

    explicit RoundedBlock(const Batch<Scalar>& batch) : batch_(batch) {}

    PARETOPO_INLINE void read(std::int64_t first, int groups) {
        first_ = first;
        groups_ = groups;
    }

    // Calls work(block, first group) with blocks whose dominators are found; groups count from the
    // first one read.
    template <typename Work>
    PARETOPO_INLINE void with_dominators(const Work& work) {
        const int width = batch_.points * batch_.objectives;
        const bool is_exact = round_to_floats(batch_.group(first_), groups_ * width, floats_);
        // Twice the groups: memory beyond them is readable.
        const Batch<float> rounded{floats_,       batch_.group_mask(first_), 2 * kLanes,
                                   batch_.points, batch_.objectives,         batch_.minimised};
        DominanceBlock<float, kPoints, kObjectives, kCapacity> block(rounded);
        block.read(0, groups_);
        if (is_exact) {
            block.find_dominators();
        } else if (batch_.mask || !block.find_dominators_of_rounded()) {  // padding is full of ties
            return without_rounding(work);
        }
        work(block, 0);
    }

  private:
    template <typename Work>
    __attribute__((noinline)) void without_rounding(const Work& work) {
        constexpr int kAtATime = Lanes<double>::kLanes;
        DominanceBlock<double, kPoints, kObjectives, kCapacity> block(batch_);
        for (int g = 0; g < groups_; g += kAtATime) {
            block.read(first_ + g, std::min(kAtATime, groups_ - g));
            block.find_dominators();
            work(block, g);
        }
    }

    Batch<Scalar> batch_;
    std::int64_t first_ = 0;
    int groups_ = 0;
    alignas(kVectorBytes) float floats_[kLanes * kMaxValuesInLane + kLanes];
};

}  // namespace paretopo::cpu::PARETOPO_LANES
