#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/ranking.cuh"
#include "group/advantage.hpp"
#include "ops.hpp"

namespace paretopo::cuda {
namespace {

// One block per group; thread t owns points t, t + kThreads, ... The output holds the weighted sums
// first, then the uncentred advantages, so no other memory is needed. Sums of a group run in index
// order in every thread alike: the result does not depend on the launch.
template <typename Scalar>
__global__ void __launch_bounds__(kThreads)
    pareto_advantage_kernel(Batch<Scalar> batch, Advantage<Scalar> how, Scalar* advantages,
                            std::int32_t* ranks, Scalar* uncentred) {
    for (std::int64_t g = blockIdx.x; g < batch.groups; g += gridDim.x) {
        std::int32_t* rank = ranks + g * batch.points;
        Scalar* sums = advantages + g * batch.points;
        Scalar* own = uncentred + g * batch.points;
        for (int i = threadIdx.x; i < batch.points; i += kThreads) {
            sums[i] = weighted_sum(batch.group(g) + std::int64_t{i} * batch.objectives, how.weights,
                                   how.largest, batch.objectives);
        }
        const std::int32_t fronts = rank_group(batch, g, rank);  // its barriers publish the sums

        for (int i = threadIdx.x; i < batch.points; i += kThreads) {
            Scalar lowest = sums[i];
            Scalar highest = sums[i];
            for (int j = 0; j < batch.points; ++j) {
                if (rank[j] != rank[i]) continue;
                if (sums[j] < lowest) lowest = sums[j];
                if (sums[j] > highest) highest = sums[j];
            }
            const Scalar q = normalised_in_front(sums[i], lowest, highest);
            own[i] = rank_advantage(fronts, rank[i], q, how.beta);
        }
        __syncthreads();

        const Centring centring = centring_of(own, rank, batch.points, how.center);
        for (int i = threadIdx.x; i < batch.points; i += kThreads) {
            sums[i] = rank[i] == kUnranked ? Scalar(0) : centring.apply(own[i]);
        }
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
