// Launches of pareto_rank and is_nondominated.
#pragma once

#include <cstdint>

#include "gpu/launch/limits.hpp"
#include "gpu/ranking/filter.hpp"
#include "gpu/ranking/group_in_registers.hpp"
#include "gpu/ranking/group_of_warp.hpp"
#include "gpu/ranking/large_sets.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

template <int kPoints, int kObjectives>
struct RankInRegisters {
    Batch<float> batch;
    std::int32_t* ranks;
    PARETOPO_HD void operator()(std::int64_t g) const {
        const GroupInRegisters<kPoints, kObjectives> group(batch, g);
        std::uint32_t dominators[kPoints];
        std::int32_t own[kPoints];
        group.find_dominators(batch.minimised, 0, dominators);
        group.rank(dominators, own);
        store(own, batch.points, ranks + g * batch.points);
    }
};

template <typename Scalar, int kObjectives>
struct RankByWarp {
    Batch<Scalar> batch;
    char* scratch;
    std::int32_t* ranks;

    std::int64_t shared_bytes() const { return group_bytes<Scalar, kObjectives>(batch); }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        GroupOfWarp<Scalar, kObjectives> group(arena, batch, scratch, g);
        group.read(warp, batch, g);
        group.rank(warp);
        for_each_unsynced(warp, batch.points,
                          [&](std::int64_t i) { ranks[g * batch.points + i] = group.ranks[i]; });
        group.leave(warp);
    }
};

template <typename Place, typename Scalar>
void pareto_rank(Place place, Batch<Scalar> batch, std::int32_t* ranks) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "pareto_rank");
    const Limits limits = limits_of(place);
    if constexpr (std::is_same_v<Scalar, float>) {
        if (fits_thread(batch, limits)) {
            return with_registers(batch.points, batch.objectives, [&](auto points, auto m) {
                launcher.threads(batch.groups,
                                 RankInRegisters<points.value, m.value>{batch, ranks});
            });
        }
    }
    if (!fits_warp(batch, limits)) return rank_large(place, batch, ranks);
    with_objectives(batch.objectives, [&](auto m) {
        const RankByWarp<Scalar, m.value> job{batch, place.scratch, ranks};
        launcher.warps(batch.groups, job.shared_bytes(), job);
    });
}

// ---- is_nondominated ----

template <int kPoints, int kObjectives>
struct NondominatedInRegisters {
    Batch<float> batch;
    bool keep_duplicates;
    std::uint8_t* nondominated;
    PARETOPO_HD void operator()(std::int64_t g) const {
        const GroupInRegisters<kPoints, kObjectives> group(batch, g);
        std::uint32_t dominators[kPoints];
        group.find_dominators(batch.minimised, keep_duplicates ? 0 : ~std::uint32_t{0}, dominators);
        const std::uint32_t present = group.present();
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            const bool is_kept = (present >> i & 1) != 0 && (dominators[i] & present) == 0;
            if (i < batch.points) nondominated[g * batch.points + i] = is_kept;
        }
    }
};

template <typename Scalar, int kObjectives>
struct NondominatedByWarp {
    Batch<Scalar> batch;
    char* scratch;
    bool keep_duplicates;
    std::uint8_t* nondominated;

    std::int64_t shared_bytes() const { return group_bytes<Scalar, kObjectives>(batch); }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        GroupOfWarp<Scalar, kObjectives> group(arena, batch, scratch, g);
        group.read(warp, batch, g);
        for_each_unsynced(warp, batch.points, [&](std::int64_t i) {
            nondominated[g * batch.points + i] = group.is_nondominated(i, keep_duplicates);
        });
        group.leave(warp);
    }
};

