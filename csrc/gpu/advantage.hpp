// Launches of pareto_advantage: a single one, except for sets that need all blocks to rank.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "formulas/advantage.hpp"
#include "gpu/launch/limits.hpp"
#include "gpu/ranking/advantage_steps.hpp"
#include "gpu/ranking/group_in_registers.hpp"
#include "gpu/ranking/group_of_warp.hpp"
#include "gpu/ranking/large_sets.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

inline constexpr std::int32_t kMaxWeights = 64;

// A Weighting that passes weights by value with the launch if all groups share them.
template <typename Scalar, int kMax>
struct WeightingByValue {
    Scalar weights[kMax];
    Scalar largest;
    const double* each;  // (groups, objectives + 1) or null
    Scalar beta;
    Centre centre;

    WeightingByValue(const double* given, bool per_group, std::int32_t objectives, double beta,
                     Centre centre)
        : weights(),
          largest(per_group ? Scalar(0) : static_cast<Scalar>(given[objectives])),
          each(per_group ? given : nullptr),
          beta(static_cast<Scalar>(beta)),
          centre(centre) {
        if (per_group) return;
        for (std::int32_t m = 0; m < objectives; ++m) weights[m] = static_cast<Scalar>(given[m]);
    }
    PARETOPO_HD GroupWeighting<Scalar> of(std::int64_t g, std::int32_t objectives) const {
        const double* own = each ? each + g * (objectives + 1) : nullptr;
        const Scalar most = own ? static_cast<Scalar>(own[objectives]) : largest;
        return {{own, weights}, most, beta, centre};
    }
};

template <int kPoints, int kObjectives>
struct AdvantageInRegisters {
    Batch<float> batch;
    WeightingByValue<float, 4> weighting;
    float* advantages;
    std::int32_t* ranks;  // or null
    PARETOPO_HD void operator()(std::int64_t g, const Column<Span>& spans) const {
        const GroupInRegisters<kPoints, kObjectives> group(batch, g);
        float sums[kPoints];
        std::uint32_t dominators[kPoints];
        std::int32_t own[kPoints];
        const GroupWeighting<float> own_weighting = weighting.of(g, kObjectives);
        float weights[kObjectives];
        PARETOPO_UNROLL
        for (int m = 0; m < kObjectives; ++m) weights[m] = own_weighting.weights[m];
        group.weigh(weights, own_weighting.largest, sums);
        group.find_dominators(batch.minimised, 0, dominators);
        const std::int32_t fronts = group.rank(dominators, own);
        rank_advantages_in_registers(fronts, own, weighting.beta, spans, sums);
        const Centring centring = centring_of(sums, own, kPoints, weighting.centre);
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            sums[i] = own[i] == kUnranked ? 0.0F : centring.shift(sums[i]);
        }
        if (centring.has_scale()) {
            PARETOPO_UNROLL
            for (int i = 0; i < kPoints; ++i) sums[i] = centring.scale(sums[i]);
        }
        store(sums, batch.points, advantages + g * batch.points);
        if (ranks) store(own, batch.points, ranks + g * batch.points);
    }
};

template <typename Scalar, int kObjectives>
struct AdvantageByWarp {
    Batch<Scalar> batch;
    char* scratch;
    WeightingByValue<Scalar, kObjectives == 0 ? kMaxWeights : kObjectives> weighting;
    Scalar* advantages;
    std::int32_t* ranks;  // or null

    std::int64_t shared_bytes() const {
        Arena arena(nullptr);
        GroupOfWarp<Scalar, kObjectives>(arena, batch, nullptr, 0);
        AdvantageSteps<Scalar>(arena, batch.points);
        return arena.bytes();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Arena arena(memory);
        GroupOfWarp<Scalar, kObjectives> group(arena, batch, scratch, g);
        const AdvantageSteps<Scalar> steps(arena, batch.points);
        group.read(warp, batch, g);
        const std::int32_t fronts = group.rank(warp);
        const std::int64_t at = g * batch.points;
        steps.run(warp, batch, g, weighting.of(g, batch.objectives), group.ranks, fronts,
                  advantages + at);
        if (!ranks) return;
        for_each_unsynced(warp, batch.points,
                          [&](std::int64_t i) { ranks[at + i] = group.ranks[i]; });
    }
};

