// Lets the host program interrupt a long call.
//
// Long loops poll at the start of each iteration. The calling thread periodically checks whether
// the host program wants to stop, and sets a flag. Worker threads of the same call see it. Each
// thread leaves by an exception, so that all memory is freed.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// Thrown out of the operation; its outputs are then undefined.
struct Interrupted {};

// The call that the current thread works on; null outside of a call.
class Call;
Call* current_call();

// Throws Interrupted if the current call is to be interrupted. Costs a few loads, and sometimes a
// reading of the clock.
void check_interrupt();

// The same without throwing, for a thread that must first wait for others.
void poll_interrupt();

// Polls every 64th time, for loops with short iterations.
class Poller {
  public:
    __attribute__((always_inline)) void step() {
        if (--left_ != 0) return;
        left_ = kTurns;
        check_interrupt();
    }

  private:
    static constexpr unsigned kTurns = 64;
    unsigned left_ = kTurns;
};

// Calls work(i) for all i below size, and polls now and then: for passes over millions of items.
template <typename Work>
inline __attribute__((always_inline)) void for_each_item(std::size_t size, const Work& work) {
    constexpr std::size_t kPollInterval = std::size_t{1} << 18;
    for (std::size_t first = 0; first < size; first += kPollInterval) {
        if (first > 0) check_interrupt();
        const std::size_t end = size - first < kPollInterval ? size : first + kPollInterval;
        for (std::size_t i = first; i < end; ++i) work(i);
    }
}

}  // namespace paretopo::cpu
