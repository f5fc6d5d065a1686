// Which points of a set to keep: on the CPU, with addresses as in operations.cpp, or with plain
// arguments as in plain_calls.cpp.
#include "cpu/subsets.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_arguments.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

constexpr std::int64_t kTooManyChoices = -2;  // where the index of a refused value would be

std::int64_t checked_subset(const Points& points, std::uintptr_t ref, bool per_group,
                            std::int32_t k, int method, std::uintptr_t chosen) {
    const Unlocked unlocked;
    try {
        return with_batch(points, [&](auto batch) {
            return cpu::hypervolume_subset(batch, {at<const double>(ref), per_group}, k,
                                           static_cast<cpu::SubsetMethod>(method),
                                           at<std::int64_t>(chosen));
        });
    } catch (const cpu::TooManyChoices&) {
        return kTooManyChoices;
    }
}

// How many points are to be kept; 0 for what is out of range.
std::int32_t wanted_of(py::handle k, const Points& points) {
    double number = 0.0;
    if (!PyLong_CheckExact(k.ptr()) || !take_plain_number(k.ptr(), number)) return 0;
    return number >= 1.0 && number <= points.points ? static_cast<std::int32_t>(number) : 0;
}

Shape with_last(Shape shape, std::int32_t last) {
    shape.push_back(last);
    return shape;
}

// `method`: its code, one that takes these objectives.
py::object plain_subset(py::handle values, py::handle k, py::handle ref, int method,
                        py::handle maximise, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    const std::int32_t wanted = wanted_of(k, plain.points);
    const auto how = static_cast<cpu::SubsetMethod>(method);
    if (how == cpu::SubsetMethod::kExact && plain.points.objectives > 2) return py::none();
    if (wanted == 0) return py::none();
    py::array_t<std::int64_t> chosen(with_last(plain.leading(), wanted));
    auto* to = chosen.mutable_data();
    try {
        const auto refused = plain.run([&](auto batch) {
            return cpu::hypervolume_subset(batch, {corner.data(), false}, wanted, how, to);
        });
        if (refused != kNoneRefused) return py::none();
    } catch (const cpu::TooManyChoices&) {
        return py::none();
    }
    return chosen;
}

std::int64_t checked_select(const Points& points, std::int32_t k, int cut, std::uintptr_t ref,
                            bool per_group, std::uintptr_t directions, std::int64_t count,
                            std::uint64_t seed, std::uintptr_t survivors) {
    const Unlocked unlocked;
    const cpu::Cutting cutting{static_cast<cpu::Cut>(cut),
                               {at<const double>(ref), per_group},
                               at<const double>(directions),
                               count,
                               seed};
    return with_batch(points, [&](auto batch) {
        return cpu::select(batch, cutting, k, at<std::int64_t>(survivors));
    });
}

// `cut`: its code, one that needs no directions. `ref`: None where it needs no reference.
py::object plain_select(py::handle values, py::handle k, int cut, py::handle ref,
                        py::handle directions, py::handle seed, py::handle maximise,
                        py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    const auto how = static_cast<cpu::Cut>(cut);
    if (how == cpu::Cut::kReferenceDirections || !directions.is_none()) return py::none();
    if (!PyLong_CheckExact(seed.ptr())) return py::none();
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (ref.is_none() == (how == cpu::Cut::kHypervolume)) return py::none();
    if (!ref.is_none() && !plain.take_vector(ref.ptr(), true, corner)) return py::none();
    const std::int32_t wanted = wanted_of(k, plain.points);
    if (wanted == 0) return py::none();
    py::array_t<std::int64_t> survivors(with_last(plain.leading(), wanted));
    auto* to = survivors.mutable_data();
    const cpu::Cutting cutting{how, {corner.data(), false}, nullptr, 0, 0};
    const auto refused =
        plain.run([&](auto batch) { return cpu::select(batch, cutting, wanted, to); });
    if (refused != kNoneRefused) return py::none();
    return survivors;
}

}  // namespace

void bind_subsets(py::module_& m) {
    m.attr("SUBSET_METHODS") = names(cpu::kSubsetMethodNames);
    m.attr("CUTS") = names(cpu::kCutNames);
    m.attr("TOO_MANY_CHOICES") = kTooManyChoices;
    m.attr("MOST_CHOICE_BYTES") = cpu::kMostChoiceBytes;
    m.def("hypervolume_subset", &checked_subset, "points"_a, "ref"_a, "per_group"_a, "k"_a,
          "method"_a, "chosen"_a);
    m.def("select", &checked_select, "points"_a, "k"_a, "cut"_a, "ref"_a, "per_group"_a,
          "directions"_a, "count"_a, "seed"_a, "survivors"_a);
    m.def("plain_hypervolume_subset", &plain_subset, "points"_a, "k"_a, "ref"_a, "method"_a,
          "maximise"_a, "mask"_a);
    m.def("plain_select", &plain_select, "points"_a, "k"_a, "cut"_a, "ref"_a, "directions"_a,
          "seed"_a, "maximise"_a, "mask"_a);
}

}  // namespace paretopo::bindings
