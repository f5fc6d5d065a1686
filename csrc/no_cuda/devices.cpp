// Device queries of csrc/cuda/devices.cu in a build without nvcc.
#include "no_cuda/launcher.hpp"
#include "ops.hpp"

namespace paretopo::cuda {

bool is_compiled() { return false; }
int device_count() { return 0; }
int device_of(const void*) { refuse(); }
std::string driver_needed() { return ""; }

}  // namespace paretopo::cuda
