// Scratch memory that a thread keeps between calls. Fresh memory costs a set of 10,000 points as
// much as its sweep, and a set of 1,000,000 points up to twice as much.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace paretopo::cpu {

// The idle memory that all threads keep together, beyond a few MB for each.
class IdleBudget {
  public:
    // False if that would be too much.
    static bool take(std::size_t bytes) {
        if (taken_.fetch_add(bytes) + bytes <= kMost) return true;
        give_back(bytes);
        return false;
    }
    static void give_back(std::size_t bytes) { taken_.fetch_sub(bytes); }

  private:
    static constexpr std::size_t kMost = std::size_t{64} << 20;
    static inline std::atomic<std::size_t> taken_{0};
};

// Owns a Scratch from the first use on. It reuses this thread's idle one if there is one. A copy
// has its own scratch.
template <typename Scratch>
class ThreadScratch {
  public:
    ThreadScratch() = default;
    ThreadScratch(const ThreadScratch&) {}
    ThreadScratch& operator=(const ThreadScratch&) = delete;
    ~ThreadScratch() {
        if (own_) idle_.keep(std::move(own_));
    }

    // const like a pointer's operator: the target is not const.
    Scratch& operator*() const {
        if (!own_) own_ = idle_.take();
        if (!own_) own_ = std::make_unique<Scratch>();
        return *own_;
    }
    Scratch* operator->() const { return &**this; }

  private:
    class Idle {
      public:
        ~Idle() { take(); }
        void keep(std::unique_ptr<Scratch> scratch) {
            constexpr std::size_t kFree = std::size_t{4} << 20;
            take();
            const std::size_t bytes = scratch->bytes();
            const std::size_t budgeted = bytes <= kFree ? 0 : bytes;
            if (!IdleBudget::take(budgeted)) return;
            scratch_ = std::move(scratch);
            budgeted_ = budgeted;
        }
        std::unique_ptr<Scratch> take() {
            IdleBudget::give_back(std::exchange(budgeted_, 0));
            return std::move(scratch_);
        }

      private:
        std::unique_ptr<Scratch> scratch_;
        std::size_t budgeted_ = 0;  // bytes
    };

    static inline thread_local Idle idle_;
    mutable std::unique_ptr<Scratch> own_;
};

}  // namespace paretopo::cpu
