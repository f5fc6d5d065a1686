#include "cpu/isa.hpp"

#include <atomic>

#include "cpu/lanes/indicator_kernels.hpp"

namespace paretopo::cpu {

Isa best_isa() {
#if defined(PARETOPO_X86_LANES)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return Isa::kAvx512;
    }
    if (__builtin_cpu_supports("avx2")) return Isa::kAvx2;
#endif
    return Isa::kPortable;
}

namespace {

std::atomic<Isa>& chosen() {
    static std::atomic<Isa> value{best_isa()};
    return value;
}

}  // namespace

Isa isa() { return chosen().load(std::memory_order_relaxed); }
void set_isa(Isa isa) { chosen().store(isa); }

const Kernels& kernels() { return kernels(isa()); }

const Kernels& kernels([[maybe_unused]] Isa isa) {
#if defined(PARETOPO_X86_LANES)
    if (isa == Isa::kAvx512) return avx512::kKernels;
    if (isa == Isa::kAvx2) return avx2::kKernels;
#endif
    return portable::kKernels;
}

const IndicatorKernels& indicator_kernels() {
#if defined(PARETOPO_X86_LANES)
    if (isa() == Isa::kAvx512) return avx512::kIndicatorKernels;
    if (isa() == Isa::kAvx2) return avx2::kIndicatorKernels;
#endif
    return portable::kIndicatorKernels;
}

HypervolumeKernel::~HypervolumeKernel() = default;
ArchiveMembers::~ArchiveMembers() = default;

}  // namespace paretopo::cpu
