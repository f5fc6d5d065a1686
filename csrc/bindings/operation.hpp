// Binds an operation of the core to Python from one description: its inputs besides the points, and
// its results. Python's checks and torch's operators also follow it.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <tuple>
#include <utility>

#include "bindings/inputs.hpp"
#include "bindings/operation_call.hpp"
#include "bindings/outputs.hpp"

namespace paretopo::bindings {

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
