// paretopo_core._core: one function of Python per operation of ops.hpp.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bindings/points.hpp"
#include "cpu/archive.hpp"
#include "cpu/gradient.hpp"
#include "cpu/isa.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;
using namespace paretopo;
using namespace paretopo::bindings;

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
            0};
}

gpu::Operation operation_named(const std::string& name) {
    if (name == "pareto_rank") return gpu::Operation::kRank;
    if (name == "is_nondominated") return gpu::Operation::kFilter;
    if (name == "crowding_distance") return gpu::Operation::kCrowding;
    if (name == "pareto_advantage") return gpu::Operation::kAdvantage;
    if (name == "hypervolume") return gpu::Operation::kHypervolume;
    throw std::invalid_argument("no operation takes scratch under the name " + name);
}

// Bytes that an operation on a GPU needs beside its output.
std::int64_t scratch_bytes(const Points& points, const std::string& operation) {
    return with_batch(points, [&](auto batch) {
        return on_gpu(points, 0, [&](auto place) {
            return gpu::scratch_bytes(place, operation_named(operation), batch);
        });
    });
}

void pareto_rank(const Points& points, std::uintptr_t ranks, std::uintptr_t scratch) {
    const py::gil_scoped_release unlocked;
    auto* out = at<std::int32_t>(ranks);
    with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::pareto_rank(batch, out);
        on_gpu(points, scratch, [&](auto place) { gpu::pareto_rank(place, batch, out); });
    });
}

void is_nondominated(const Points& points, bool keep_weakly, std::uintptr_t chosen,
                     std::uintptr_t scratch) {
    const py::gil_scoped_release unlocked;
    auto* out = at<std::uint8_t>(chosen);
    with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::is_nondominated(batch, keep_weakly, out);
        on_gpu(points, scratch,
               [&](auto place) { gpu::is_nondominated(place, batch, keep_weakly, out); });
    });
}

void crowding_distance(const Points& points, std::uintptr_t distances, std::uintptr_t scratch) {
    const py::gil_scoped_release unlocked;
    auto* out = at<double>(distances);
    with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::crowding_distance(batch, out);
        on_gpu(points, scratch, [&](auto place) { gpu::crowding_distance(place, batch, out); });
    });
}

// `weights`: float64, in host memory.
void pareto_advantage(const Points& points, std::uintptr_t weights, double largest, double beta,
                      int centre, std::uintptr_t advantages, std::uintptr_t ranks,
                      std::uintptr_t scratch) {
    const py::gil_scoped_release unlocked;
    with_batch(points, [&]<typename Scalar>(Batch<Scalar> batch) {
        const auto* given = at<const double>(weights);
        std::vector<Scalar> own(static_cast<std::size_t>(batch.objectives));
        for (std::size_t m = 0; m < own.size(); ++m) own[m] = static_cast<Scalar>(given[m]);
        const Advantage<Scalar> how{own.data(), static_cast<Scalar>(largest),
                                    static_cast<Scalar>(beta), static_cast<Centre>(centre)};
        auto* out = at<Scalar>(advantages);
        auto* rank = at<std::int32_t>(ranks);
        if (points.device == kCpu) return cpu::pareto_advantage(batch, how, out, rank);
        on_gpu(points, scratch,
               [&](auto place) { gpu::pareto_advantage(place, batch, how, out, rank); });
    });
}

// Those that measure volumes: `ref` is float64, in host memory. They return the flat index of the
// first value they refuse, or kNoneRefused, as always on a GPU.
std::int64_t hypervolume(const Points& points, std::uintptr_t ref, std::uintptr_t volumes,
                         std::uintptr_t scratch) {
    const py::gil_scoped_release unlocked;
    const auto* corner = at<const double>(ref);
    auto* out = at<double>(volumes);
    return with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::hypervolume(batch, corner, out);
        on_gpu(points, scratch, [&](auto place) { gpu::hypervolume(place, batch, corner, out); });
        return kNoneRefused;
    });
}

// `wanted`: uint8 per point or null, on the CPU.
std::int64_t hypervolume_gradient(const Points& points, std::uintptr_t ref, std::uintptr_t gradient,
                                  std::uintptr_t wanted) {
    if (wanted != 0 && points.device != kCpu) {
        throw std::invalid_argument("slopes of chosen points are computed on the CPU");
    }
    const py::gil_scoped_release unlocked;
    const auto* corner = at<const double>(ref);
    const auto* chosen = at<const std::uint8_t>(wanted);
    auto* out = at<double>(gradient);
    return with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::hypervolume_gradient(batch, corner, chosen, out);
        on_gpu(points, 0,
               [&](auto place) { gpu::hypervolume_gradient(place, batch, corner, out); });
        return kNoneRefused;
    });
}

std::int64_t hv_contributions(const Points& points, std::uintptr_t ref, bool ignore_dominated,
                              std::uintptr_t contributions) {
    const py::gil_scoped_release unlocked;
    const auto* corner = at<const double>(ref);
    auto* out = at<double>(contributions);
    return with_batch(points, [&](auto batch) {
        if (points.device == kCpu) {
            return cpu::hv_contributions(batch, corner, ignore_dominated, out);
        }
        on_gpu(points, 0, [&](auto place) {
            gpu::hv_contributions(place, batch, corner, ignore_dominated, out);
        });
        return kNoneRefused;
    });
}

