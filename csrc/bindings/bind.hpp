// The parts of paretopo_core._core, a file each.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>

namespace paretopo::bindings {

void bind_machine(pybind11::module_& m);     // devices, threads, instruction sets
void bind_points(pybind11::module_& m);      // from arrays to addresses
void bind_operations(pybind11::module_& m);  // every operation of ops.hpp, and their codes

// Adds one function per operation on the CPU, plain_pareto_rank and so on. Each takes its arguments
// as the user gave them and returns the result, or None if one of them is not of the plainest kind,
// or is wrong: then the checks of Python find out, and word the error.
void bind_plain_calls(pybind11::module_& m);

// Box decompositions, and what candidates improve in them, both plain and with addresses.
void bind_boxes(pybind11::module_& m);

// Quality indicators, estimates of volumes, attainment surfaces.
void bind_indicators(pybind11::module_& m);

// Which points to keep: subsets of large hypervolume and selection, plain and with addresses.
void bind_subsets(pybind11::module_& m);

// Points in units of their range, and the filter of boxes: plain, and else composed in Python.
void bind_scales(pybind11::module_& m);

// The non-dominated points, and the record of how they came in.
void bind_archive(pybind11::module_& m);

// Names in the order of their codes.
template <std::size_t kCount>
pybind11::tuple names(const char* const (&given)[kCount]) {
    pybind11::tuple found(kCount);
    for (std::size_t code = 0; code < kCount; ++code) found[code] = pybind11::str(given[code]);
    return found;
}

}  // namespace paretopo::bindings
