// Reacquires Python's lock in a thread that has released it.
#pragma once

#include <Python.h>

namespace paretopo::bindings {

// Like PyEval_RestoreThread. Once Python shuts down it never returns: the thread waits until the
// process ends. Python before 3.13 would end the thread (pthread_exit) through C++ code that cannot
// be unwound, and with it the process.
void take_python_lock(PyThreadState* state);

}  // namespace paretopo::bindings
