// Error checks for all calls of CUDA.
#pragma once

#include <cuda_runtime_api.h>

namespace paretopo::cuda {

// Throws unless `status` is success. The error names the attempted action and, if the driver is the
// cause, the driver that is needed.
void check(cudaError_t status, const char* while_doing);

}  // namespace paretopo::cuda
