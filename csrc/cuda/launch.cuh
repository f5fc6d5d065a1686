// What every .cu file needs around its kernel: error checks and the device of the tensor.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace paretopo::cuda {

inline void check(cudaError_t status, const char* while_doing) {
    if (status == cudaSuccess) return;
    cudaGetLastError();  // clear it, or the next healthy call reports it again
    throw std::runtime_error(std::string("CUDA error while ") + while_doing + ": " +
                             cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

// Blocks for one block a group; kernels stride over the groups that do not fit the grid.
inline unsigned grid_of(std::int64_t groups) {
    return static_cast<unsigned>(std::min<std::int64_t>(groups, 1 << 20));
}

// Makes `device` current for a scope.
class OnDevice {
  public:
    explicit OnDevice(int device) {
        check(cudaGetDevice(&previous_), "asking for the current device");
        check(cudaSetDevice(device), "switching to the device of the tensor");
    }
    ~OnDevice() { cudaSetDevice(previous_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

  private:
    int previous_ = 0;
};

}  // namespace paretopo::cuda
