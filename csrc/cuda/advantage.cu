#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/ranking.cuh"
#include "group/advantage.hpp"
#include "ops.hpp"

namespace paretopo::cuda {
namespace {

// One block per group; thread t owns points t, t + kThreads, ... The output holds the weighted sums
// until it holds the advantages.
template <typename Scalar>
__global__ void __launch_bounds__(kThreads)
    pareto_advantage_kernel(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                            std::int32_t* ranks, Scalar* uncentred) {
    const int lane = static_cast<int>(threadIdx.x);
    for (std::int64_t g = blockIdx.x; g < batch.groups; g += gridDim.x) {
        const std::int64_t at = g * batch.points;
        sum_rewards(batch, g, how, advantages + at, lane, kThreads);
        const std::int32_t fronts = rank_group(batch, g, ranks + at);  // publishes the sums, too
        rank_advantages(advantages + at, ranks + at, fronts, batch.points, how.beta, uncentred + at,
                        lane, kThreads);
        __syncthreads();
        centre(uncentred + at, ranks + at, batch.points, how.center, advantages + at, lane,
               kThreads);
        __syncthreads();
    }
}

}  // namespace

template <typename Scalar>
void pareto_advantage(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                      std::int32_t* ranks, Scalar* scratch, int device, void* stream) {
    if (batch.groups == 0 || batch.points == 0) return;
    const OnDevice scope(device);
    pareto_advantage_kernel<<<grid_of(batch.groups), kThreads, 0,
                              static_cast<cudaStream_t>(stream)>>>(batch, how, advantages, ranks,
                                                                   scratch);
    check(cudaGetLastError(), "launching pareto_advantage");
}

template void pareto_advantage(Batch<float>, Advantage<float>, float*, std::int32_t*, float*, int,
                               void*);
template void pareto_advantage(Batch<double>, Advantage<double>, double*, std::int32_t*, double*,
                               int, void*);

}  // namespace paretopo::cuda
