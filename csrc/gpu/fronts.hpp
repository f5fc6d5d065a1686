// pareto_rank and is_nondominated, as launches.
#pragma once

#include <cstdint>

#include "gpu/limits.hpp"
#include "gpu/ranking.hpp"
#include "group/registers.hpp"
#include "group/small_group.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

// Where the keys of a group lie that have no place in the room of a warp.
template <typename Scalar>
PARETOPO_HD Key<Scalar>* keys_elsewhere(char* scratch, const Batch<Scalar>& batch, std::int64_t g) {
    return reinterpret_cast<Key<Scalar>*>(scratch) + g * batch.points * batch.objectives;
}

template <int kPoints, int kObjectives>
struct RankInRegisters {
    Batch<float> batch;
    std::int32_t* ranks;
    PARETOPO_HD void operator()(std::int64_t g) const {
        const Registers<kPoints, kObjectives> group(batch, g);
        std::uint32_t dominators[kPoints];
        std::int32_t own[kPoints];
        group.find_dominators(batch.minimised, dominators);
        group.rank(dominators, own);
        store(own, batch.points, ranks + g * batch.points);
    }
};

template <typename Scalar, int kObjectives>
struct RankByWarp {
    Batch<Scalar> batch;
    char* scratch;
    std::int32_t* ranks;

    std::int64_t room() const {
        Carve room(nullptr);
        SmallGroup<Scalar, kObjectives>(room, batch, nullptr);
        return room.end();
    }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Carve room(memory);
        SmallGroup<Scalar, kObjectives> group(room, batch, keys_elsewhere(scratch, batch, g));
        group.read(warp, batch, g);
        group.rank(warp);
        for_each(warp, batch.points,
                 [&](std::int64_t i) { ranks[g * batch.points + i] = group.ranks[i]; });
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
        launcher.warps(batch.groups, job.room(), job);
    });
}

// ---- Filter ----

template <int kPoints, int kObjectives>
struct FilterInRegisters {
    Batch<float> batch;
    bool keep_weakly;
    std::uint8_t* chosen;
    PARETOPO_HD void operator()(std::int64_t g) const {
        const Registers<kPoints, kObjectives> group(batch, g);
        std::uint32_t dominators[kPoints];
        const std::uint32_t repeats = group.find_dominators(batch.minimised, dominators);
        const std::uint32_t present = group.present();
        PARETOPO_UNROLL
        for (int i = 0; i < kPoints; ++i) {
            const bool is_first = keep_weakly || (repeats >> i & 1) == 0;
            const bool is_chosen =
                (present >> i & 1) != 0 && (dominators[i] & present) == 0 && is_first;
            if (i < batch.points) chosen[g * batch.points + i] = is_chosen;
        }
    }
};

template <typename Scalar, int kObjectives>
struct FilterByWarp {
    Batch<Scalar> batch;
    char* scratch;
    bool keep_weakly;
    std::uint8_t* chosen;

    std::int64_t room() const { return RankByWarp<Scalar, kObjectives>{batch, {}, {}}.room(); }
    template <typename Warp>
    PARETOPO_HD void operator()(Warp& warp, std::int64_t g, char* memory) const {
        Carve room(memory);
        SmallGroup<Scalar, kObjectives> group(room, batch, keys_elsewhere(scratch, batch, g));
        group.read(warp, batch, g);
        for_each(warp, batch.points, [&](std::int64_t i) {
            chosen[g * batch.points + i] = group.is_chosen(i, keep_weakly);
        });
    }
};

// One point of a large set against all others, from keys.
template <typename Scalar, int kObjectives>
struct FilterPoints {
    Chains<Scalar> chains;
    bool keep_weakly;
    std::uint8_t* chosen;
    template <typename Block>
    PARETOPO_HD void operator()(Block& block, std::int64_t part, std::int64_t parts,
                                std::int64_t g) const {
        const auto chain = chains.of(g);
        const std::uint8_t* mask = chains.batch.group_mask(g);
        block.each([&](int lane) {
            for (std::int64_t i = part * block.lanes() + lane; i < chain.points;
                 i += parts * block.lanes()) {
                chosen[g * chain.points + i] = is_chosen(chain, mask, i);
            }
        });
    }

  private:
    PARETOPO_HD bool is_chosen(const Chain<Scalar>& chain, const std::uint8_t* mask,
                               std::int64_t i) const {
        if (mask && mask[i] == 0) return false;
        const std::int32_t objectives = chain.objectives;
        const Key<Scalar>* own = chain.given + i * objectives;
        for (std::int64_t j = 0; j < chain.points; ++j) {
            const Key<Scalar>* other = chain.given + j * objectives;
            if (key_dominates<kObjectives>(other, own, objectives)) return false;
            if (!keep_weakly && j < i && (!mask || mask[j] != 0) &&
                key_equal(other, own, objectives)) {
                return false;
            }
        }
        return true;
    }
};

template <typename Place, typename Scalar>
void is_nondominated(Place place, Batch<Scalar> batch, bool keep_weakly, std::uint8_t* chosen) {
    if (batch.groups == 0 || batch.points == 0) return;
    auto launcher = launcher_of(place, "is_nondominated");
    const Limits limits = limits_of(place);
    if constexpr (std::is_same_v<Scalar, float>) {
        if (fits_thread(batch, limits)) {
            return with_registers(batch.points, batch.objectives, [&](auto points, auto m) {
                launcher.threads(batch.groups, FilterInRegisters<points.value, m.value>{
                                                   batch, keep_weakly, chosen});
            });
        }
    }
    with_objectives(batch.objectives, [&](auto m) {
        if (fits_warp(batch, limits)) {
            const FilterByWarp<Scalar, m.value> job{batch, place.scratch, keep_weakly, chosen};
            return launcher.warps(batch.groups, job.room(), job);
        }
        const Chains<Scalar> chains{place.scratch, batch};
        launcher.blocks(launcher.parts(batch.points), batch.groups, ReadSet<Scalar>{chains});
        launcher.blocks(launcher.parts(batch.points), batch.groups,
                        FilterPoints<Scalar, m.value>{chains, keep_weakly, chosen});
    });
}

}  // namespace paretopo::gpu