// `ref`: float64; one point in host memory, or one for each group beside the points.
std::int64_t expected_hypervolume(const Points& points, std::uintptr_t ref, bool per_group, int k,
                                  std::uintptr_t volumes) {
    const py::gil_scoped_release unlocked;
    const References corners{at<const double>(ref), per_group};
    auto* out = at<double>(volumes);
    return with_batch(points, [&](auto batch) {
        if (points.device == kCpu) return cpu::expected_hypervolume(batch, corners, k, out);
        on_gpu(points, 0,
               [&](auto place) { gpu::expected_hypervolume(place, batch, corners, k, out); });
        return kNoneRefused;
    });
}

std::int64_t hypervolume_advantage(const Points& points, std::uintptr_t ref, bool per_group, int k,
                                   int centre, std::uintptr_t advantages) {
    const py::gil_scoped_release unlocked;
    const References corners{at<const double>(ref), per_group};
    return with_batch(points, [&]<typename Scalar>(Batch<Scalar> batch) {
        auto* out = at<Scalar>(advantages);
        const auto how = static_cast<Centre>(centre);
        if (points.device == kCpu) return cpu::hypervolume_advantage(batch, corners, k, how, out);
        on_gpu(points, 0,
               [&](auto place) { gpu::hypervolume_advantage(place, batch, corners, k, how, out); });
        return kNoneRefused;
    });
}

// `row`: one float64 per objective, checked by Python.
double add_to_archive(cpu::Archive& archive, const py::buffer& row) {
    const py::buffer_info info = row.request();
    const py::gil_scoped_release unlocked;
    return archive.add(static_cast<const double*>(info.ptr));
}

// Flat: one value of each objective after the other, point by point.
py::array_t<double> members_of(cpu::Archive& archive) {
    const std::vector<double> rows = [&] {
        const py::gil_scoped_release unlocked;
        return archive.members();
    }();
    return py::array_t<double>(static_cast<py::ssize_t>(rows.size()), rows.data());
}

}  // namespace

PYBIND11_MODULE(_core, m, py::mod_gil_not_used()) {
    m.doc() = "Compiled kernels of paretopo_core. Private: takes raw addresses.";
    m.attr("__version__") = PARETOPO_VERSION;
    m.attr("CPU") = kCpu;
    m.attr("EMULATED") = kEmulated;
    m.attr("COMPILER") = PARETOPO_COMPILER;
    m.def("cuda_is_compiled", &cuda::is_compiled);
    m.def("cuda_device_count", &cuda::device_count);
    m.def(
        "cuda_device_of", [](std::uintptr_t address) { return cuda::device_of(at<void>(address)); },
        "address"_a);
    m.def("cuda_driver_needed", &cuda::driver_needed);
    m.def("set_threads", &cpu::set_threads, "threads"_a);
    m.def("threads", &cpu::threads);
    m.def("set_isa", [](int isa) { cpu::set_isa(static_cast<cpu::Isa>(isa)); }, "isa"_a);
    m.def("isa", [] { return static_cast<int>(cpu::isa()); });
    m.def("best_isa", [] { return static_cast<int>(cpu::best_isa()); });

    py::class_<Points>(m, "Points")
        .def(py::init<std::uintptr_t, std::uintptr_t, std::int64_t, std::int32_t, std::int32_t,
                      std::uint64_t, int, int, std::uintptr_t>(),
             "address"_a, "mask"_a, "groups"_a, "points"_a, "objectives"_a, "minimised"_a,
             "itemsize"_a, "device"_a, "stream"_a);

    m.def("address", &address, "array"_a);
    m.def("points_of", &points_of, "values"_a, "mask"_a, "minimised"_a);

    m.def("scratch_bytes", &scratch_bytes, "points"_a, "operation"_a);
    m.def("pareto_rank", &pareto_rank, "points"_a, "ranks"_a, "scratch"_a = 0);
    m.def("is_nondominated", &is_nondominated, "points"_a, "keep_weakly"_a, "chosen"_a,
          "scratch"_a = 0);
    m.def("crowding_distance", &crowding_distance, "points"_a, "distances"_a, "scratch"_a = 0);
    m.def("pareto_advantage", &pareto_advantage, "points"_a, "weights"_a, "largest"_a, "beta"_a,
          "centre"_a, "advantages"_a, "ranks"_a, "scratch"_a = 0);
    m.def("hypervolume", &hypervolume, "points"_a, "ref"_a, "volumes"_a, "scratch"_a = 0);
    m.def("hypervolume_gradient", &hypervolume_gradient, "points"_a, "ref"_a, "gradient"_a,
          "wanted"_a = 0);
    m.def("hv_contributions", &hv_contributions, "points"_a, "ref"_a, "ignore_dominated"_a,
          "contributions"_a);
    m.def("expected_hypervolume", &expected_hypervolume, "points"_a, "ref"_a, "per_group"_a, "k"_a,
          "volumes"_a);
    m.def("hypervolume_advantage", &hypervolume_advantage, "points"_a, "ref"_a, "per_group"_a,
          "k"_a, "centre"_a, "advantages"_a);

    py::class_<cpu::Archive>(m, "Archive")
        .def(py::init([](int objectives, std::uintptr_t signs, std::uintptr_t ref) {
                 return cpu::Archive(objectives, at<const double>(signs), at<const double>(ref));
             }),
             "objectives"_a, "signs"_a, "ref"_a)
        .def("add", &add_to_archive, "row"_a)
        .def("size", &cpu::Archive::size)
        .def("members", &members_of)
        .def(
            "load",
            [](cpu::Archive& archive, std::uintptr_t rows, std::size_t count) {
                archive.load(at<const double>(rows), count);
            },
            "rows"_a, "count"_a);
}
