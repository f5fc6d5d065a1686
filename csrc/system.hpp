// Features that differ between operating systems: signal masks, fork handlers, huge pages.
#pragma once

#include <cstddef>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>

#include <csignal>
#endif

namespace paretopo {

#if defined(_WIN32)  // has neither signal masks nor fork

class SignalsBlocked {
  public:
    SignalsBlocked() {}  // user-provided, so that a variable of this type counts as used
};
inline int in_children(void (*)()) { return 0; }
inline int around_forks(void (*)(), void (*)(), void (*)()) { return 0; }

#else

// Blocks all signals for the duration of a scope. A signal that one of our threads received would
// not interrupt the host program's thread, so our threads are started in such a scope.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

// Registers handlers for every later fork: `before` runs before it, `in_parent` after it in the
// parent, `in_child` after it in the child.
inline int around_forks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
    return pthread_atfork(before, in_parent, in_child);
}
inline int in_children(void (*renew)()) { return around_forks(nullptr, nullptr, renew); }

#endif

// Advises the kernel to use huge pages for `memory`, which starts at a possible huge page.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace paretopo
