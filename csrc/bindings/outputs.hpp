// The results of an operation, and their memory.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "bindings/arguments.hpp"

namespace paretopo::bindings {

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
        if (extent == Extent::kPerPoint) return call.per_point();
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

}  // namespace paretopo::bindings
