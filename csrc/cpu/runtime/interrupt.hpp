// Lets the host program break off a long call.
//
// Loops that may run for long ask at their head. The thread that called looks up now and then
// whether the host program wants to stop, and then tells the threads that work for the same call:
// each leaves by an exception, so that all memory is given back.
#pragma once

#include <cstddef>

namespace paretopo::cpu {

// Thrown out of the operation; what its output holds then means nothing.
struct Interrupted {};

// The call that the current thread works for; null outside of any.
class Call;
Call* current_call();

// Throws Interrupted if the current call is to be broken off: a few loads, and now and then a
// clock.
void check_interrupt();

// The same without throwing: for a thread that has to wait for others first.
void look_for_interrupt();

// Every 64th time: for the heads of loops whose turns are short.
class Pace {
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

// work(i) for all i below size, asking now and then: for passes over millions of items.
template <typename Work>
inline __attribute__((always_inline)) void for_each_item(std::size_t size, const Work& work) {
    constexpr std::size_t kUnasked = std::size_t{1} << 18;
    for (std::size_t first = 0; first < size; first += kUnasked) {
        if (first > 0) check_interrupt();
        const std::size_t end = size - first < kUnasked ? size : first + kUnasked;
        for (std::size_t i = first; i < end; ++i) work(i);
    }
}

}  // namespace paretopo::cpu
