// Calls with plain arguments, answered without a detour through Python's checks.
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_arguments.hpp"
#include "bindings/points.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

py::object pareto_rank(py::handle values, py::handle maximise, py::handle mask) {
    Plain plain;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    py::array_t<std::int32_t> ranks(plain.per_point());
    auto* to = ranks.mutable_data();
    plain.run([=](auto batch) { cpu::pareto_rank(batch, to); });
    return ranks;
}

py::object is_nondominated(py::handle values, py::handle maximise, bool keep_weakly,
                           py::handle mask) {
    Plain plain;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    py::array_t<bool> nondominated(plain.per_point());
    auto* to = reinterpret_cast<std::uint8_t*>(nondominated.mutable_data());
    plain.run([=](auto batch) { cpu::is_nondominated(batch, keep_weakly, to); });
    return nondominated;
}

py::object crowding_distance(py::handle values, py::handle maximise, py::handle ranks,
                             py::handle mask) {
    Plain plain;
    std::uintptr_t known = 0;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_ranks(ranks.ptr(), known)) return py::none();
    py::array_t<double> distances(plain.per_point());
    auto* to = distances.mutable_data();
    const auto* fronts = reinterpret_cast<const std::int32_t*>(known);
    plain.run([=](auto batch) { cpu::crowding_distance(batch, fronts, to); });
    return distances;
}

py::object hypervolume(py::handle values, py::handle ref, py::handle maximise, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    py::array_t<double> volumes(plain.leading());
    auto* to = volumes.mutable_data();
    const auto refused =
        plain.run([&](auto batch) { return cpu::hypervolume(batch, corner.data(), to); });
    if (refused != kNoneRefused) return py::none();
    return scalar_or_array(std::move(volumes));
}

py::object hypervolume_gradient(py::handle values, py::handle ref, py::handle maximise,
                                py::handle mask, py::handle wanted) {
    Plain plain;
    std::vector<double> corner;
    std::uintptr_t chosen = 0;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_bools(wanted.ptr(), chosen)) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    py::array_t<double> slopes(plain.per_value());
    auto* to = slopes.mutable_data();
    const auto* of_these = reinterpret_cast<const std::uint8_t*>(chosen);
    const auto refused = plain.run(
        [&](auto batch) { return cpu::hypervolume_gradient(batch, corner.data(), of_these, to); });
    if (refused != kNoneRefused) return py::none();
    return slopes;
}

py::object hv_contributions(py::handle values, py::handle ref, py::handle maximise,
                            bool ignore_dominated, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    py::array_t<double> parts(plain.per_point());
    auto* to = parts.mutable_data();
    const auto refused = plain.run([&](auto batch) {
        return cpu::hv_contributions(batch, corner.data(), ignore_dominated, to);
    });
    if (refused != kNoneRefused) return py::none();
    return parts;
}

// How many points are drawn; 0 for what is out of range, or would take too long.
std::int32_t drawn_of(PyObject* k, const Points& points) {
    constexpr double kMostCells = 0.9e9;  // near the bound Python counts exactly
    double number = 0.0;
    if (!PyLong_CheckExact(k) || !take_plain_number(k, number)) return 0;
    if (number < 1.0 || number > points.points) return 0;
    double cells = 1.0;
    for (std::int32_t m = 0; m < points.objectives; ++m) cells *= (points.points + m) / (m + 1.0);
    return cells <= kMostCells ? static_cast<std::int32_t>(number) : 0;
}

py::object expected_hypervolume(py::handle values, py::handle ref, py::handle k,
                                py::handle maximise, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    const std::int32_t drawn = drawn_of(k.ptr(), plain.points);
    if (drawn == 0) return py::none();
    py::array_t<double> volumes(plain.leading());
    auto* to = volumes.mutable_data();
    const auto refused = plain.run([&](auto batch) {
        return cpu::expected_hypervolume(batch, corner.data(), false, drawn, to);
    });
    if (refused != kNoneRefused) return py::none();
    return scalar_or_array(std::move(volumes));
}

