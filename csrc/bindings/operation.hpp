// Binds an operation of the core to Python from one description: its inputs besides the points, and
// its results. The description yields the bound function, which allocates the result and picks
// device and dtype. Python's checks and torch's operators also follow it.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/arguments.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::bindings {

// ---- Arguments of an operation. `Taken` lives as long as the call; `pass` returns the core's
// view. ----

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

// Returns true if there are points and each is worse than its reference in every objective. The
// search ends at the first point that is not.
inline bool is_every_point_worse(const Call& call, const References& from) {
    if (call.is_on_gpu() || !from.at) return false;
    return call.with_batch([&](auto batch) {
        if (batch.points == 0) return false;  // the groups may be endless
        bool is_any = false;
        for (std::int64_t g = 0; g < batch.groups; ++g) {
            const double* ref = from.of(g, batch.objectives);
            const std::uint8_t* mask = batch.group_mask(g);
            const auto* row = batch.group(g);
            for (std::int32_t p = 0; p < batch.points; ++p, row += batch.objectives) {
                if (mask && !mask[p]) continue;
                for (std::int32_t m = 0; m < batch.objectives; ++m) {
                    const auto value = static_cast<double>(row[m]);
                    if (!(batch.is_minimised(m) ? value > ref[m] : value < ref[m])) return false;
                }
                is_any = true;
            }
        }
        return is_any;
    });
}

template <typename Input, typename Taken>
bool seems_turned(const Input& input, const Taken& taken, const Call& call) {
    if constexpr (requires { input.hints; }) {
        return input.hints && is_every_point_worse(call, Input::from(taken));
    } else {
        return false;
    }
}

// Python's function that warns. Its arguments are the number of objectives and the bits of the
// minimised ones.
inline PyObject* sense_hint = nullptr;

inline void hint_at_senses(const Call& call) {
    if (!sense_hint) return;
    const pybind11::handle hint{sense_hint};
    hint(call.objectives, call.minimised);
}

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

// ---- Results of an operation ----

enum class Extent { kPerSet, kPerPoint, kPerValue, kPerObjective, kKept };
inline constexpr const char* kExtentNames[] = {"set", "point", "value", "objective", "kept"};

struct Own {};  // the dtype of the points

template <typename Number>
inline constexpr const char* kDtypeName = std::is_same_v<Number, Own>            ? "own"
                                          : std::is_same_v<Number, bool>         ? "bool"
                                          : std::is_same_v<Number, std::uint8_t> ? "uint8"
                                          : std::is_same_v<Number, std::int32_t> ? "int32"
                                          : std::is_same_v<Number, std::int64_t> ? "int64"
                                          : std::is_same_v<Number, float>        ? "float32"
                                                                                 : "float64";

// Memory for one result, in the library and on the device of the points.
struct Memory {
    pybind11::object array;
    void* data = nullptr;
};

template <typename Number>
Memory allocate(const Call& call, const Shape& shape) {
    if (call.is_on_gpu()) {
        const auto both = pybind11::tuple(call.allocate(shape, kDtypeName<Number>));
        return {both[0], at<void>(both[1].cast<std::uintptr_t>())};
    }
    // Like pybind11's array_t, but without its copies of shape and strides.
    const auto& numpy = pybind11::detail::npy_api::get();
    auto array = pybind11::reinterpret_steal<pybind11::object>(numpy.PyArray_NewFromDescr_(
        numpy.PyArray_Type_, pybind11::dtype::of<Number>().release().ptr(),
        static_cast<int>(shape.size()), shape.data(), nullptr, nullptr, 0, nullptr));
    if (!array) throw pybind11::error_already_set();
    void* data = pybind11::detail::array_proxy(array.ptr())->data;
    return {std::move(array), data};
}

template <typename Number>
struct Output {
    Extent extent;
    bool is_optional = false;  // computed only if IsWanted is true

    Memory make(const Call& call) const {
        if (is_optional && !call.wants_all) return {};
        if constexpr (std::is_same_v<Number, Own>) {
            return call.is_narrow() ? allocate<float>(call, shape_of(call))
                                    : allocate<double>(call, shape_of(call));
        } else {
            return allocate<Number>(call, shape_of(call));
        }
    }

