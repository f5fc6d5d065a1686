// A call of the compiled core as Python sees it: others may run meanwhile, and Ctrl-C ends it.
#pragma once

#include <pybind11/pybind11.h>

#include <atomic>

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

// Runs the handlers of signals that have come; whether one has raised. Python keeps the exception.
inline bool is_broken_off() {
    if (PyThread_get_thread_ident() != main_thread.load(std::memory_order_relaxed)) return false;
    const PyGILState_STATE state = PyGILState_Ensure();
    const bool has_raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return has_raised;
}

// For the duration of a scope.
class Unlocked {
    pybind11::gil_scoped_release released_;
    cpu::Call call_{&is_broken_off};
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
