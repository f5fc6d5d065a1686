// Points in units of their range, and the filter of boxes, with plain arguments as in
// plain_calls.cpp: Python composes what is not plain of other calls.
#include <pybind11/numpy.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_arguments.hpp"
#include "bindings/points.hpp"
#include "cpu/epsilon_boxes.hpp"
#include "cpu/normalise.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

// An array of this shape, of the dtype of the points, which `fill` writes.
template <typename Fill>
py::object beside(const Plain& plain, const Shape& shape, const Fill& fill) {
    const auto filled = [&]<typename Scalar>(Scalar) -> py::object {
        py::array_t<Scalar> result(shape);
        auto* to = result.mutable_data();
        plain.run([&]<typename Own>(Batch<Own> batch) {
            if constexpr (std::is_same_v<Own, Scalar>) fill(batch, to);
        });
        return result;
    };
    return plain.is_narrow() ? filled(float{}) : filled(double{});
}

Shape per_objective(const Plain& plain) {
    Shape shape = plain.leading();
    shape.push_back(plain.points.objectives);
    return shape;
}

py::object ideal_point(py::handle points, py::handle maximise, py::handle mask) {
    Plain plain;
    if (!plain.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    return beside(plain, per_objective(plain),
                  [](auto batch, auto* to) { cpu::ideal_point(batch, to); });
}

py::object nadir_point(py::handle points, py::handle maximise, py::handle mask) {
    Plain plain;
    if (!plain.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    return beside(plain, per_objective(plain),
                  [](auto batch, auto* to) { cpu::nadir_point(batch, to); });
}

// ideal, nadir: one for all sets, or None.
py::object normalise(py::handle points, py::handle ideal, py::handle nadir, py::handle maximise,
                     py::handle mask) {
    Plain plain;
    if (!plain.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    std::vector<double> best;
    std::vector<double> worst;
    if (!ideal.is_none() && !plain.take_vector(ideal.ptr(), true, best)) return py::none();
    if (!nadir.is_none() && !plain.take_vector(nadir.ptr(), true, worst)) return py::none();
    return beside(plain, plain.per_value(), [&](auto batch, auto* to) {
        cpu::normalise(batch, ideal.is_none() ? nullptr : best.data(),
                       nadir.is_none() ? nullptr : worst.data(), to);
    });
}

py::object filter_boxes(py::handle points, py::handle epsilon, py::handle maximise,
                        py::handle mask) {
    Plain plain;
    std::vector<double> sides;
    if (!plain.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(epsilon.ptr(), true, sides)) return py::none();
    for (const double side : sides) {
        if (!(side > 0.0)) return py::none();
    }
    py::array_t<bool> kept(plain.per_point());
    auto* to = reinterpret_cast<std::uint8_t*>(kept.mutable_data());
    plain.run([&](auto batch) { cpu::filter_boxes(batch, sides.data(), to); });
    return kept;
}

}  // namespace

void bind_scales(py::module_& m) {
    m.def("plain_ideal_point", &ideal_point, "points"_a, "maximise"_a, "mask"_a);
    m.def("plain_nadir_point", &nadir_point, "points"_a, "maximise"_a, "mask"_a);
    m.def("plain_normalise", &normalise, "points"_a, "ideal"_a, "nadir"_a, "maximise"_a, "mask"_a);
    m.def("plain_filter_boxes", &filter_boxes, "points"_a, "epsilon"_a, "maximise"_a, "mask"_a);
}

}  // namespace paretopo::bindings
