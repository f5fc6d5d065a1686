// The arguments of an operation besides the points. `Taken` lives as long as the call; `pass`
// returns the core's view.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bindings/arguments.hpp"
#include "formulas/sides.hpp"

namespace paretopo::bindings {

// One finite number for each objective; null for None, if that is allowed.
struct Corner {
    static constexpr const char* kKind = "corner";
    using Taken = std::vector<double>;
    static References from(const Taken& taken) { return {taken.data(), false}; }
    bool take(PyObject* given, Call& call, Taken& taken) const {
        if (is_optional && given == Py_None) return true;
        return take_plain_vector(given, call.objectives, true, taken);
    }
    static auto pass(const Taken& taken) {
        return std::tuple{taken.empty() ? nullptr : taken.data()};
    }
    const char* name;
    bool is_optional = false;
    bool hints = false;  // true: warn if no point is better than this, as maximise seems wrong
};

// The same, or such numbers for each group; neither for None, if the operation needs none.
struct Corners {
    struct Taken {
        std::vector<double> numbers;
        std::uintptr_t of_groups = 0;
    };
    bool take(PyObject* given, Call& call, Taken& taken) const {
        if (is_optional && given == Py_None) return true;
        if (take_plain_vector(given, call.objectives, true, taken.numbers)) return true;
        if (!call.is_checked() || !pybind11::isinstance<Address>(given)) return false;
        taken.of_groups = pybind11::handle(given).cast<Address&>().at;
        return true;
    }
    static auto pass(const Taken& taken) {
        const bool per_group = taken.numbers.empty();
        return std::tuple{per_group ? at<const double>(taken.of_groups) : taken.numbers.data(),
                          per_group};
    }
    static References from(const Taken& taken) {
        const auto [at, per_group] = pass(taken);
        return {at, per_group};
    }
    const char* name;
    bool is_optional = false;
    bool hints = false;
    const char* kind = is_optional ? "corners?" : "corners";
};

// The weights of an advantage, and the value at which rewards saturate: one row per group, or one
// for all. Python scales weights that need it, and passes the row.
struct Weights {
    static constexpr const char* kKind = "weights";
    using Taken = Corners::Taken;
    bool take(PyObject* given, Call& call, Taken& taken) const {
        if (call.is_checked()) {
            if (take_plain_vector(given, call.objectives + 1, false, taken.numbers)) return true;
            return Corners{name}.take(given, call, taken);
        }
        if (!take_plain_vector(given, call.objectives, false, taken.numbers)) return false;
        double heaviest = 0.0;
        for (const double weight : taken.numbers) heaviest = std::max(heaviest, std::abs(weight));
        if (heaviest != 0.0 && !(heaviest >= 0x1p-32 && heaviest <= 0x1p32)) return false;
        const double largest = call.is_narrow() ? std::numeric_limits<float>::max()
                                                : std::numeric_limits<double>::max();
        taken.numbers.push_back(largest / (4.0 * call.objectives * std::max(1.0, heaviest)));
        return true;
    }
    static auto pass(const Taken& taken) { return Corners::pass(taken); }
    const char* name;
};

// One number for each point, or null: a byte, or the front of the point.
template <typename Number>
struct PerPoint {
    static constexpr bool kIsByte = sizeof(Number) == 1;
    static constexpr const char* kKind = kIsByte ? "bools" : "ranks";
    using Taken = std::uintptr_t;
    bool take(PyObject* given, Call& call, Taken& taken) const {
        return call.take_per_point(given, kIsByte, taken);
    }
    static auto pass(Taken taken) { return std::tuple{at<const Number>(taken)}; }
    const char* name;
};
using Bools = PerPoint<std::uint8_t>;
using Ranks = PerPoint<std::int32_t>;

// A number or an option that the public function has checked; for codes the core has the names.
template <typename Number>
struct Given {
    static constexpr const char* kKind = std::is_same_v<Number, bool>     ? "bool"
                                         : std::is_same_v<Number, double> ? "float"
                                                                          : "int";
    using Taken = Number;
    bool take(PyObject* given, Call&, Taken& taken) const {
        if constexpr (std::is_enum_v<Number>) {
            taken = static_cast<Number>(pybind11::handle(given).cast<int>());
        } else {
            taken = pybind11::handle(given).cast<Number>();
        }
        return true;
    }
    static auto pass(Taken taken) { return std::tuple{taken}; }
    const char* name;
};

// True if the optional results are requested, too.
struct IsWanted {
    static constexpr const char* kKind = "wanted";
    using Taken = bool;
    bool take(PyObject* given, Call& call, Taken&) const {
        call.wants_all = given == Py_True;
        return true;
    }
    static auto pass(Taken) { return std::tuple{}; }
    const char* name;
};

// An integer, at least `lowest`.
struct Whole {
    static constexpr const char* kKind = "int";
    using Taken = std::int64_t;
    bool take(PyObject* given, Call&, Taken& taken) const {
        return take_plain_integer(given, lowest, taken);
    }
    static auto pass(Taken taken) { return std::tuple{taken}; }
    const char* name;
    std::int64_t lowest;
};

// The number of points of each set, 1 or more: to keep, or to draw.
struct Count {
    static constexpr const char* kKind = "count";
    using Taken = std::int32_t;
    bool take(PyObject* given, Call& call, Taken& taken) const {
        std::int64_t number = 0;
        if (!take_plain_integer(given, 1, number)) return false;
        if (!call.is_checked() && (number > call.points || !is_quick(call))) return false;
        taken = call.count = static_cast<std::int32_t>(number);
        return true;
    }
    static auto pass(Taken taken) { return std::tuple{taken}; }
    // Near the limit of a grid's cells Python counts exactly.
    bool is_quick(const Call& call) const {
        constexpr double kMaxCells = 0.9e9;
        double cells = 1.0;
        for (std::int32_t m = 0; spans_a_grid && m < call.objectives; ++m) {
            cells *= (call.points + m) / (m + 1.0);
        }
        return cells <= kMaxCells;
    }
    const char* name;
    bool spans_a_grid = false;
};

// An array of numbers, for all sets of points or, once checked, for some of them: "sets" of rows,
// "numbers" of one dimension less, or "vectors" for all. None if it may be missing.
template <typename Array>
struct Rows {
    using Taken = Array;
    bool take(PyObject* given, Call& call, Taken& taken) const {
        if (given == Py_None) return is_optional;
        if (needs_checks && !call.is_checked()) return false;
        if (!taken.take(given)) return false;
        if (!call.is_checked() && taken.shape.size() != dimensions) return false;
        if (taken.shape.size() >= dimensions) {
            call.others = taken.shape[taken.shape.size() - dimensions];
        }
        return true;
    }
    static auto pass(const Taken& taken) { return std::tuple{std::cref(taken)}; }
    const char* name;
    const char* kind;
    std::size_t dimensions = 2;
    bool is_optional = false;
    bool needs_checks = false;
};

// Another set of points, with the senses of the first.
struct Others {
    static constexpr const char* kKind = "sets";
    using Taken = Call;
    bool take(PyObject* given, Call& call, Taken& taken) const {
        if (!taken.take(given, Py_True, Py_None)) return false;
        if (!taken.is_checked()) taken.minimised = call.minimised;
        call.others = taken.points;
        if (call.is_checked()) return true;
        if (taken.objectives != call.objectives || taken.points == 0) return false;
        return taken.shape.size() == 2 || taken.leading() == call.leading();
    }
    static auto pass(const Taken& taken) { return std::tuple{std::cref(taken)}; }
    const char* name;
};

// The index of each group's set in another argument; null: all use a single set, or each its own.
struct Places {
    static constexpr const char* kKind = "internal";
    using Taken = const std::int64_t*;
    bool take(PyObject* given, Call&, Taken& taken) const { return take_places(given, taken); }
    static auto pass(Taken taken) { return std::tuple{taken}; }
    const char* name;
};

// An argument that only Python reads; it is not passed to the core.
struct Absent {
    using Taken = int;
    bool take(PyObject* given, Call& call, Taken&) const {
        return given == Py_None || call.is_checked();
    }
    static auto pass(Taken) { return std::tuple{}; }
    const char* name;
    const char* kind;
};

template <typename... Inputs>
auto takes(Inputs... inputs) {
    return std::tuple{inputs...};
}

}  // namespace paretopo::bindings
