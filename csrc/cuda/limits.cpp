// A separate file, because runtime.cpp of tests/ptx_machine/ replaces it when tests run the kernels
// on the PTX machine.
#include "cuda/limits.hpp"

namespace paretopo {

std::int64_t cuda::max_blocks() { return 1 << 22; }
std::int64_t cuda::max_rows() { return 65535; }

gpu::Limits limits_of(const Cuda&) { return {}; }

}  // namespace paretopo
