// A call of the compiled core from Python: other threads may run during it, and Ctrl-C ends it.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>
#include <new>
#include <utility>
#include <vector>

#include "bindings/python_lock.hpp"
#include "cpu/runtime/call.hpp"
#include "system.hpp"

namespace paretopo::bindings {

// Python handles signals only in its main thread: other threads need not acquire its lock to poll.
inline std::atomic<unsigned long> main_thread{0};

inline void remember_main_thread() {
    const auto main = pybind11::module_::import("threading").attr("main_thread")();
    main_thread = main.attr("ident").cast<unsigned long>();
    // In a child of fork the thread that forked becomes the main thread.
    in_children([] { main_thread = PyThread_get_thread_ident(); });
}

// Releases Python's lock for the duration of a scope.
class ReleasedLock {
  public:
    ReleasedLock() : before_(std::exchange(innermost_, this)), state_(PyEval_SaveThread()) {}
    ~ReleasedLock() {
        take_python_lock(state_);
        innermost_ = before_;
        for (PyObject* object : released_) Py_DECREF(object);
    }
    ReleasedLock(const ReleasedLock&) = delete;
    ReleasedLock& operator=(const ReleasedLock&) = delete;

    // Releases a reference, at once or as soon as this thread has the lock again.
    static void release(PyObject* object) noexcept {
        if (!innermost_) return Py_DECREF(object);
        try {
            innermost_->released_.push_back(object);
        } catch (const std::bad_alloc&) {
            // Leaked: there is no memory to remember it.
        }
    }

    // Runs the handlers of pending signals, and returns true if one has raised. Python keeps the
    // exception. A call that keeps the lock is too short to be interrupted.
    static bool is_interrupted_by_signal() {
        if (!innermost_ ||
            PyThread_get_thread_ident() != main_thread.load(std::memory_order_relaxed))
            return false;
        ReleasedLock* own = std::exchange(innermost_, nullptr);
        take_python_lock(own->state_);
        const bool has_raised = PyErr_CheckSignals() != 0;
        own->state_ = PyEval_SaveThread();
        innermost_ = own;
        return has_raised;
    }

  private:
    static inline thread_local ReleasedLock* innermost_ = nullptr;

    ReleasedLock* before_;
    PyThreadState* state_;
    std::vector<PyObject*> released_;
};

// Releases the lock and makes the call interruptible for the duration of a scope.
class Unlocked {
    ReleasedLock lock_;
    cpu::Call call_{&ReleasedLock::is_interrupted_by_signal};
};

inline void translate_interrupts() {
    pybind11::register_local_exception_translator([](std::exception_ptr thrown) {
        try {
            if (thrown) std::rethrow_exception(thrown);
        } catch (const cpu::Interrupted&) {
            if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
}

}  // namespace paretopo::bindings
