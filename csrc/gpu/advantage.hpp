// pareto_advantage, as launches: one, up to sets that take all blocks to rank.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpu/fronts.hpp"
#include "gpu/limits.hpp"
#include "gpu/ranking.hpp"
#include "group/advantage.hpp"
#include "group/registers.hpp"
#include "group/small_group.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

inline constexpr std::int32_t kMostWeights = 64;

// How ranks become advantages, with the weights by value: they travel with the launch.
template <typename Scalar, int kMost>
struct Weighing {
    Scalar weights[kMost];
    Scalar largest;
    Scalar beta;
    Centre centre;

    Weighing(const Advantage<Scalar>& how, std::int32_t objectives)
        : weights(), largest(how.largest), beta(how.beta), centre(how.centre) {
        for (std::int32_t m = 0; m < objectives; ++m) weights[m] = how.weights[m];
    }
    PARETOPO_HD Advantage<Scalar> how() const { return {weights, largest, beta, centre}; }
};

template <int kPoints, int kObjectives>
struct AdvantageInRegisters {
    Batch<float> batch;
    Weighing<float, 4> weighing;
    float* advantages;
    std::int32_t* ranks;  // or null
    PARETOPO_HD void operator()(std::int64_t g) const {
        const Registers<kPoints, kObjectives> group(batch, g);
        float sums[kPoints];
        std::uint32_t dominators[kPoints];
        std::int32_t own[kPoints];
        group.weigh(weighing.weights, weighing.largest, sums);
        group.find_dominators(batch.minimised, dominators);
        const std::int32_t fronts = group.rank(dominators, own);
        rank_advantages(fronts, own, weighing.beta, sums);
        const Centring centring = centring_of(sums, own, kPoints, weighing.centre);
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            sums[i] = own[i] == kUnranked ? 0.0F : centring.apply(sums[i]);
        }
        store(sums, batch.points, advantages + g * batch.points);
        if (ranks) store(own, batch.points, ranks + g * batch.points);
    }
};

template <typename Scalar, int kObjectives>
struct AdvantageByWarp {
    Batch<Scalar> batch;
    char* scratch;
    Weighing<Scalar, kObjectives == 0 ? kMostWeights : kObjectives> weighing;
    Scalar* advantages;
    std::int32_t* ranks;  // or null

    std::int64_t room() const {
        Carve room(nullptr);
        SmallGroup<Scalar, kObjectives>(room, batch, nullptr);
        Scores<Scalar>(room, batch.points);
        return room.end();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Carve room(memory);
        SmallGroup<Scalar, kObjectives> group(room, batch, keys_elsewhere(scratch, batch, g));
        const Scores<Scalar> scores(room, batch.points);
        group.read(warp, batch, g);
        const std::int32_t fronts = group.rank(warp);
        const std::int64_t at = g * batch.points;
        scores.advantages(warp, batch, g, weighing.how(), group.ranks, fronts, advantages + at);
        if (!ranks) return;
        for_each(warp, batch.points, [&](std::int64_t i) { ranks[at + i] = group.ranks[i]; });
    }
};

// One block: ranks, unless they are there already, then advantages.
template <typename Scalar, int kObjectives>
struct AdvantageOfSet {
    Chains<Scalar> chains;
    Weighing<Scalar, kObjectives == 0 ? kMostWeights : kObjectives> weighing;
    Scalar* advantages;
    std::int32_t* ranks;
    std::int32_t tile;
    bool is_ranked;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t, std::int64_t, std::int64_t g) const {
        if (!is_ranked) RankSet<Scalar, kObjectives>{chains, ranks, tile}(block, 0, 1, g);
        const Batch<Scalar>& batch = chains.batch;
        const std::int64_t at = g * batch.points;
        chains.scores_of(g).advantages(block, batch, g, weighing.how(), ranks + at,
                                       *chains.of(g).fronts, advantages + at);
    }
};

template <typename Place, typename Scalar>
void pareto_advantage(Place place, Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                      std::int32_t* ranks) {
    if (batch.groups == 0 || batch.points == 0) return;
    if (batch.objectives > kMostWeights) {
        throw std::invalid_argument("pareto_advantage on a GPU takes up to " +
                                    std::to_string(kMostWeights) + " objectives, got " +
                                    std::to_string(batch.objectives) +
                                    ": move the rewards to the CPU");
    }
    auto launcher = launcher_of(place, "pareto_advantage");
    const Limits limits = limits_of(place);
    if constexpr (std::is_same_v<Scalar, float>) {
        if (fits_thread(batch, limits)) {
            const Weighing<float, 4> weighing(how, batch.objectives);
            return with_registers(batch.points, batch.objectives, [&](auto points, auto m) {
                launcher.threads(batch.groups, AdvantageInRegisters<points.value, m.value>{
                                                   batch, weighing, advantages, ranks});
            });
        }
    }
    with_objectives(batch.objectives, [&](auto m) {
        const Weighing<Scalar, m.value == 0 ? kMostWeights : m.value> weighing(how,
                                                                               batch.objectives);
        if (fits_warp(batch, limits)) {
            const AdvantageByWarp<Scalar, m.value> job{batch, place.scratch, weighing, advantages,
                                                       ranks};
            return launcher.warps(batch.groups, job.room(), job);
        }
        auto* own = ranks ? ranks : reinterpret_cast<std::int32_t*>(place.scratch);
        Place behind = place;
        behind.scratch += ranks_bytes(batch, limits);
        const Chains<Scalar> chains{behind.scratch, batch};
        const bool by_grid = !fits_block(batch, limits);
        if (by_grid) rank_large(behind, batch, own);
        launcher.blocks(1, batch.groups,
                        AdvantageOfSet<Scalar, m.value>{chains, weighing, advantages, own,
                                                        limits.tile, by_grid});
    });
}

}  // namespace paretopo::gpu