// One block: computes the ranks, unless they are given, then the advantages.
template <typename Scalar, int kObjectives>
struct AdvantageOfSet {
    Chains<Scalar> chains;
    WeightingByValue<Scalar, kObjectives == 0 ? kMaxWeights : kObjectives> weighting;
    Scalar* advantages;
    std::int32_t* ranks;
    std::int32_t tile;
    bool is_ranked;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        if (!is_ranked) {
            RankSet<Scalar, kObjectives>{chains, ranks, tile}(block, 0, 1, g);
            block.each([](int) {});
        }
        const Batch<Scalar>& batch = chains.batch;
        const std::int64_t at = g * batch.points;
        chains.advantage_of(g).run(block, batch, g, weighting.of(g, batch.objectives), ranks + at,
                                   *chains.of(g).fronts, advantages + at);
    }
};

template <typename Place, typename Scalar>
void pareto_advantage(Place place, Batch<Scalar> batch, const double* weights, bool per_group,
                      double beta, Centre centre, Scalar* advantages, std::int32_t* ranks) {
    if (batch.groups == 0 || batch.points == 0) return;
    if (batch.objectives > kMaxWeights) {
        throw std::invalid_argument("pareto_advantage on a GPU takes up to " +
                                    std::to_string(kMaxWeights) + " objectives, got " +
                                    std::to_string(batch.objectives) +
                                    ": move the rewards to the CPU");
    }
    auto launcher = launcher_of(place, "pareto_advantage");
    const Limits limits = limits_of(place);
    if constexpr (std::is_same_v<Scalar, float>) {
        if (fits_thread(batch, limits)) {
            const WeightingByValue<float, 4> weighting(weights, per_group, batch.objectives, beta,
                                                       centre);
            return with_registers(batch.points, batch.objectives, [&](auto points, auto m) {
                launcher.template threads_with_columns<Span, points.value>(
                    batch.groups, AdvantageInRegisters<points.value, m.value>{batch, weighting,
                                                                              advantages, ranks});
            });
        }
    }
    with_objectives(batch.objectives, [&](auto m) {
        const WeightingByValue<Scalar, m.value == 0 ? kMaxWeights : m.value> weighting(
            weights, per_group, batch.objectives, beta, centre);
        if (fits_warp(batch, limits)) {
            const AdvantageByWarp<Scalar, m.value> job{batch, place.scratch, weighting, advantages,
                                                       ranks};
            return launcher.warps(batch.groups, job.shared_bytes(), job);
        }
        auto* own = ranks ? ranks : reinterpret_cast<std::int32_t*>(place.scratch);
        Place behind = place;
        behind.scratch += ranks_bytes(batch, limits);
        const Chains<Scalar> chains{behind.scratch, batch};
        const bool by_grid = !fits_block(batch, limits);
        if (by_grid) rank_large(behind, batch, own);
        launcher.blocks(1, batch.groups,
                        AdvantageOfSet<Scalar, m.value>{chains, weighting, advantages, own,
                                                        limits.tile, by_grid});
    });
}

template <typename Place, typename Scalar>
std::int64_t pareto_advantage_scratch(Place place, Batch<Scalar> batch) {
    const Limits limits = limits_of(place);
    return ranks_bytes(batch, limits) + ranking_bytes(batch, limits);
}

PARETOPO_INSTANTIATE_HERE(pareto_advantage)
PARETOPO_INSTANTIATE_HERE(pareto_advantage_scratch)

}  // namespace paretopo::gpu
