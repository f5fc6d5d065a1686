// What operating systems have or lack: signals of threads, children of a process, huge pages.
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

#if defined(_WIN32)  // has neither

class SignalsBlocked {
  public:
    SignalsBlocked() {}  // written out, so that a variable of it counts as used
};
inline int in_children(void (*)()) { return 0; }
inline int around_forks(void (*)(), void (*)(), void (*)()) { return 0; }

#else

// For the duration of a scope. Signals are the host program's: one that a thread of ours took would
// not wake the host's, so ours are started in such a scope.
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

// From now on every fork comes after a call of `before`; the parent goes on with a call of
// `in_parent`, the child begins with one of `in_child`.
inline int around_forks(void (*before)(), void (*in_parent)(), void (*in_child)()) {
    return pthread_atfork(before, in_parent, in_child);
}
inline int in_children(void (*renew)()) { return around_forks(nullptr, nullptr, renew); }

#endif

// `memory` begins where a huge page may. It need not have any: this is advice.
inline void prefer_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
    madvise(memory, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace paretopo
