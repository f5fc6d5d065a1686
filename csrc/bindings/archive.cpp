// Python bindings of the archive.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/arguments.hpp"
#include "bindings/bind.hpp"
#include "bindings/unlocked.hpp"
#include "cpu/archive/recorded_archive.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

using cpu::RecordedArchive;

// Flat: the values of all objectives, point by point.
template <typename Number>
py::array_t<Number> flat(const std::vector<Number>& numbers) {
    return py::array_t<Number>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

// Python has checked the shapes and dtypes of all arrays.
const double* doubles(const py::array& array) { return static_cast<const double*>(array.data()); }

std::vector<double> vector_of(const py::array& array) {
    return {doubles(array), doubles(array) + array.size()};
}

// A reference to a Python object; the last owner releases it under Python's lock.
RecordedArchive::Payload payload_of(const py::handle object) {
    if (object.is_none()) return {};
    return {object.inc_ref().ptr(),
            [](void* held) { ReleasedLock::release(static_cast<PyObject*>(held)); }};
}

std::vector<RecordedArchive::Payload> payloads_of(const py::object& list) {
    std::vector<RecordedArchive::Payload> payloads;
    if (list.is_none()) return payloads;
    for (const py::handle each : list) payloads.push_back(payload_of(each));
    return payloads;
}

// None if there are none.
py::object list_of(const std::vector<RecordedArchive::Payload>& payloads) {
    if (payloads.empty()) return py::none();
    py::list list;
    for (const RecordedArchive::Payload& each : payloads) {
        list.append(each ? py::handle(static_cast<PyObject*>(each.get())) : py::none());
    }
    return list;
}

// ref: empty for an archive without volume.
std::unique_ptr<RecordedArchive> make(const py::array& signs, const py::array& ref,
                                      bool keeps_history, std::size_t capacity, bool by_crowding,
                                      const py::array& epsilon) {
    cpu::ArchiveBounds bounds{capacity,
                              by_crowding ? cpu::Keep::kCrowding : cpu::Keep::kContribution,
                              vector_of(epsilon)};
    return std::make_unique<RecordedArchive>(static_cast<int>(signs.size()), doubles(signs),
                                             ref.size() ? doubles(ref) : nullptr, keeps_history,
                                             std::move(bounds));
}

// Returns None if the point is not plain: Python then checks it first.
py::object add(RecordedArchive& archive, const py::handle point, const py::handle given) {
    std::vector<double> row;
    const auto width = static_cast<py::ssize_t>(archive.width());
    if (!take_plain_vector(point.ptr(), width, false, row)) return py::none();
    RecordedArchive::Payload payload = payload_of(given);
    const auto added = [&] {
        const Unlocked unlocked;
        return archive.add(row.data(), std::move(payload));
    }();
    return py::float_(added.gain);
}

// payloads: one for each row, or None.
py::tuple extend(RecordedArchive& archive, const py::array& rows, const py::object& given) {
    const py::ssize_t count = rows.shape(0);
    std::vector<RecordedArchive::Payload> payloads = payloads_of(given);
    payloads.resize(static_cast<std::size_t>(count));
    py::array_t<double> gains(count);
    py::array_t<bool> joined(count);
    const double* row = doubles(rows);
    double* gain = gains.mutable_data();
    bool* has_joined = joined.mutable_data();
    {
        const Unlocked unlocked;
        for (py::ssize_t i = 0; i < count; ++i) {
            cpu::check_interrupt();
            const auto place = static_cast<std::size_t>(i);
            const cpu::Archive::Addition added =
                archive.add(row + place * archive.width(), std::move(payloads[place]));
            gain[i] = added.gain;
            has_joined[i] = added.has_joined;
        }
    }
    return py::make_tuple(gains, joined);
}

py::array_t<double> gains_of(RecordedArchive& archive, const py::array& rows) {
    const py::ssize_t count = rows.shape(0);
    py::array_t<double> gains(count);
    const double* given = doubles(rows);
    double* gain = gains.mutable_data();
    const Unlocked unlocked;
    for (py::ssize_t i = 0; i < count; ++i) {
        cpu::check_interrupt();
        gain[i] = archive.gain(given + static_cast<std::size_t>(i) * archive.width());
    }
    return gains;
}

template <typename Result>
auto unlocked_call(Result (RecordedArchive::*method)()) {
    return [method](RecordedArchive& archive) {
        const Unlocked unlocked;
        return (archive.*method)();
    };
}

py::tuple state_of(RecordedArchive& archive) {
    const RecordedArchive::State state = unlocked_call(&RecordedArchive::state)(archive);
    py::object history = py::none();
    if (archive.keeps_history()) history = flat(state.history);
    const auto& [members, payloads] = state.contents;
    return py::make_tuple(flat(members.rows), flat(members.arrivals), state.additions, state.volume,
                          history, list_of(payloads));
}

py::tuple contents_of(RecordedArchive& archive) {
    const auto [members, payloads] = unlocked_call(&RecordedArchive::contents)(archive);
    return py::make_tuple(flat(members.rows), flat(members.arrivals), list_of(payloads));
}

void load(RecordedArchive& archive, const py::array& members, const py::array& indices,
          std::int64_t additions, double volume, const std::optional<py::array>& history,
          const py::object& payloads) {
    const auto* numbers = static_cast<const std::int64_t*>(indices.data());
    const RecordedArchive::State state{
        {{vector_of(members), {numbers, numbers + indices.size()}}, payloads_of(payloads)},
        additions,
        volume,
        history ? vector_of(*history) : std::vector<double>()};
    const Unlocked unlocked;
    archive.load(state);
}

}  // namespace

void bind_archive(py::module_& m) {
    py::class_<RecordedArchive>(m, "Archive")
        .def(py::init(&make), "signs"_a, "ref"_a, "keeps_history"_a, "capacity"_a, "by_crowding"_a,
             "epsilon"_a)
        .def("add", &add, "point"_a, "payload"_a)
        .def("extend", &extend, "rows"_a, "payloads"_a)
        .def("gains", &gains_of, "rows"_a)
        .def(
            "remove",
            [](RecordedArchive& archive, const py::array& row) {
                const double* given = doubles(row);
                const Unlocked unlocked;
                return archive.remove(given);
            },
            "row"_a)
        .def("size", unlocked_call(&RecordedArchive::size))
        .def("members",
             [](RecordedArchive& archive) {
                 return flat(unlocked_call(&RecordedArchive::members)(archive));
             })
        .def("volume", unlocked_call(&RecordedArchive::volume))
        .def("additions", unlocked_call(&RecordedArchive::additions))
        .def("contents", &contents_of)
        .def("state", &state_of)
        .def("load", &load, "members"_a, "indices"_a, "additions"_a, "volume"_a, "history"_a,
             "payloads"_a);
}

}  // namespace paretopo::bindings
