// Attainment surfaces of several runs, from points that Python has checked.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>

#include "bindings/bind.hpp"
#include "bindings/unlocked.hpp"
#include "cpu/quality/indicators.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

using Values = py::array_t<double, py::array::c_style>;
using Numbers = py::array_t<std::int64_t, py::array::c_style>;

cpu::Runs runs_of(const Values& values, const Numbers& runs, std::size_t run_count) {
    return {values.data(), runs.data(), static_cast<std::size_t>(values.shape(0)),
            static_cast<std::size_t>(values.shape(1)), run_count};
}

// values: (points, objectives), smaller is better; runs: (points,). Returns the points of the
// surfaces and the number of runs that attain each.
py::tuple eaf(const Values& values, const Numbers& runs, std::size_t run_count,
              std::size_t highest) {
    const cpu::Runs given = runs_of(values, runs, run_count);
    cpu::Attained attained;
    {
        const Unlocked unlocked;
        attained = cpu::eaf(given, highest);
    }
    const auto count = static_cast<py::ssize_t>(attained.levels.size());
    Values surfaces({count, values.shape(1)});
    Numbers levels(count);
    std::ranges::copy(attained.values, surfaces.mutable_data());
    std::ranges::copy(attained.levels, levels.mutable_data());
    return py::make_tuple(surfaces, levels);
}

// values: (points, 2); corners: (count, 2). Returns (count, 2), as cpu::count_attaining.
Numbers count_attaining(const Values& values, const Numbers& runs, std::size_t run_count,
                        std::size_t first_runs, const Values& corners) {
    const cpu::Runs given = runs_of(values, runs, run_count);
    const py::ssize_t count = corners.shape(0);
    Numbers counts({count, py::ssize_t{2}});
    const double* from = corners.data();
    auto* to = counts.mutable_data();
    const Unlocked unlocked;
    cpu::count_attaining(given, first_runs, from, static_cast<std::size_t>(count), to);
    return counts;
}

}  // namespace

void bind_attainment(py::module_& m) {
    m.def("attainment_surfaces", &eaf, "values"_a, "runs"_a, "run_count"_a, "highest"_a);
    m.def("count_attaining", &count_attaining, "values"_a, "runs"_a, "run_count"_a, "first_runs"_a,
          "corners"_a);
}

}  // namespace paretopo::bindings