// `centre`: its code.
py::object hypervolume_advantage(py::handle rewards, py::handle ref, py::handle k, int centre,
                                 py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(rewards.ptr(), Py_True, mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    const std::int32_t drawn = drawn_of(k.ptr(), plain.points);
    if (drawn == 0) return py::none();
    const auto computed = [&]<typename Scalar>(Scalar) -> py::object {
        py::array_t<Scalar> advantages(plain.per_point());
        auto* to = advantages.mutable_data();
        const auto refused = plain.run([&]<typename Own>(Batch<Own> batch) {
            if constexpr (std::is_same_v<Own, Scalar>) {
                return cpu::hypervolume_advantage(batch, corner.data(), false, drawn,
                                                  static_cast<Centre>(centre), to);
            } else {
                return kNoneRefused;
            }
        });
        if (refused != kNoneRefused) return py::none();
        return advantages;
    };
    return plain.is_narrow() ? computed(float{}) : computed(double{});
}

// `centre`: its code. Weights that would have to be scaled first are not plain.
py::object pareto_advantage(py::handle rewards, py::handle weights, double beta, int centre,
                            py::handle mask, bool return_ranks) {
    Plain plain;
    std::vector<double> vector;
    if (!plain.take(rewards.ptr(), Py_True, mask.ptr())) return py::none();
    if (!plain.take_vector(weights.ptr(), false, vector)) return py::none();
    double heaviest = 0.0;
    for (const double weight : vector) heaviest = std::max(heaviest, std::abs(weight));
    if (heaviest != 0.0 && !(heaviest >= 0x1p-32 && heaviest <= 0x1p32)) return py::none();
    py::array_t<std::int32_t> ranks(return_ranks ? plain.per_point() : Shape{0});
    auto* rank = return_ranks ? ranks.mutable_data() : nullptr;
    const auto computed = [&]<typename Scalar>(Scalar) -> py::object {
        py::array_t<Scalar> advantages(plain.per_point());
        auto* to = advantages.mutable_data();
        vector.push_back(static_cast<double>(std::numeric_limits<Scalar>::max()) /
                         (4.0 * plain.points.objectives * std::max(1.0, heaviest)));
        plain.run([&]<typename Own>(Batch<Own> batch) {
            if constexpr (std::is_same_v<Own, Scalar>) {
                cpu::pareto_advantage(batch, vector.data(), false, beta,
                                      static_cast<Centre>(centre), to, rank);
            }
        });
        return advantages;
    };
    const py::object advantages = plain.is_narrow() ? computed(float{}) : computed(double{});
    if (return_ranks) return py::make_tuple(advantages, ranks);
    return advantages;
}

}  // namespace

void bind_plain_calls(py::module_& m) {
    m.def("plain_pareto_rank", &pareto_rank, "points"_a, "maximise"_a, "mask"_a);
    m.def("plain_is_nondominated", &is_nondominated, "points"_a, "maximise"_a, "keep_weakly"_a,
          "mask"_a);
    m.def("plain_crowding_distance", &crowding_distance, "points"_a, "maximise"_a, "ranks"_a,
          "mask"_a);
    m.def("plain_hypervolume", &hypervolume, "points"_a, "ref"_a, "maximise"_a, "mask"_a);
    m.def("plain_hypervolume_gradient", &hypervolume_gradient, "points"_a, "ref"_a, "maximise"_a,
          "mask"_a, "wanted"_a);
    m.def("plain_hv_contributions", &hv_contributions, "points"_a, "ref"_a, "maximise"_a,
          "ignore_dominated"_a, "mask"_a);
    m.def("plain_expected_hypervolume", &expected_hypervolume, "points"_a, "ref"_a, "k"_a,
          "maximise"_a, "mask"_a);
    m.def("plain_hypervolume_advantage", &hypervolume_advantage, "rewards"_a, "ref"_a, "k"_a,
          "centre"_a, "mask"_a);
    m.def("plain_pareto_advantage", &pareto_advantage, "rewards"_a, "weights"_a, "beta"_a,
          "centre"_a, "mask"_a, "return_ranks"_a);
}

}  // namespace paretopo::bindings
