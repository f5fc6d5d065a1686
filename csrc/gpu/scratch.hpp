// How much scratch an operation takes.
#pragma once

#include <cstdint>

#include "gpu/crowding.hpp"
#include "gpu/limits.hpp"
#include "gpu/ranking.hpp"
#include "gpu/volumes.hpp"
#include "ops.hpp"

namespace paretopo::gpu {

template <typename Place, typename Scalar>
std::int64_t scratch_bytes(Place place, Operation operation, Batch<Scalar> batch) {
    const Limits limits = limits_of(place);
    switch (operation) {
        case Operation::kRank:
        case Operation::kFilter:
            return ranking_scratch(batch, limits);
        case Operation::kCrowding: {
            Limits no_threads = limits;
            no_threads.thread_points = 0;
            return ranks_bytes(batch, limits) + ranking_scratch(batch, no_threads);
        }
        case Operation::kAdvantage:
            return ranks_bytes(batch, limits) + ranking_scratch(batch, limits);
        case Operation::kHypervolume:
            break;
    }
    if (batch.objectives > 3) {
        return batch.groups * batch.points * static_cast<std::int64_t>(sizeof(double));
    }
    return fits_warp(batch, limits) ? 0 : batch.groups * SweepOfSet<Scalar>::bytes(batch);
}

}  // namespace paretopo::gpu
