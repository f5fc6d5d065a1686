// The block algorithms of csrc/cuda, lane after lane on the CPU: what runs on a GPU is tested
// without one.
#include <algorithm>
#include <cstdint>

#include "group/advantage.hpp"
#include "group/fronts.hpp"
#include "ops.hpp"

namespace paretopo::cpu {
namespace {

template <typename Scalar>
std::int32_t rank_group(const Batch<Scalar>& batch, std::int64_t g, std::int32_t* ranks,
                        int lanes) {
    std::fill_n(ranks, batch.points, kUnranked);
    for (std::int32_t front = 0;; ++front) {
        bool found = false;
        bool some_left = false;
        for (int lane = 0; lane < lanes; ++lane) {
            const Pass pass = rank_pass(batch, g, ranks, front, lane, lanes);
            found |= pass.found;
            some_left |= pass.some_left;
        }
        if (!some_left || !found) return front + found;
    }
}

}  // namespace

template <typename Scalar>
void pareto_advantage_by_lanes(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                               std::int32_t* ranks, Scalar* uncentred, int lanes) {
    for (std::int64_t g = 0; g < batch.groups; ++g) {
        const std::int64_t at = g * batch.points;
        const auto each_lane = [&](auto step) {
            for (int lane = 0; lane < lanes; ++lane) step(lane);
        };
        each_lane([&](int lane) { sum_rewards(batch, g, how, advantages + at, lane, lanes); });
        const std::int32_t fronts = rank_group(batch, g, ranks + at, lanes);
        each_lane([&](int lane) {
            rank_advantages(advantages + at, ranks + at, fronts, batch.points, how.beta,
                            uncentred + at, lane, lanes);
        });
        each_lane([&](int lane) {
            centre(uncentred + at, ranks + at, batch.points, how.center, advantages + at, lane,
                   lanes);
        });
    }
}

template void pareto_advantage_by_lanes(Batch<float>, Advantage<float>, float*, std::int32_t*,
                                        float*, int);
template void pareto_advantage_by_lanes(Batch<double>, Advantage<double>, double*, std::int32_t*,
                                        double*, int);

}  // namespace paretopo::cpu
