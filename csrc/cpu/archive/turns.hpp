// Access to an archive: one thread at a time, and no fork during a change, which would leave the
// child a half-changed archive.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace paretopo::cpu {

// The lock of an archive. A signal handler that calls the archive in the middle of a call of its
// own thread would deadlock: it gets std::runtime_error instead. A child of fork finds every lock
// free, except those held by the thread that forked.
class Turns {
  public:
    Turns();
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    void lock();
    void unlock();

    // The holder changes the archive while a Change exists. A change is short, and an exception
    // leaves the archive unchanged.
    class Change {
      public:
        explicit Change(Turns& turns);
        ~Change();
        Change(const Change&) = delete;
        Change& operator=(const Change&) = delete;

      private:
        Turns& turns_;
    };

  private:
    friend struct Forks;

    std::mutex lock_;
    std::atomic<std::thread::id> holder_{};
    std::atomic<bool> changes_{false};
    Turns* next_ = nullptr;  // list of all locks
    Turns** place_ = nullptr;
};

}  // namespace paretopo::cpu
