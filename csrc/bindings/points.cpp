#include "bindings/points.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "bindings/bind.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

std::uintptr_t address(const py::array& array) {
    return reinterpret_cast<std::uintptr_t>(array.data());
}

// A contiguous NumPy array of shape (..., points, objectives), and its mask or None.
Points points_of(const py::array& values, const py::object& mask, std::uint64_t minimised) {
    const py::ssize_t last = values.ndim() - 1;
    std::int64_t groups = 1;
    for (py::ssize_t axis = 0; axis < last - 1; ++axis) groups *= values.shape(axis);
    return {address(values),
            mask.is_none() ? 0 : address(py::reinterpret_borrow<py::array>(mask)),
            groups,
            static_cast<std::int32_t>(values.shape(last - 1)),
            static_cast<std::int32_t>(values.shape(last)),
            minimised,
            static_cast<int>(values.itemsize()),
            kCpu,
            0,
            0};
}

}  // namespace

void bind_points(py::module_& m) {
    m.attr("CPU") = kCpu;
    m.attr("EMULATED") = kEmulated;
    m.attr("MAPPINGS") = names(kMappingNames);
    py::class_<Points>(m, "Points")
        .def(py::init([](std::uintptr_t address, std::uintptr_t mask, std::int64_t groups,
                         std::int32_t points, std::int32_t objectives, std::uint64_t minimised,
                         int itemsize, int device, std::uintptr_t stream) {
                 return Points{address,   mask,     groups, points, objectives,
                               minimised, itemsize, device, stream, 0};
             }),
             "address"_a, "mask"_a, "groups"_a, "points"_a, "objectives"_a, "minimised"_a,
             "itemsize"_a, "device"_a, "stream"_a)
        .def_readwrite("scratch", &Points::scratch);
    m.def("address", &address, "array"_a);
    m.def("points_of", &points_of, "values"_a, "mask"_a, "minimised"_a);
}

}  // namespace paretopo::bindings
