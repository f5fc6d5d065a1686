// Scratch of large sets, and their steps as jobs: one block per set, or all blocks on one set.
#pragma once

#include <cstdint>

#include "batch.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/launch/team.hpp"
#include "gpu/ranking/advantage_steps.hpp"
#include "gpu/ranking/chain.hpp"

namespace paretopo::gpu {

// Scratch of a batch of large sets, one set after another.
template <typename Scalar>
struct Chains {
    char* scratch;
    Batch<Scalar> batch;

    PARETOPO_HD Chain<Scalar> of(std::int64_t g) const {
        Arena arena(scratch + g * bytes(batch));
        return Chain<Scalar>(arena, batch.points, batch.objectives);
    }
    PARETOPO_HD static std::int64_t bytes(const Batch<Scalar>& batch) {
        Arena arena(nullptr);
        Chain<Scalar>(arena, batch.points, batch.objectives);
        AdvantageSteps<Scalar>(arena, batch.points);
        return arena.bytes();
    }
    PARETOPO_HD AdvantageSteps<Scalar> advantage_of(std::int64_t g) const {
        Arena arena(scratch + g * bytes(batch));
        Chain<Scalar>(arena, batch.points, batch.objectives);
        return AdvantageSteps<Scalar>(arena, batch.points);
    }
};

template <typename Scalar>
std::int64_t ranking_bytes(const Batch<Scalar>& batch, const Limits& limits) {
    if (!fits_warp(batch, limits)) return batch.groups * Chains<Scalar>::bytes(batch);
    if (fits_thread(batch, limits) || (batch.objectives >= 2 && batch.objectives <= 4)) return 0;
    return batch.groups * batch.points * batch.objectives *
           static_cast<std::int64_t>(sizeof(Key<Scalar>));
}

// Ranks of large sets that the caller does not need: they are at the start of the scratch.
template <typename Scalar>
std::int64_t ranks_bytes(const Batch<Scalar>& batch, const Limits& limits) {
    if (fits_warp(batch, limits)) return 0;
    Arena arena(nullptr);
    arena.array<std::int32_t>(batch.groups * batch.points);
    return arena.bytes();
}

// ---- The steps of one large set as jobs: (block, part, parts, group) ----
//
// No step ends with a barrier, because the end of its launch is one.

template <typename Scalar>
struct ReadSet {
    Chains<Scalar> chains;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each_unsynced([&](int lane) {
            chain.read(chains.batch, g, part * block.lanes() + lane, parts * block.lanes());
        });
    }
};

template <typename Scalar>
struct SortSet {
    Chains<Scalar> chains;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each_unsynced(
            [&](int lane) { chain.sort(part * block.lanes() + lane, parts * block.lanes()); });
    }
};

template <typename Scalar>
struct WriteRanks {
    Chains<Scalar> chains;
    std::int32_t* ranks;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        block.each_unsynced([&](int lane) {
            chain.write(block, chains.batch.group_mask(g), ranks + g * chain.points,
                        part * block.lanes() + lane, parts * block.lanes());
        });
    }
};

// All steps by one block.
template <typename Scalar, int kObjectives>
struct RankSet {
    Chains<Scalar> chains;
    std::int32_t* ranks;
    std::int32_t tile;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        ReadSet<Scalar>{chains}(block, 0, 1, g);
        block.each([](int) {});
        SortSet<Scalar>{chains}(block, 0, 1, g);
        block.each([](int) {});
        chains.of(g).template settle<kObjectives>(block, 0, chains.batch.points, tile);
        WriteRanks<Scalar>{chains, ranks}(block, 0, 1, g);
    }
};

// Ranks of large sets, the first step of several operations: compiled once, in gpu/rank_large.hpp.
// The chains start at the scratch of `place`. ranks must not be null.
template <typename Place, typename Scalar>
void rank_large(Place place, Batch<Scalar> batch, std::int32_t* ranks);

}  // namespace paretopo::gpu
