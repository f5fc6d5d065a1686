// Arguments that are taken as the user gave them, without a detour through Python's checks.
#pragma once

#include <pybind11/pybind11.h>

#include <vector>

namespace paretopo::bindings {

// One finite number for each objective, or, if allowed, one for all. False: `given` is not that
// plain.
bool take_plain_vector(PyObject* given, pybind11::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector);

}  // namespace paretopo::bindings
