// Ranks, filter and advantages of many small groups, one group per lane.
#include <cstdint>

#include "cpu/lanes/advantage_block.hpp"
#include "cpu/lanes/dominance_block.hpp"
#include "cpu/lanes/exports.hpp"
#include "cpu/lanes/rounded_block.hpp"
#include "ops.hpp"

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

// The shapes that rollout groups most often have are compiled for; others take the general way.
template <template <typename, int, int> typename Block, typename Scalar, typename Work>
void each_block_of_shape(const Batch<Scalar>& batch, std::int64_t first, std::int64_t end,
                         const Work& work) {
    const auto is = [&](int points, int objectives) {
        return batch.points == points && batch.objectives == objectives;
    };
    if (is(4, 2)) return each_block<Block<Scalar, 4, 2>>(batch, first, end, work);
    if (is(8, 2)) return each_block<Block<Scalar, 8, 2>>(batch, first, end, work);
    if (is(8, 3)) return each_block<Block<Scalar, 8, 3>>(batch, first, end, work);
    if (is(16, 2)) return each_block<Block<Scalar, 16, 2>>(batch, first, end, work);
    if (is(16, 3)) return each_block<Block<Scalar, 16, 3>>(batch, first, end, work);
    if (batch.objectives == 2) return each_block<Block<Scalar, 0, 2>>(batch, first, end, work);
    if (batch.objectives == 3) return each_block<Block<Scalar, 0, 3>>(batch, first, end, work);
    each_block<Block<Scalar, 0, 0>>(batch, first, end, work);
}

}  // namespace

template <typename Scalar>
void rank_groups(Batch<Scalar> batch, std::int64_t from, std::int64_t end, std::int32_t* ranks) {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
        each_block_of_shape<DominanceBlock>(
            batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
                block.find_dominators();
                block.rank();
                block.write_ranks(ranks + first * batch.points);
            });
    } else {
        each_block_of_shape<RoundedBlock>(
            batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
                block.rank(ranks + first * batch.points);
            });
    }
}

template <typename Scalar>
void find_nondominated(Batch<Scalar> batch, std::int64_t from, std::int64_t end, bool keep_weakly,
                       std::uint8_t* nondominated) {
    each_block<DominanceBlock<Scalar, 0, 0>>(
        batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
            block.find_dominators();
            block.write_nondominated(keep_weakly, nondominated + first * batch.points);
        });
}

template <typename Scalar>
void advantages(Batch<Scalar> batch, std::int64_t from, std::int64_t end, Weighting<Scalar> how,
                Scalar* advantages, std::int32_t* ranks) {
    each_block_of_shape<AdvantageBlock>(
        batch, from, end, [&](auto& block, std::int64_t first) __attribute__((always_inline)) {
            block.find_dominators();
            block.rank();
            if (ranks) block.write_ranks(ranks + first * batch.points);
            block.advantages(how);
            block.write_advantages(how, advantages + first * batch.points);
        });
}

PARETOPO_INSTANTIATE_KERNEL(rank_groups)
PARETOPO_INSTANTIATE_KERNEL(find_nondominated)
PARETOPO_INSTANTIATE_KERNEL(advantages)

}  // namespace paretopo::cpu::PARETOPO_LANES
