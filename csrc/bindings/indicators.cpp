// Quality indicators, estimates of volumes and attainment surfaces: on the CPU, with addresses as
// in operations.cpp, or with plain arguments as in plain_calls.cpp.
#include "cpu/indicators.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_arguments.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

cpu::AnyBatch any_batch(const Points& points) {
    return with_batch(points, [](auto batch) { return cpu::AnyBatch(batch); });
}

// Returns the index of a refused point and that of a refused reference point.
py::tuple indicator(const Points& points, std::uintptr_t points_of_group, const Points& reference,
                    std::uintptr_t reference_of_group, std::int64_t groups, int which, double p,
                    std::uintptr_t values) {
    cpu::RefusedBeside refused;
    {
        const Unlocked unlocked;
        refused = cpu::indicator({any_batch(points), at<const std::int64_t>(points_of_group)},
                                 {any_batch(reference), at<const std::int64_t>(reference_of_group)},
                                 groups, static_cast<cpu::Indicator>(which), p, at<double>(values));
    }
    return py::make_tuple(refused.point, refused.reference);
}

// One reference set for all sets of points, or one for each of as many.
py::object plain_indicator(py::handle points, py::handle reference, int which, double p,
                           py::handle maximise, py::handle mask, py::handle reference_mask) {
    constexpr std::int64_t kFew = 4096;  // pairs of values, before others are let in
    Plain own;
    Plain other;
    if (!reference_mask.is_none()) return py::none();
    if (!own.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!other.take(reference.ptr(), maximise.ptr(), reference_mask.ptr())) return py::none();
    if (other.points.objectives != own.points.objectives || other.points.points == 0) {
        return py::none();
    }
    if (!other.leading().empty() && other.leading() != own.leading()) return py::none();
    if (!(p > 0.0)) return py::none();
    py::array_t<double> values(own.leading());
    auto* out = values.mutable_data();
    cpu::RefusedBeside refused;
    {
        std::optional<Unlocked> unlocked;
        const Points& given = own.points;
        if (!own.is_short() || other.points.points * given.groups * given.points > kFew) {
            unlocked.emplace();
        }
        refused = cpu::indicator({any_batch(given), nullptr}, {any_batch(other.points), nullptr},
                                 given.groups, static_cast<cpu::Indicator>(which), p, out);
    }
    if (refused.point != kNoneRefused || refused.reference != kNoneRefused) return py::none();
    return scalar_or_array(std::move(values));
}

// weights: (count, objectives), or 0 for all weights of two objectives.
std::int64_t r2(const Points& points, std::uintptr_t ideal, bool per_group, std::uintptr_t weights,
                std::int64_t count, std::uintptr_t values) {
    const Unlocked unlocked;
    return cpu::r2(any_batch(points), {at<const double>(ideal), per_group},
                   at<const double>(weights), count, at<double>(values));
}

