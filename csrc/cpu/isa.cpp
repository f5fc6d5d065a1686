#include "cpu/isa.hpp"

#include <atomic>
#include <cstdint>

#include "cpu/lanes/indicator_kernels.hpp"

#if defined(PARETOPO_X86_LANES)
#include <cpuid.h>
#endif

namespace paretopo::cpu {

#if defined(PARETOPO_X86_LANES)
namespace {

bool has_all(std::uint32_t bits, std::uint32_t wanted) { return (bits & wanted) == wanted; }

// The sets of registers that the system keeps for each thread, a bit each.
std::uint32_t kept_registers() {
    std::uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

}  // namespace

// Asked of the processor itself: __builtin_cpu_supports needs a library that not every compiler
// has.
Isa best_isa() {
    constexpr std::uint32_t kYmm = 0x6, kZmm = 0xe6;
    std::uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all(c, bit_OSXSAVE | bit_AVX)) {
        return Isa::kPortable;
    }
    const std::uint32_t kept = kept_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return Isa::kPortable;
    if (has_all(kept, kZmm) &&
        has_all(b, bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL)) {
        return Isa::kAvx512;
    }
    return has_all(kept, kYmm) && has_all(b, bit_AVX2) ? Isa::kAvx2 : Isa::kPortable;
}
#else
Isa best_isa() { return Isa::kPortable; }
#endif

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
