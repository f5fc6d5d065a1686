// Scratch that a thread keeps from call to call: fresh memory costs a set of 10,000 points as much
// as its sweep.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace paretopo::cpu {

// Owns a Scratch from its first use on, the one that this thread used last if nobody has it. A copy
// has scratch of its own.
template <typename Scratch>
class Warm {
  public:
    Warm() = default;
    Warm(const Warm&) {}
    Warm& operator=(const Warm&) = delete;
    ~Warm() {
        if (own_ && own_->bytes() <= kMostIdleBytes) idle_ = std::move(own_);
    }

    // As of a pointer: what it points to is not const where the pointer is.
    Scratch& operator*() const {
        if (!own_) own_ = idle_ ? std::move(idle_) : std::make_unique<Scratch>();
        return *own_;
    }
    Scratch* operator->() const { return &**this; }

  private:
    static constexpr std::size_t kMostIdleBytes = std::size_t{4} << 20;
    static inline thread_local std::unique_ptr<Scratch> idle_;
    mutable std::unique_ptr<Scratch> own_;
};

}  // namespace paretopo::cpu
