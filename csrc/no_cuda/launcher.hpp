// Replaces csrc/cuda/ in a build without nvcc: every operation exists, and its launcher throws an
// explicit error.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "gpu/launch/limits.hpp"
#include "ops.hpp"

namespace paretopo {
namespace cuda {

[[noreturn]] inline void refuse() {
    throw std::runtime_error(
        "this paretopo_core was built without CUDA: move the tensor to the CPU, or reinstall with "
        "PARETOPO_CUDA=ON");
}

struct Launcher {
    std::int64_t parts(std::int64_t) const { return 0; }
    template <typename Job>
    void threads(std::int64_t, const Job&) const {}
    template <typename T, int kCount, typename Job>
    void threads_with_columns(std::int64_t, const Job&) const {}
    template <typename Job>
    void warps(std::int64_t, std::int64_t, const Job&) const {}
    template <typename Job>
    void blocks(std::int64_t, std::int64_t, const Job&) const {}
};

}  // namespace cuda

using Here = Cuda;

[[noreturn]] inline cuda::Launcher launcher_of(const Cuda&, const char*) { cuda::refuse(); }
[[noreturn]] inline gpu::Limits limits_of(const Cuda&) { cuda::refuse(); }

}  // namespace paretopo
