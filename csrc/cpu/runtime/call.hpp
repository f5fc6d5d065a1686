// One call from the host program, shared by the threads that work for it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {

class Call {
  public:
    // Asked in the thread that called, about ten times a second: is the call to be broken off?
    using Question = bool (*)();
    explicit Call(Question question);  // the current call of this thread from now on
    ~Call();                           // the one before is again
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    bool is_interrupted();

  private:
    std::atomic<bool> stops_{false};
    Question question_;
    std::thread::id caller_;
    std::chrono::steady_clock::time_point next_{};
    Call* before_;
};

// While it lives, the current thread works for a call of another one.
class WorkingFor {
  public:
    explicit WorkingFor(Call* call);
    ~WorkingFor();
    WorkingFor(const WorkingFor&) = delete;
    WorkingFor& operator=(const WorkingFor&) = delete;

  private:
    Call* before_;
};

}  // namespace paretopo::cpu