    // The pointer for the core.
    template <typename Scalar>
    static auto pass(const Memory& memory) {
        using Stored = std::conditional_t<
            std::is_same_v<Number, Own>, Scalar,
            std::conditional_t<std::is_same_v<Number, bool>, std::uint8_t, Number>>;
        return static_cast<Stored*>(memory.data);
    }

    pybind11::tuple describe() const {
        return pybind11::make_tuple(kExtentNames[static_cast<int>(extent)], kDtypeName<Number>);
    }

    Shape shape_of(const Call& call) const {
        if (extent == Extent::kPerValue) return call.shape;
        if (extent == Extent::kPerPoint) return {call.shape.begin(), call.shape.end() - 1};
        Shape shape = call.leading();
        if (extent == Extent::kPerObjective) shape.push_back(call.objectives);
        if (extent == Extent::kKept) shape.push_back(call.count);
        return shape;
    }
};

template <typename... Outputs>
auto gives(Outputs... outputs) {
    return std::tuple{outputs...};
}

// ---- The operation ----

// The reason for a missing result: a refused value, given by its argument (0: the points, 1: the
// array that they are compared with) and flat index, or too much memory.
struct Refusal {
    int argument = -1;  // none is refused
    std::int64_t index = -1;
    bool is_too_large = false;
    explicit operator bool() const { return argument >= 0 || is_too_large; }
};

inline Refusal refusal_of(std::int64_t index) { return {index == kNoneRefused ? -1 : 0, index}; }
inline Refusal refusal_of(Refusal refusal) { return refusal; }

// Arguments that are not plain, which Python must check; and too much memory.
inline constexpr Refusal kUnfit{0, 0};
inline constexpr Refusal kTooLarge{-1, -1, true};

struct OnCpu {};

// A function of (OnCpu, batch, ...) for the CPU only; the operations of PARETOPO_OPERATIONS also
// take other places.
template <typename Function>
struct CpuOnly {
    static constexpr bool kIsOnGpu = false;
    template <typename... Arguments>
    auto operator()(OnCpu, Arguments&&... arguments) const {
        return function(std::forward<Arguments>(arguments)...);
    }
    Function function;
};

// Runs a function on the device of the points, with its arguments and its output memory.
template <typename Function, typename... Inputs, typename... Taken, typename... Outputs,
          std::size_t... kOutputs>
Refusal run(const Function& function, const Call& call, const std::tuple<Inputs...>&,
            const std::tuple<Taken...>& taken, const std::tuple<Outputs...>&,
            const std::array<Memory, sizeof...(Outputs)>& memory,
            std::index_sequence<kOutputs...>) {
    const auto run_at = [&]<typename Place, typename Scalar>(Place place, Batch<Scalar> batch) {
        const auto arguments = std::apply(
            [&](const auto&... each) {
                return std::tuple_cat(
                    Inputs::pass(each)...,
                    std::tuple{Outputs::template pass<Scalar>(memory[kOutputs])...});
            },
            taken);
        return std::apply(
            [&](const auto&... each) -> Refusal {
                using Result = decltype(function(place, batch, each...));
                if constexpr (std::is_void_v<Result>) {
                    function(place, batch, each...);
                    return {};
                } else {
                    return refusal_of(function(place, batch, each...));
                }
            },
            arguments);
    };
    if (!call.is_on_gpu()) {
        std::optional<Unlocked> unlocked;
        if (!call.is_short()) unlocked.emplace();
        return call.with_batch([&](auto batch) { return run_at(OnCpu{}, batch); });
    }
    if constexpr (Function::kIsOnGpu) {
        return call.with_batch([&](auto batch) {
            const auto run_on = [&](auto place) {
                Memory scratch;
                const auto size = static_cast<pybind11::ssize_t>(Function::scratch(place, batch));
                if (size > 0) scratch = allocate<std::uint8_t>(call, {size});
                place.scratch = static_cast<char*>(scratch.data);
                const Unlocked unlocked;
                return run_at(place, batch);
            };
            if constexpr (kHasEmulation) {
                if (call.device <= kEmulated) {
                    return run_on(Emulated{static_cast<Mapping>(kEmulated - call.device), nullptr});
                }
            }
            return run_on(Cuda{call.device, at<void>(call.stream), nullptr});
        });
    }
    throw std::invalid_argument("this operation runs only on the CPU");
}

