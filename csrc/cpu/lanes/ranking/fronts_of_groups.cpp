// Ranks, filter and advantages of many small groups, one group per lane.
#include <algorithm>
#include <cstdint>

#include "batch.hpp"
#include "cpu/lanes/kernels.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/ranking/advantage_block.hpp"
#include "cpu/lanes/ranking/dominance_block.hpp"
#include "cpu/lanes/ranking/planar_block.hpp"
#include "cpu/lanes/ranking/rounded_block.hpp"

namespace paretopo::cpu::PARETOPO_LANES {
namespace {

// Calls work(block, first group) for the blocks of groups first..end.
template <typename Block, typename Scalar, typename Work>
void each_block(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                const Work& work) {
    constexpr int kLanes = Block::kLanes;
    Block block(batch);
    for (; first < end; first += kLanes) {
        block.read(first, static_cast<int>(end - first < kLanes ? end - first : kLanes));
        work(block, first);
    }
}

// Calls work(block, first group) for blocks of the groups first..end with their dominators found.
template <typename Scalar, int kPoints, int kObjectives, int kCapacity, typename Work>
void each_dominance(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                    const Work& work) {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
        each_block<DominanceBlock<Scalar, kPoints, kObjectives, kCapacity>>(
            batch, first, end, [&](auto& block, std::int64_t g) __attribute__((always_inline)) {
                block.find_dominators();
                work(block, g);
            });
    } else {
        each_block<RoundedBlock<Scalar, kPoints, kObjectives, kCapacity>>(
            batch, first, end, [&](auto& block, std::int64_t g) __attribute__((always_inline)) {
                block.with_dominators([&](auto& known, int within) __attribute__((always_inline)) {
                    work(known, g + within);
                });
            });
    }
}

// Calls run.operator()<0, kObjectives, kCapacity>() for groups of any number of points that fits.
template <typename Scalar, typename Run>
void with_objectives(const Batch<Scalar>& batch, const Run& run) {
    if (batch.points > kMaxPoints) {
        if (batch.objectives == 2) return run.template operator()<0, 2, kMaxFlatPoints>();
        return run.template operator()<0, 3, kMaxFlatPoints>();
    }
    if (batch.objectives == 2) return run.template operator()<0, 2, kMaxPoints>();
    if (batch.objectives == 3) return run.template operator()<0, 3, kMaxPoints>();
    run.template operator()<0, 0, kMaxPoints>();
}

// Calls run.operator()<kPoints, kObjectives, kCapacity>(). The most common shapes of rollout groups
// have their own code; other shapes use the general version.
template <typename Scalar, typename Run>
void with_shape(const Batch<Scalar>& batch, const Run& run) {
    const auto is = [&](int points, int objectives) {
        return batch.points == points && batch.objectives == objectives;
    };
    if (is(4, 2)) return run.template operator()<4, 2, 4>();
    if (is(8, 2)) return run.template operator()<8, 2, 8>();
    if (is(8, 3)) return run.template operator()<8, 3, 8>();
    if (is(16, 2)) return run.template operator()<16, 2, 16>();
    if (is(16, 3)) return run.template operator()<16, 3, 16>();
    with_objectives(batch, run);
}

template <typename Scalar>
void rank_by_pairs(const Batch<Scalar>& batch, std::int64_t from, std::int64_t end,
                   std::int32_t* ranks) {
    with_shape(batch, [&]<int kPoints, int kObjectives, int kCapacity>() {
        each_dominance<Scalar, kPoints, kObjectives, kCapacity>(
            batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
                block.rank();
                block.write_ranks(ranks + first * batch.points);
            });
    });
}

// The same for 2 objectives.
template <typename Scalar>
void rank_planar(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                 std::int32_t* ranks) {
    PlanarBlock<Scalar> block;
    for (; first < end; first += block.kLanes) {
        const std::int64_t stop = std::min<std::int64_t>(end, first + block.kLanes);
        if (!block.template rank<false>(batch, first, static_cast<int>(stop - first),
                                        ranks + first * batch.points)) {
            rank_by_pairs(batch, first, stop, ranks);
        }
    }
}

// The same, with doubles as floats if that gives the same ranks.
void rank_planar_rounded(const Batch<double>& batch, std::int64_t first, std::int64_t end,
                         std::int32_t* ranks) {
    constexpr int kLanes = Lanes<float>::kLanes;
    PlanarBlock<float> block;
    alignas(kVectorBytes) float floats[kLanes * kMaxValuesInLane + kLanes];
    // Twice the groups: memory beyond them is readable.
    const Batch<float> rounded{floats, nullptr, 2 * kLanes, batch.points, 2, batch.minimised};
    for (; first < end; first += kLanes) {
        const std::int64_t stop = std::min<std::int64_t>(end, first + kLanes);
        const auto groups = static_cast<int>(stop - first);
        std::int32_t* const own = ranks + first * batch.points;
        const bool is_exact =
            round_to_floats(batch.group(first), groups * 2 * batch.points, floats);
        if (!(is_exact ? block.rank<false>(rounded, 0, groups, own)
                       : block.rank<true>(rounded, 0, groups, own))) {
            rank_planar(batch, first, stop, ranks);
        }
    }
}

template <typename Scalar>
void rank_groups(Batch<Scalar> batch, std::int64_t from, std::int64_t end, std::int32_t* ranks) {
    // Groups of 16 points have code of their own, which is faster.
    if (batch.objectives == 2 && !batch.mask && batch.points > 8 && batch.points != 16) {
        if constexpr (sizeof(Scalar) == sizeof(double)) {
            return rank_planar_rounded(batch, from, end, ranks);
        } else {
            return rank_planar(batch, from, end, ranks);
        }
    }
    rank_by_pairs(batch, from, end, ranks);
}

template <typename Scalar>
void find_nondominated(Batch<Scalar> batch, std::int64_t from, std::int64_t end,
                       bool keep_duplicates, std::uint8_t* nondominated) {
    with_objectives(batch, [&]<int kPoints, int kObjectives, int kCapacity>() {
        each_dominance<Scalar, kPoints, kObjectives, kCapacity>(
            batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
                block.write_nondominated(keep_duplicates, nondominated + first * batch.points);
            });
    });
}

template <typename Scalar>
void advantages(Batch<Scalar> batch, std::int64_t from, std::int64_t end, Weighting<Scalar> how,
                Scalar* advantages, std::int32_t* ranks) {
    with_shape(batch, [&]<int kPoints, int kObjectives, int kCapacity>() {
        each_block<AdvantageBlock<Scalar, kPoints, kObjectives, kCapacity>>(
            batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
                block.find_dominators();
                block.rank();
                if (ranks) block.write_ranks(ranks + first * batch.points);
                block.advantages(how, first);
                block.write_advantages(how, advantages + first * batch.points);
            });
    });
}

template <typename Scalar>
constexpr GroupKernels<Scalar> kTableGroupKernels{.rank = rank_groups<Scalar>,
                                                  .find_nondominated = find_nondominated<Scalar>,
                                                  .advantages = advantages<Scalar>};

}  // namespace

const OfBoth<GroupKernels> kGroupKernels{kTableGroupKernels<float>, kTableGroupKernels<double>};

}  // namespace paretopo::cpu::PARETOPO_LANES
