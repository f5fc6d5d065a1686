// The archive as Python has it: the non-dominated points, and the record of how they came in.
#include "cpu/archive.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_calls.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

// Every call is done as a whole or not at all, whoever else calls, and wherever Ctrl-C meets it.
class RecordedArchive {
  public:
    struct State {
        cpu::Archive::Members members;  // their arrivals: how many points came before
        std::int64_t additions = 0;
        double volume = 0.0;
        std::vector<double> history;  // (additions, objectives), if it is kept
    };

    RecordedArchive(int objectives, const double* signs, const double* ref, bool keeps_history)
        : width_(static_cast<std::size_t>(objectives)),
          signs_(signs, signs + objectives),
          ref_(ref, ref + objectives),
          keeps_history_(keeps_history),
          archive_(new_archive()) {}

    cpu::Archive::Addition add(const double* row) {
        const std::lock_guard<cpu::Turns> hold(turns_);
        const std::size_t recorded = history_.size();
        if (keeps_history_) history_.insert(history_.end(), row, row + width_);
        cpu::Archive::Addition added{};
        try {
            added = archive_->add(row, additions_);
        } catch (...) {
            history_.resize(recorded);
            throw;
        }
        volume_ += added.gain;
        ++additions_;
        return added;
    }

    double gain(const double* row) {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return archive_->gain(row);
    }

    // False: no member equals it.
    bool remove(const double* row) {
        const std::lock_guard<cpu::Turns> hold(turns_);
        cpu::Archive::Members members = archive_->members();
        std::size_t i = 0;
        while (i < members.arrivals.size() &&
               !std::equal(row, row + width_, &members.rows[i * width_])) {
            ++i;
        }
        if (i == members.arrivals.size()) return false;
        const auto at = members.rows.begin() + static_cast<std::ptrdiff_t>(i * width_);
        members.rows.erase(at, at + static_cast<std::ptrdiff_t>(width_));
        members.arrivals.erase(members.arrivals.begin() + static_cast<std::ptrdiff_t>(i));
        auto archive = new_archive();
        archive->load(members);
        volume_ = volume_of(members.rows);
        archive_ = std::move(archive);
        return true;
    }

    State state() {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return {archive_->members(), additions_, volume_, history_};
    }

    void load(const State& state) {
        auto archive = new_archive();
        archive->load(state.members);
        std::vector<double> history = state.history;
        const std::lock_guard<cpu::Turns> hold(turns_);
        archive_ = std::move(archive);
        history_ = std::move(history);
        additions_ = state.additions;
        volume_ = state.volume;
    }

    std::size_t size() {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return archive_->size();
    }

    std::vector<double> members() {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return archive_->members().rows;
    }

    double volume() {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return volume_;
    }

    std::int64_t additions() {
        const std::lock_guard<cpu::Turns> hold(turns_);
        return additions_;
    }

    std::size_t width() const { return width_; }
    bool keeps_history() const { return keeps_history_; }

  private:
    std::unique_ptr<cpu::Archive> new_archive() const {
        return std::make_unique<cpu::Archive>(static_cast<int>(width_), signs_.data(), ref_.data());
    }

    double volume_of(const std::vector<double>& rows) const {
        std::vector<double> turned(rows);
        std::vector<double> corner(ref_);
        for (std::size_t i = 0; i < turned.size(); ++i) turned[i] *= signs_[i % width_];
        for (std::size_t m = 0; m < width_; ++m) corner[m] *= signs_[m];
        double volume = 0.0;
        cpu::hypervolume(Batch<double>{turned.data(), nullptr, 1,
                                       static_cast<std::int32_t>(rows.size() / width_),
                                       static_cast<std::int32_t>(width_), 0},
                         corner.data(), &volume);
        return volume;
    }

    std::size_t width_;
    std::vector<double> signs_, ref_;
    bool keeps_history_;
    std::unique_ptr<cpu::Archive> archive_;
    std::vector<double> history_;
    std::int64_t additions_ = 0;
    double volume_ = 0.0;
    cpu::Turns turns_;
};

// Flat: one value of each objective after the other, point by point.
template <typename Number>
py::array_t<Number> flat(const std::vector<Number>& numbers) {
    return py::array_t<Number>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

// Shape and kind of all arrays are checked by Python.
const double* doubles(const py::array& array) { return static_cast<const double*>(array.data()); }

std::vector<double> vector_of(const py::array& array) {
    return {doubles(array), doubles(array) + array.size()};
}

std::unique_ptr<RecordedArchive> make(const py::array& signs, const py::array& ref,
                                      bool keeps_history) {
    return std::make_unique<RecordedArchive>(static_cast<int>(ref.size()), doubles(signs),
                                             doubles(ref), keeps_history);
}

// None: the point is not plain, and Python has to look at it first.
py::object add(RecordedArchive& archive, const py::handle point) {
    std::vector<double> row;
    const auto width = static_cast<py::ssize_t>(archive.width());
    if (!take_plain_vector(point.ptr(), width, false, row)) return py::none();
    const auto added = [&] {
        const Unlocked unlocked;
        return archive.add(row.data());
    }();
    return py::float_(added.gain);
}

py::tuple extend(RecordedArchive& archive, const py::array& rows) {
    const py::ssize_t count = rows.shape(0);
    py::array_t<double> gains(count);
    py::array_t<bool> joined(count);
    const double* given = doubles(rows);
    double* gain = gains.mutable_data();
    bool* has_joined = joined.mutable_data();
    {
        const Unlocked unlocked;
        for (py::ssize_t i = 0; i < count; ++i) {
            cpu::check_interrupt();
            const cpu::Archive::Addition added =
                archive.add(given + static_cast<std::size_t>(i) * archive.width());
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
    return py::make_tuple(flat(state.members.rows), flat(state.members.arrivals), state.additions,
                          state.volume, history);
}

void load(RecordedArchive& archive, const py::array& members, const py::array& indices,
          std::int64_t additions, double volume, const py::array& history) {
    const auto* numbers = static_cast<const std::int64_t*>(indices.data());
    const RecordedArchive::State state{{vector_of(members), {numbers, numbers + indices.size()}},
                                       additions,
                                       volume,
                                       vector_of(history)};
    const Unlocked unlocked;
    archive.load(state);
}

}  // namespace

void bind_archive(py::module_& m) {
    py::class_<RecordedArchive>(m, "Archive")
        .def(py::init(&make), "signs"_a, "ref"_a, "keeps_history"_a)
        .def("add", &add, "point"_a)
        .def("extend", &extend, "rows"_a)
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
        .def("state", &state_of)
        .def("load", &load, "members"_a, "indices"_a, "additions"_a, "volume"_a, "history"_a);
}

}  // namespace paretopo::bindings
