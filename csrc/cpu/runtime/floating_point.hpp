// IEEE arithmetic for the duration of a scope, regardless of the host program's settings.
#pragma once

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace paretopo::cpu {

// A host that flushes subnormal numbers to zero (torch.set_flush_denormal) would make distinct
// points equal, and the setting can differ between threads.
class IeeeArithmetic {
  public:
#if defined(__x86_64__) || defined(_M_X64)
    IeeeArithmetic() : previous_(_mm_getcsr()) { _mm_setcsr(kAllMaskedNearest); }
    ~IeeeArithmetic() { _mm_setcsr(previous_); }

  private:
    static constexpr unsigned kAllMaskedNearest = 0x1f80;  // the power-on value of MXCSR
    unsigned previous_;

  public:
#elif defined(__aarch64__)
    IeeeArithmetic() {
        asm volatile("mrs %0, fpcr" : "=r"(previous_));
        asm volatile("msr fpcr, %0" ::"r"(0UL));
    }
    ~IeeeArithmetic() { asm volatile("msr fpcr, %0" ::"r"(previous_)); }

  private:
    unsigned long previous_;

  public:
#else
    IeeeArithmetic() = default;
#endif
    IeeeArithmetic(const IeeeArithmetic&) = delete;
    IeeeArithmetic& operator=(const IeeeArithmetic&) = delete;
};

}  // namespace paretopo::cpu
