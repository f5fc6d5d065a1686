// Ranks points of 2 objectives by patience sorting, as long as there are few fronts: the best
// second key of each front is in a lane of a few registers. Each point replaces the first one that
// is larger. Unlike a binary search in memory, no step waits for a store of the step before.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/simd/simd.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// Ascending tails, as signed integers in the order of the unsigned keys.
template <int kVectors>
class HeldTails {
    using V = Lanes<double>;
    using I = V::I;
    static constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

  public:
    static constexpr std::size_t kSize = std::size_t{kVectors} * V::kLanes;

    explicit PARETOPO_INLINE HeldTails(const std::uint64_t* tails) {
        std::memcpy(held_, tails, sizeof held_);
        flip_signs();
    }
    PARETOPO_INLINE void store_to(std::uint64_t* tails) {
        flip_signs();
        std::memcpy(tails, held_, sizeof held_);
    }

    // The place of the key, or kSize if no tail is larger.
    PARETOPO_INLINE std::size_t place(std::uint64_t unsigned_key) {
        const I key = V::all_int(static_cast<std::int64_t>(unsigned_key)) ^ V::all_int(kLowest);
        I before = V::all_int(kLowest);
        std::uint64_t larger = 0;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) {
            const I own = held_[v];
            const I shifted = move_up(before, own, std::make_integer_sequence<int, V::kLanes>());
            const auto is_larger = V::greater(own, key);
            held_[v] = V::choose(V::without(is_larger, V::greater(shifted, key)), key, own);
            before = own;
            larger |= std::uint64_t{V::bits(is_larger)} << (v * V::kLanes);
        }
        return larger == 0 ? kSize : static_cast<std::size_t>(std::countr_zero(larger));
    }

  private:
    PARETOPO_INLINE void flip_signs() {
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) held_[v] ^= V::all_int(kLowest);
    }

    // The lanes of a vector moved up by one, after the last lane of the vector before.
    template <int... k>
    static PARETOPO_INLINE I move_up(I before, I own, std::integer_sequence<int, k...>) {
        return __builtin_shufflevector(before, own, (V::kLanes - 1 + k)...);
    }

    I held_[kVectors];
};

// Returns how many keys are placed: those before the first that needs another vector.
template <int kVectors>
std::size_t place_in(std::uint64_t* tails, const std::uint64_t* keys, std::size_t size,
                     std::int32_t* ranks) {
    HeldTails<kVectors> held(tails);
    std::size_t placed = 0;
    for (; placed < size; ++placed) {
        const std::size_t rank = held.place(keys[placed]);
        if (rank == held.kSize) break;
        ranks[placed] = static_cast<std::int32_t>(rank);
    }
    held.store_to(tails);
    return placed;
}

std::size_t place_keys(std::uint64_t* tails, const std::uint64_t* keys, std::size_t size,
                       std::int32_t* ranks) {
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    // Portable vectors have too few lanes.
    constexpr std::size_t kMost = Lanes<double>::kLanes < 4 ? 0 : HeldTails<8>::kSize;
    static_assert(kMost <= kMaxHeldTails);
    std::size_t placed = 0;
    while (placed < size) {
        const std::uint64_t* end = std::find(tails, tails + kMaxHeldTails, kNone);
        const auto count = static_cast<std::size_t>(end - tails);
        if (count >= kMost) break;
        const auto place = count < HeldTails<1>::kSize   ? place_in<1>
                           : count < HeldTails<2>::kSize ? place_in<2>
                           : count < HeldTails<4>::kSize ? place_in<4>
                                                         : place_in<8>;
        const std::size_t more = place(tails, keys + placed, size - placed, ranks + placed);
        if (more == 0) break;
        placed += more;
    }
    return placed;
}

}  // namespace

const TailKernels kTailKernels{.place = place_keys};

}  // namespace paretopo::cpu::PARETOPO_LANES
