// A call of an operation: it checks plain arguments, allocates the results, and picks device and
// dtype.
#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/arguments.hpp"
#include "bindings/inputs.hpp"
#include "bindings/outputs.hpp"
#include "formulas/sides.hpp"
#include "ops.hpp"

namespace paretopo::bindings {

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
    Call call(Function::kIsOnGpu);
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

}  // namespace paretopo::bindings
