// A file of its own: where tests run the kernels on the PTX machine, runtime.cpp of
// tests/ptx_machine/ takes its place.
#include "cuda/limits.hpp"

namespace paretopo {

std::int64_t cuda::most_blocks() { return 1 << 22; }
std::int64_t cuda::most_rows() { return 65535; }

gpu::Limits limits_of(const Cuda&) { return {}; }

}  // namespace paretopo
