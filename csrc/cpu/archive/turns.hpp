// Who may use an archive: one thread at a time, and while it changes no child of fork is made,
// which would find it half changed for ever.
#pragma once

#include <atomic>
#include <mutex>
#include <thread>

namespace paretopo::cpu {

// The lock of an archive. A signal handler that runs in the middle of a call of its own thread
// would wait for ever: it gets std::runtime_error. A child of fork finds every lock free, but that
// of the thread that forked.
class Turns {
  public:
    Turns();
    ~Turns();
    Turns(const Turns&) = delete;
    Turns& operator=(const Turns&) = delete;

    void lock();
    void unlock();

    // The holder changes the archive as long as one lives. It takes little time, and throws only
    // what leaves the archive as it was.
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
    Turns* next_ = nullptr;  // of all that there are
    Turns** place_ = nullptr;
};

}  // namespace paretopo::cpu
