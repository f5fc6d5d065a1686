// Python's lock, taken again by a thread that gave it up.
#pragma once

#include <Python.h>

namespace paretopo::bindings {

// As PyEval_RestoreThread. Once Python shuts down it never returns: the thread waits until the
// process ends. Until version 3.13 Python would end the thread instead (pthread_exit), through C++
// code that cannot be unwound, and the process with it.
void take_python_lock(PyThreadState* state);

}  // namespace paretopo::bindings
