// A call of the compiled core as Python sees it: others may run meanwhile, and Ctrl-C ends it.
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

// Python handles signals in its main thread only: others need not wait for its lock to ask.
inline std::atomic<unsigned long> main_thread{0};

inline void remember_main_thread() {
    const auto main = pybind11::module_::import("threading").attr("main_thread")();
    main_thread = main.attr("ident").cast<unsigned long>();
    // In a child of fork the thread that forked becomes the main one.
    in_children([] { main_thread = PyThread_get_thread_ident(); });
}

// Python's lock, given up for the duration of a scope.
class GivenUpLock {
  public:
    GivenUpLock() : before_(std::exchange(innermost_, this)), state_(PyEval_SaveThread()) {}
    ~GivenUpLock() {
        take_python_lock(state_);
        innermost_ = before_;
        for (PyObject* object : released_) Py_DECREF(object);
    }
    GivenUpLock(const GivenUpLock&) = delete;
    GivenUpLock& operator=(const GivenUpLock&) = delete;

    // Gives back a reference, at once or as soon as this thread has the lock again.
    static void release(PyObject* object) noexcept {
        if (!innermost_) return Py_DECREF(object);
        try {
            innermost_->released_.push_back(object);
        } catch (const std::bad_alloc&) {
            // Kept for ever: there is no memory to remember it by.
        }
    }

    // Runs the handlers of signals that have come; whether one has raised. Python keeps the
    // exception. A call that keeps the lock is too short to be broken off.
    static bool is_broken_off() {
        if (!innermost_ ||
            PyThread_get_thread_ident() != main_thread.load(std::memory_order_relaxed))
            return false;
        GivenUpLock* own = std::exchange(innermost_, nullptr);
        take_python_lock(own->state_);
        const bool has_raised = PyErr_CheckSignals() != 0;
        own->state_ = PyEval_SaveThread();
        innermost_ = own;
        return has_raised;
    }

  private:
    static inline thread_local GivenUpLock* innermost_ = nullptr;

    GivenUpLock* before_;
    PyThreadState* state_;
    std::vector<PyObject*> released_;
};

// For the duration of a scope.
class Unlocked {
    GivenUpLock lock_;
    cpu::Call call_{&GivenUpLock::is_broken_off};
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
