// What every call of CUDA is checked with.
#pragma once

#include <cuda_runtime_api.h>

namespace paretopo::cuda {

// Throws unless `status` is success, naming what was tried and, where the driver is to blame, the
// one that is needed.
void check(cudaError_t status, const char* while_doing);

}  // namespace paretopo::cuda
