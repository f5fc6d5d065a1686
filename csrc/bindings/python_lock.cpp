// Compiled without exceptions (CMakeLists.txt): the cleanup handler then runs before any frame is
// unwound, and needs no C++ unwinder.
#include "bindings/python_lock.hpp"

#if !defined(_WIN32)
#include <pthread.h>
#include <unistd.h>
#endif

namespace paretopo::bindings {

#if defined(_WIN32)  // here a thread ends without being unwound

void take_python_lock(PyThreadState* state) { PyEval_RestoreThread(state); }

#else

namespace {

void wait_for_the_end(void*) {
    for (;;) pause();
}

}  // namespace

void take_python_lock(PyThreadState* state) {
    pthread_cleanup_push(&wait_for_the_end, nullptr);
    PyEval_RestoreThread(state);
    pthread_cleanup_pop(0);
}

#endif

}  // namespace paretopo::bindings
