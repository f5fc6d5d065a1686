// Warps and blocks as teams, see gpu/launch/team.hpp.
#pragma once

#include <cstdint>

namespace paretopo::cuda {

// Atomic operations of every team, on memory that its lanes share.
class SharedNumbers {
  public:
    __device__ void atomic_max(std::int32_t* at, std::int32_t value) const { atomicMax(at, value); }
    __device__ void atomic_max(std::int64_t* at, std::int64_t value) const {
        atomicMax(reinterpret_cast<long long*>(at), static_cast<long long>(value));
    }
    __device__ void atomic_min(std::int32_t* at, std::int32_t value) const { atomicMin(at, value); }
    __device__ std::int32_t atomic_add(std::int32_t* at, std::int32_t value) const {
        return atomicAdd(at, value);
    }
    __device__ void atomic_min(std::int64_t* at, std::int64_t value) const {
        atomicMin(reinterpret_cast<long long*>(at), static_cast<long long>(value));
    }
};

class Warp : public SharedNumbers {
  public:
    static constexpr int kLanes = 32;

    __device__ int lanes() const { return kLanes; }

    // A register of each lane.
    template <typename Number>
    struct Own {
        Number own;
        __device__ Number& operator[](int) { return own; }
    };
    template <typename Number>
    __device__ Number of_lane(Own<Number>& numbers, int lane) {
        return __shfl_sync(kAll, numbers.own, lane);
    }

    template <typename Step>
    __device__ void each(Step step) {
        step(lane());
        __syncwarp();
    }
    template <typename Step>
    __device__ void each_unsynced(Step step) {
        step(lane());
    }
    template <typename Step>
    __device__ bool any(Step step) {
        return __any_sync(kAll, step(lane()));
    }
    template <typename Step>
    __device__ int count(Step step) {
        return all_together(static_cast<int>(step(lane())));
    }
    template <typename Step>
    __device__ double sum(Step step) {
        return all_together(static_cast<double>(step(lane())));
    }
    template <typename Test>
    __device__ std::uint64_t ballot(std::int32_t count, Test test) {
        const std::int32_t low = lane();
        const std::int32_t high = low + kLanes;
        std::uint64_t found = __ballot_sync(kAll, low < count && test(low));
        if (count > kLanes) {
            found |= std::uint64_t{__ballot_sync(kAll, high < count && test(high))} << kLanes;
        }
        return found;
    }

  private:
    static constexpr unsigned kAll = ~0U;

    __device__ static int lane() { return static_cast<int>(threadIdx.x) % kLanes; }

    // Butterfly sum: each lane ends with the same sum, because a + b equals b + a.
    template <typename Number>
    __device__ static Number all_together(Number own) {
        for (int apart = 1; apart < kLanes; apart *= 2) {
            own += __shfl_xor_sync(kAll, own, apart);
        }
        return own;
    }
};

template <int kThreads>
class Block : public SharedNumbers {
  public:
    __device__ int lanes() const { return kThreads; }

    template <typename Step>
    __device__ void each(Step step) {
        step(static_cast<int>(threadIdx.x));
        __syncthreads();
    }
    template <typename Step>
    __device__ void each_unsynced(Step step) {
        step(static_cast<int>(threadIdx.x));
    }
    template <typename Step>
    __device__ double sum(Step step) {
        __shared__ double of_warp[kThreads / Warp::kLanes];
        Warp warp;
        const auto first = static_cast<int>(threadIdx.x) / Warp::kLanes * Warp::kLanes;
        const double own = warp.sum([&](int lane) { return step(first + lane); });
        if (threadIdx.x % Warp::kLanes == 0) of_warp[threadIdx.x / Warp::kLanes] = own;
        __syncthreads();
        double all = 0.0;
        for (const double part : of_warp) all += part;
        return all;
    }
    template <typename Work>
    __device__ void one_warp(Work work) {
        if (threadIdx.x < Warp::kLanes) {
            Warp warp;
            work(warp);
        }
        __syncthreads();
    }
};

}  // namespace paretopo::cuda