// Returns the result; None if Python must check the arguments first; a Refusal for a checked call.
template <typename Function, typename... Inputs, typename... Outputs, std::size_t... kInputs>
pybind11::object answer(const Function& function, const std::tuple<Inputs...>& inputs,
                        const std::tuple<Outputs...>& outputs, pybind11::handle values,
                        pybind11::handle maximise, pybind11::handle mask,
                        const std::array<PyObject*, sizeof...(Inputs)>& given,
                        std::index_sequence<kInputs...>) {
    Call call;
    std::tuple<typename Inputs::Taken...> taken{};
    if (!call.take(values.ptr(), maximise.ptr(), mask.ptr())) return pybind11::none();
    if (!(std::get<kInputs>(inputs).take(given[kInputs], call, std::get<kInputs>(taken)) && ...)) {
        return pybind11::none();
    }
    std::array<Memory, sizeof...(Outputs)> memory = std::apply(
        [&](const auto&... each) {
            return std::array<Memory, sizeof...(Outputs)>{each.make(call)...};
        },
        outputs);
    const Refusal refusal =
        run(function, call, inputs, taken, outputs, memory, std::index_sequence_for<Outputs...>());
    if (refusal) return call.is_checked() ? pybind11::cast(refusal) : pybind11::none();
    if ((seems_turned(std::get<kInputs>(inputs), std::get<kInputs>(taken), call) || ...)) {
        hint_at_senses(call);
    }
    std::size_t count = 0;
    for (Memory& each : memory) {
        if (!each.array) break;
        if (!call.is_on_gpu()) each.array = scalar_or_array(std::move(each.array));
        ++count;
    }
    if (count == 1) return std::move(memory[0].array);
    pybind11::tuple results(count);
    for (std::size_t i = 0; i < count; ++i) results[i] = std::move(memory[i].array);
    return results;
}

// An operation for Python; `call` takes points, maximise, mask and the other arguments.
struct Operation {
    const char* name;
    pybind11::tuple arguments;  // (name, kind) of each but the first three
    pybind11::tuple results;    // (extent, dtype) of each
    bool is_on_gpu;
    pybind11::object call;
};

template <typename Input>
const char* kind_of(const Input& input) {
    if constexpr (requires { input.kind; }) {
        return input.kind;
    } else {
        return Input::kKind;
    }
}

template <typename... Inputs>
pybind11::tuple describe(const std::tuple<Inputs...>& inputs) {
    return std::apply(
        [](const auto&... each) {
            return pybind11::make_tuple(pybind11::make_tuple(each.name, kind_of(each))...);
        },
        inputs);
}

template <typename Function, typename... Inputs, typename... Outputs>
void define(pybind11::module_& m, const char* name, Function function, std::tuple<Inputs...> inputs,
            std::tuple<Outputs...> outputs) {
    using pybind11::handle;
    const auto call_of = [&]<std::size_t... kInputs>(std::index_sequence<kInputs...> places) {
        return pybind11::cpp_function(
            [=](handle values, handle maximise, handle mask,
                std::tuple_element_t<
                    0,
                    std::tuple<handle, std::integral_constant<std::size_t, kInputs>>>... others) {
                return answer(function, inputs, outputs, values, maximise, mask,
                              std::array<PyObject*, sizeof...(Inputs)>{others.ptr()...}, places);
            },
            pybind11::name(name));
    };
    const pybind11::tuple results = std::apply(
        [](const auto&... each) { return pybind11::make_tuple(each.describe()...); }, outputs);
    m.attr(name) = Operation{name, describe(inputs), results, Function::kIsOnGpu,
                             call_of(std::index_sequence_for<Inputs...>())};
}

template <typename Function, typename... Inputs, typename... Outputs>
void define_on_cpu(pybind11::module_& m, const char* name, Function function,
                   std::tuple<Inputs...> inputs, std::tuple<Outputs...> outputs) {
    define(m, name, CpuOnly<Function>{function}, inputs, outputs);
}

}  // namespace paretopo::bindings
