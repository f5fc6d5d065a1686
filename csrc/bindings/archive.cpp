#include "cpu/archive.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/points.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

// `row`: one float64 per objective, checked by Python.
double add(cpu::Archive& archive, const py::buffer& row) {
    const py::buffer_info info = row.request();
    const py::gil_scoped_release unlocked;
    return archive.add(static_cast<const double*>(info.ptr));
}

// Flat: one value of each objective after the other, point by point.
py::array_t<double> members(cpu::Archive& archive) {
    const std::vector<double> rows = [&] {
        const py::gil_scoped_release unlocked;
        return archive.members();
    }();
    return py::array_t<double>(static_cast<py::ssize_t>(rows.size()), rows.data());
}

}  // namespace

void bind_archive(py::module_& m) {
    py::class_<cpu::Archive>(m, "Archive")
        .def(py::init([](int objectives, std::uintptr_t signs, std::uintptr_t ref) {
                 return cpu::Archive(objectives, at<const double>(signs), at<const double>(ref));
             }),
             "objectives"_a, "signs"_a, "ref"_a)
        .def("add", &add, "row"_a)
        .def("size", &cpu::Archive::size)
        .def("members", &members)
        .def(
            "load",
            [](cpu::Archive& archive, std::uintptr_t rows, std::size_t count) {
                archive.load(at<const double>(rows), count);
            },
            "rows"_a, "count"_a);
}

}  // namespace paretopo::bindings
