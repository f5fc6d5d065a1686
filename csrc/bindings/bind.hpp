// The parts of paretopo_core._core, one file each.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace paretopo::bindings {

void bind_machine(pybind11::module_& m);     // devices, threads, instruction sets
void bind_operations(pybind11::module_& m);  // every operation, and the codes of their options
void bind_attainment(pybind11::module_& m);  // empirical attainment functions
void bind_archive(pybind11::module_& m);     // the archive of non-dominated points

// Names in the order of their codes.
template <std::size_t kCount>
pybind11::tuple names(const char* const (&given)[kCount]) {
    pybind11::tuple found(kCount);
    for (std::size_t code = 0; code < kCount; ++code) found[code] = pybind11::str(given[code]);
    return found;
}

}  // namespace paretopo::bindings
