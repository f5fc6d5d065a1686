// From Python's view of a batch (address, shape, place) to the compiled core's.
#pragma once

#include <cstdint>

#include "ops.hpp"

namespace paretopo::bindings {

inline constexpr int kCpu = -1;       // the `device` of host memory
inline constexpr int kEmulated = -2;  // and below: as a GPU would, on the CPU; one per Mapping

struct Points {
    std::uintptr_t address;
    std::uintptr_t mask;  // 0: every point counts
    std::int64_t groups;
    std::int32_t points;
    std::int32_t objectives;
    std::uint64_t minimised;
    int itemsize;  // 4: float, 8: double
    int device;    // kCpu, kEmulated - mapping, or the CUDA device index
    std::uintptr_t stream;
    std::uintptr_t scratch = 0;  // on a GPU, what the operation to come needs
};

template <typename T>
T* at(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

// The only switch over dtypes: calls op with a Batch<float> or a Batch<double>.
template <typename Op>
auto with_batch(const Points& p, Op op) {
    const auto batch_of = [&]<typename Scalar>(Scalar) {
        return Batch<Scalar>{at<const Scalar>(p.address),
                             at<const std::uint8_t>(p.mask),
                             p.groups,
                             p.points,
                             p.objectives,
                             p.minimised};
    };
    if (p.itemsize == 4) return op(batch_of(float{}));
    return op(batch_of(double{}));
}

// Calls op with the GPU that the points live on, or with what stands for one.
template <typename Op>
auto on_gpu(const Points& p, Op op) {
    char* scratch = at<char>(p.scratch);
    if (p.device <= kEmulated) {
        return op(Emulated{static_cast<Mapping>(kEmulated - p.device), scratch});
    }
    return op(Cuda{p.device, at<void>(p.stream), scratch});
}

}  // namespace paretopo::bindings
