#include <cuda_runtime_api.h>

#include "ops.hpp"

namespace paretopo::cuda {

bool is_compiled() { return true; }

int device_count() {
    int count = 0;
    if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
    cudaGetLastError();  // no driver, or an old one: no devices, and no error left behind
    return 0;
}

}  // namespace paretopo::cuda
