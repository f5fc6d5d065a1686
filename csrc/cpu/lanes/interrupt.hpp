// Lets the host program break off a long call.
//
// Loops that may run for long ask at their head. The thread that called looks up now and then
// whether the host program wants to stop, and then tells the threads that work for the same call:
// each leaves by an exception, so that all memory is given back.
#pragma once

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

}  // namespace paretopo::cpu
