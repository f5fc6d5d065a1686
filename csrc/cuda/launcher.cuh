// Launches the jobs of csrc/gpu/ on a device: one thread, one warp or several blocks per group.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "cuda/errors.hpp"
#include "cuda/limits.hpp"
#include "cuda/team.cuh"
#include "gpu/launch/column.hpp"
#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo::cuda {

inline constexpr int kThreads = 128;       // per block of independent threads
inline constexpr int kMaxWarps = 4;        // per block of independent warps
inline constexpr int kBlockThreads = 256;  // per block that works together
// Blocks of warps and cooperating blocks: at least this many resident on a multiprocessor. Without
// a bound the compiler spills registers to fit more; with a bound, independent threads take all
// registers.
inline constexpr int kBlocksAtOnce = 2;

// One thread per job; the grid strides over the jobs that exceed it.
template <typename Job>
__global__ void __launch_bounds__(kThreads)
    by_threads(const __grid_constant__ Job job, std::int64_t count) {
    const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
    for (std::int64_t k = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; k < count;
         k += stride) {
        job(k);
    }
}

// The same, each thread with a column of shared memory.
template <typename T, int kCount, typename Job>
__global__ void __launch_bounds__(kThreads)
    by_threads_with_columns(const __grid_constant__ Job job, std::int64_t count) {
    __shared__ T columns[kCount * kThreads];
    const gpu::Column<T> own{columns + threadIdx.x, kThreads};
    const std::int64_t stride = std::int64_t{gridDim.x} * kThreads;
    for (std::int64_t k = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; k < count;
         k += stride) {
        job(k, own);
    }
}

// One warp per job, each with `bytes` of its own shared memory.
template <typename Job>
__global__ void __launch_bounds__(kMaxWarps* Warp::kLanes, 2 * kBlocksAtOnce)
    by_warps(const __grid_constant__ Job job, std::int64_t count, std::int64_t bytes) {
    extern __shared__ __align__(16) char shared[];
    const unsigned warps = blockDim.x / Warp::kLanes;
    const unsigned own = threadIdx.x / Warp::kLanes;
    Warp warp;
    for (std::int64_t k = std::int64_t{blockIdx.x} * warps + own; k < count;
         k += std::int64_t{gridDim.x} * warps) {
        job(warp, k, shared + own * bytes);
    }
}

// gridDim.x blocks share the work of a group; gridDim.y strides over the groups.
template <typename Job>
__global__ void __launch_bounds__(kBlockThreads, kBlocksAtOnce)
    by_blocks(const __grid_constant__ Job job, std::int64_t groups) {
    Block<kBlockThreads> block;
    for (std::int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        job(block, blockIdx.x, gridDim.x, g);
    }
}

// Makes the device current during its lifetime.
class Launcher {
  public:
    Launcher(const Cuda& place, const char* operation)
        : stream_(static_cast<cudaStream_t>(place.stream)), operation_(operation) {
        check(cudaGetDevice(&previous_), "asking for the current device");
        if (place.device == previous_) return;
        check(cudaSetDevice(place.device), "switching to the device of the points");
        is_switched_ = true;
    }
    ~Launcher() {
        if (is_switched_) cudaSetDevice(previous_);
    }
    Launcher(const Launcher&) = delete;
    Launcher& operator=(const Launcher&) = delete;

    // Number of blocks that gives every point a thread.
    std::int64_t parts(std::int64_t points) const {
        return (points + kBlockThreads - 1) / kBlockThreads;
    }

    template <typename Job>
    void threads(std::int64_t count, const Job& job) const {
        by_threads<<<blocks_for(count, kThreads), kThreads, 0, stream_>>>(job, count);
        check_launch();
    }
    template <typename T, int kCount, typename Job>
    void threads_with_columns(std::int64_t count, const Job& job) const {
        by_threads_with_columns<T, kCount>
            <<<blocks_for(count, kThreads), kThreads, 0, stream_>>>(job, count);
        check_launch();
    }
    template <typename Job>
    void warps(std::int64_t count, std::int64_t bytes, const Job& job) const {
        const std::int64_t fit = bytes == 0 ? kMaxWarps : gpu::kSharedBytes / bytes;
        const std::int64_t warps = std::clamp<std::int64_t>(fit, 1, kMaxWarps);
        by_warps<<<blocks_for(count, warps), static_cast<unsigned>(warps * Warp::kLanes),
                   static_cast<std::size_t>(warps * bytes), stream_>>>(job, count, bytes);
        check_launch();
    }
    template <typename Job>
    void blocks(std::int64_t parts, std::int64_t groups, const Job& job) const {
        const dim3 grid(static_cast<unsigned>(parts),
                        static_cast<unsigned>(std::min(groups, max_rows())));
        by_blocks<<<grid, kBlockThreads, 0, stream_>>>(job, groups);
        check_launch();
    }

  private:
    static unsigned blocks_for(std::int64_t count, std::int64_t each) {
        return static_cast<unsigned>(std::min((count + each - 1) / each, max_blocks()));
    }
    void check_launch() const {
        const cudaError_t status = cudaGetLastError();
        if (status != cudaSuccess) check(status, (std::string("launching ") + operation_).c_str());
    }

    cudaStream_t stream_;
    const char* operation_;
    int previous_ = 0;
    bool is_switched_ = false;
};

}  // namespace paretopo::cuda

namespace paretopo {

using Here = Cuda;

inline cuda::Launcher launcher_of(const Cuda& place, const char* operation) {
    return cuda::Launcher(place, operation);
}

}  // namespace paretopo
