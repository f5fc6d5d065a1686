// Scratch memory that a thread keeps between calls. Fresh memory costs a set of 10,000 points as
// much as its sweep.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace paretopo::cpu {

// Owns a Scratch from the first use on. It reuses this thread's idle one if there is one. A copy
// has its own scratch.
template <typename Scratch>
class ThreadScratch {
  public:
    ThreadScratch() = default;
    ThreadScratch(const ThreadScratch&) {}
    ThreadScratch& operator=(const ThreadScratch&) = delete;
    ~ThreadScratch() {
        if (own_ && own_->bytes() <= kMaxIdleBytes) idle_ = std::move(own_);
    }

    // const like a pointer's operator: the target is not const.
    Scratch& operator*() const {
        if (!own_) own_ = idle_ ? std::move(idle_) : std::make_unique<Scratch>();
        return *own_;
    }
    Scratch* operator->() const { return &**this; }

  private:
    static constexpr std::size_t kMaxIdleBytes = std::size_t{4} << 20;
    static inline thread_local std::unique_ptr<Scratch> idle_;
    mutable std::unique_ptr<Scratch> own_;
};

}  // namespace paretopo::cpu
