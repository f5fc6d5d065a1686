// The archive as Python has it: the non-dominated points, and the record of how they came in.
#pragma once

#include <pybind11/pybind11.h>

namespace paretopo::bindings {

void define_archive(pybind11::module_& m);

}  // namespace paretopo::bindings
