// Calls with plain arguments, answered without a detour through Python's checks.
#pragma once

#include <pybind11/pybind11.h>

namespace paretopo::bindings {

// Adds the submodule `plain`: one function per operation on the CPU. Each takes its arguments as
// the user gave them and returns the result, or None if one of them is not of the plainest kind, or
// is wrong: then the checks of Python find out, and word the error.
void define_plain_calls(pybind11::module_& parent);

}  // namespace paretopo::bindings