// One ideal point for all sets.
py::object plain_r2(py::handle points, py::handle ideal, py::handle weights, py::handle maximise,
                    py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!weights.is_none()) return py::none();
    if (!plain.take(points.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (plain.points.objectives != 2 || !plain.take_vector(ideal.ptr(), true, corner)) {
        return py::none();
    }
    py::array_t<double> values(plain.leading());
    auto* out = values.mutable_data();
    std::int64_t refused = kNoneRefused;
    {
        std::optional<Unlocked> unlocked;
        if (!plain.is_short()) unlocked.emplace();
        refused = cpu::r2(any_batch(plain.points), {corner.data(), false}, nullptr, 0, out);
    }
    if (refused != kNoneRefused) return py::none();
    return scalar_or_array(std::move(values));
}

std::int64_t hypervolume_approx(const Points& points, std::uintptr_t ref, std::int64_t samples,
                                std::uint64_t seed, std::uintptr_t values, std::uintptr_t errors) {
    const Unlocked unlocked;
    return with_batch(points, [&](auto batch) {
        return cpu::hypervolume_approx(batch, at<const double>(ref), samples, seed,
                                       at<double>(values), at<double>(errors));
    });
}

// An estimate takes so long that the checks of Python do not matter.
py::object plain_hypervolume_approx(py::handle, py::handle, py::handle, py::handle, py::handle,
                                    py::handle) {
    return py::none();
}

// values: (points, objectives), smaller is better; runs: (points,). Returns the points of the
// surfaces and how many runs attain each.
py::tuple eaf(std::uintptr_t values, std::uintptr_t runs, std::int64_t points,
              std::int64_t objectives, std::int64_t run_count, std::int64_t highest) {
    cpu::Attained attained;
    {
        const Unlocked unlocked;
        attained = cpu::eaf({at<const double>(values), at<const std::int64_t>(runs),
                             static_cast<std::size_t>(points), static_cast<std::size_t>(objectives),
                             static_cast<std::size_t>(run_count)},
                            static_cast<std::size_t>(highest));
    }
    const auto count = static_cast<py::ssize_t>(attained.levels.size());
    py::array_t<double> surfaces({count, static_cast<py::ssize_t>(objectives)});
    py::array_t<std::int64_t> levels(count);
    std::copy(attained.values.begin(), attained.values.end(), surfaces.mutable_data());
    std::copy(attained.levels.begin(), attained.levels.end(), levels.mutable_data());
    return py::make_tuple(surfaces, levels);
}

// values: (points, 2); corners: (count, 2). Returns (count, 2), as cpu::count_attaining.
py::array_t<std::int64_t> count_attaining(std::uintptr_t values, std::uintptr_t runs,
                                          std::int64_t points, std::int64_t run_count,
                                          std::int64_t first_runs, std::uintptr_t corners,
                                          std::int64_t count) {
    py::array_t<std::int64_t> counts({static_cast<py::ssize_t>(count), py::ssize_t{2}});
    auto* to = counts.mutable_data();
    const Unlocked unlocked;
    cpu::count_attaining({at<const double>(values), at<const std::int64_t>(runs),
                          static_cast<std::size_t>(points), 2, static_cast<std::size_t>(run_count)},
                         static_cast<std::size_t>(first_runs), at<const double>(corners),
                         static_cast<std::size_t>(count), to);
    return counts;
}

}  // namespace

void bind_indicators(py::module_& m) {
    m.attr("INDICATORS") = names(cpu::kIndicatorNames);
    m.attr("REPLICATES") = cpu::kReplicates;
    m.def("indicator", &indicator, "points"_a, "points_of_group"_a, "reference"_a,
          "reference_of_group"_a, "groups"_a, "which"_a, "p"_a, "values"_a);
    m.def("plain_indicator", &plain_indicator, "points"_a, "reference"_a, "which"_a, "p"_a,
          "maximise"_a, "mask"_a, "reference_mask"_a);
    m.def("r2", &r2, "points"_a, "ideal"_a, "per_group"_a, "weights"_a, "count"_a, "values"_a);
    m.def("plain_r2", &plain_r2, "points"_a, "ideal"_a, "weights"_a, "maximise"_a, "mask"_a);
    m.def("plain_hypervolume_approx", &plain_hypervolume_approx, "points"_a, "ref"_a, "samples"_a,
          "seed"_a, "maximise"_a, "mask"_a);
    m.def("hypervolume_approx", &hypervolume_approx, "points"_a, "ref"_a, "samples"_a, "seed"_a,
          "values"_a, "errors"_a);
    m.def("eaf", &eaf, "values"_a, "runs"_a, "points"_a, "objectives"_a, "run_count"_a,
          "highest"_a);
    m.def("count_attaining", &count_attaining, "values"_a, "runs"_a, "points"_a, "run_count"_a,
          "first_runs"_a, "corners"_a, "count"_a);
}

}  // namespace paretopo::bindings
