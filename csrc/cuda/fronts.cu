#include <cstdint>

#include "cuda/launch.cuh"
#include "cuda/ranking.cuh"
#include "ops.hpp"

namespace paretopo::cuda {
namespace {

// One block per group; the grid strides over groups.
template <typename Scalar>
__global__ void __launch_bounds__(kThreads)
    pareto_rank_kernel(Batch<Scalar> batch, std::int32_t* ranks) {
    for (std::int64_t g = blockIdx.x; g < batch.groups; g += gridDim.x) {
        rank_group(batch, g, ranks + g * batch.points);
    }
}

}  // namespace

template <typename Scalar>
void pareto_rank(Batch<Scalar> batch, std::int32_t* ranks, int device, void* stream) {
    if (batch.groups == 0 || batch.points == 0) return;
    const OnDevice scope(device);
    pareto_rank_kernel<<<grid_of(batch.groups), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        batch, ranks);
    check(cudaGetLastError(), "launching pareto_rank");
}

template void pareto_rank(Batch<float>, std::int32_t*, int, void*);
template void pareto_rank(Batch<double>, std::int32_t*, int, void*);

}  // namespace paretopo::cuda
