// One call from the host program, shared by the threads that work on it.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

#include "cpu/runtime/interrupt.hpp"

namespace paretopo::cpu {

class Call {
  public:
    // Called in the calling thread about ten times a second: true if the call is to be interrupted.
    using StopRequested = bool (*)();
    explicit Call(StopRequested stop_requested);  // becomes this thread's current call
    ~Call();                                      // restores the previous call
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    bool is_interrupted();

  private:
    std::atomic<bool> stops_{false};
    StopRequested stop_requested_;
    std::thread::id caller_;
    std::chrono::steady_clock::time_point next_{};
    Call* before_;
};

// During its lifetime, the current thread works on a call of another thread.
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