// Compares points of a large set with all others, by keys, and counts the parts of the others that
// exclude a point.
template <typename Scalar, int kObjectives>
struct ExcludePoints {
    Chains<Scalar> chains;
    Splits splits;
    bool keep_duplicates;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        const std::uint8_t* mask = chains.batch.group_mask(g);
        splits.each(block, part, parts, 0, chain.points, 0, chain.points,
                    [&](std::int64_t i, std::int64_t from, std::int64_t to) {
                        if (is_excluded(chain, mask, i, from, to)) {
                            block.atomic_add(chain.counts + i, 1);
                        }
                    });
    }

  private:
    PARETOPO_HD bool is_excluded(const Chain<Scalar>& chain, const std::uint8_t* mask,
                                 std::int64_t i, std::int64_t from, std::int64_t to) const {
        const std::int32_t objectives = chain.objectives;
        const Key<Scalar>* own = chain.given + i * objectives;
        for (std::int64_t j = from; j < to; ++j) {
            const Key<Scalar>* other = chain.given + j * objectives;
            const auto found = compare_one_way<kObjectives>(other, own, objectives);
            if (found.a_dominates()) return true;
            const bool is_earlier = j < i && (!mask || mask[j] != 0);
            if (!keep_duplicates && is_earlier && found.are_equal()) return true;
        }
        return false;
    }
};

template <typename Scalar>
struct WriteNondominated {
    Chains<Scalar> chains;
    std::uint8_t* nondominated;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        const std::uint8_t* mask = chains.batch.group_mask(g);
        for_each_in_part(block, part, parts, 0, chain.points, [&](std::int64_t i) {
            nondominated[g * chain.points + i] = (!mask || mask[i] != 0) && chain.counts[i] == 0;
        });
    }
};

template <typename Place, typename Scalar>
void is_nondominated(Place place, Batch<Scalar> batch, bool keep_duplicates,
                     std::uint8_t* nondominated) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "is_nondominated");
    const Limits limits = limits_of(place);
    if constexpr (std::is_same_v<Scalar, float>) {
        if (fits_thread(batch, limits)) {
            return with_registers(batch.points, batch.objectives, [&](auto points, auto m) {
                launcher.threads(batch.groups, NondominatedInRegisters<points.value, m.value>{
                                                   batch, keep_duplicates, nondominated});
            });
        }
    }
    with_objectives(batch.objectives, [&](auto m) {
        if (fits_warp(batch, limits)) {
            const NondominatedByWarp<Scalar, m.value> job{batch, place.scratch, keep_duplicates,
                                                          nondominated};
            return launcher.warps(batch.groups, job.shared_bytes(), job);
        }
        if (batch.points > limits.block_points) {
            const Filters<Scalar> filters{place.scratch, batch, limits};
            return filter_large<m.value>(launcher, filters, keep_duplicates, nondominated);
        }
        const Chains<Scalar> chains{place.scratch, batch};
        const std::int64_t parts = launcher.parts(batch.points);
        const Splits splits = splits_of(parts, batch.groups, batch.points, limits);
        launcher.blocks(parts, batch.groups, ReadSet<Scalar>{chains});
        launcher.blocks(parts * splits.splits, batch.groups,
                        ExcludePoints<Scalar, m.value>{chains, splits, keep_duplicates});
        launcher.blocks(parts, batch.groups, WriteNondominated<Scalar>{chains, nondominated});
    });
}

template <typename Place, typename Scalar>
std::int64_t pareto_rank_scratch(Place place, Batch<Scalar> batch) {
    return ranking_bytes(batch, limits_of(place));
}

template <typename Place, typename Scalar>
std::int64_t is_nondominated_scratch(Place place, Batch<Scalar> batch) {
    const Limits limits = limits_of(place);
    if (batch.points <= limits.block_points) return ranking_bytes(batch, limits);
    return batch.groups * Filters<Scalar>::bytes(batch, limits);
}

PARETOPO_INSTANTIATE_HERE(pareto_rank)
PARETOPO_INSTANTIATE_HERE(pareto_rank_scratch)
PARETOPO_INSTANTIATE_HERE(is_nondominated)
PARETOPO_INSTANTIATE_HERE(is_nondominated_scratch)

}  // namespace paretopo::gpu
