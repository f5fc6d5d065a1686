// Calls with plain arguments, answered without a detour through Python's checks.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

namespace paretopo::bindings {

// Adds one function per operation on the CPU, plain_pareto_rank and so on. Each takes its arguments
// as the user gave them and returns the result, or None if one of them is not of the plainest kind,
// or is wrong: then the checks of Python find out, and word the error.
void define_plain_calls(pybind11::module_& m);

// One finite number for each objective, or, if allowed, one for all. False: `given` is not that
// plain.
bool take_plain_vector(PyObject* given, pybind11::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector);

}  // namespace paretopo::bindings
