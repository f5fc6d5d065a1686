#include "cpu/lanes/isa.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "cpu/lanes/quality.hpp"
#include "cpu/lanes/ranking.hpp"
#include "cpu/lanes/sorting.hpp"
#include "cpu/lanes/volume.hpp"
#include "cpu/tuning/instruction_sets.hpp"

#if defined(PARETOPO_HAS_AVX2) || defined(PARETOPO_HAS_AVX512)
#include <cpuid.h>
#endif

namespace paretopo::cpu {
namespace {

#if defined(PARETOPO_HAS_AVX2) || defined(PARETOPO_HAS_AVX512)
bool has_all(std::uint32_t bits, std::uint32_t wanted) { return (bits & wanted) == wanted; }

// The sets of registers that the operating system saves for each thread, as bits.
std::uint32_t kept_registers() {
    std::uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

// Reads cpuid directly: __builtin_cpu_supports needs a library that some compilers lack.
bool is_on_this_machine(Isa isa) {
    constexpr std::uint32_t kYmm = 0x6, kZmm = 0xe6;
    constexpr std::uint32_t kAvx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (isa == Isa::kPortable) return true;
    std::uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has_all(c, bit_OSXSAVE | bit_AVX)) return false;
    const std::uint32_t kept = kept_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return isa == Isa::kAvx512 ? has_all(kept, kZmm) && has_all(b, kAvx512)
                               : has_all(kept, kYmm) && has_all(b, bit_AVX2);
}
#else
bool is_on_this_machine(Isa) { return true; }
#endif

#define PARETOPO_REFER(Table, member, name) name,
#define PARETOPO_KERNELS(isa)                                            \
    [] {                                                                 \
        using namespace isa;                                             \
        return Kernels{kTuning, PARETOPO_KERNEL_TABLES(PARETOPO_REFER)}; \
    }()

struct Compiled {
    Isa isa;
    Kernels kernels;
};

constexpr Compiled kCompiled[] = {
    {Isa::kPortable, PARETOPO_KERNELS(portable)},
#if defined(PARETOPO_HAS_AVX2)
    {Isa::kAvx2, PARETOPO_KERNELS(avx2)},
#endif
#if defined(PARETOPO_HAS_AVX512)
    {Isa::kAvx512, PARETOPO_KERNELS(avx512)},
#endif
};

const Compiled& compiled(Isa isa) { return *std::ranges::find(kCompiled, isa, &Compiled::isa); }

std::atomic<Isa>& chosen() {
    static std::atomic<Isa> value{isas().back()};
    return value;
}

}  // namespace

const std::vector<Isa>& isas() {
    static const std::vector<Isa> found = [] {
        std::vector<Isa> of_both;
        for (const Compiled& each : kCompiled) {
            if (is_on_this_machine(each.isa)) of_both.push_back(each.isa);
        }
        return of_both;
    }();
    return found;
}

Isa isa() { return chosen().load(std::memory_order_relaxed); }
void set_isa(Isa isa) { chosen().store(isa); }

const Kernels& kernels() { return kernels(isa()); }
const Kernels& kernels(Isa isa) { return compiled(isa).kernels; }

HypervolumeKernel::~HypervolumeKernel() = default;
ArchiveMembers::~ArchiveMembers() = default;

}  // namespace paretopo::cpu
