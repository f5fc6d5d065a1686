// Every operation of ops.hpp as a function of Python: the points, then the arguments of the
// operation, with addresses for pointers and integers for codes.
#include <pybind11/pybind11.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "bindings/bind.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

// What Python passes for an argument of type T: the same for batches of floats and of doubles.
template <typename T>
using Passed = std::conditional_t<std::is_pointer_v<T>, std::uintptr_t,
                                  std::conditional_t<std::is_enum_v<T>, int, T>>;

template <typename T>
T received(Passed<T> value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<T>(value);
    } else {
        return static_cast<T>(value);
    }
}

template <typename Result, typename Scalar, typename... Arguments>
Result run(Result (*on_cpu)(Batch<Scalar>, Arguments...), Batch<Scalar> batch,
           Passed<Arguments>... passed) {
    return on_cpu(batch, received<Arguments>(passed)...);
}

template <typename Place, typename Scalar, typename... Arguments>
void run(void (*on_gpu)(Place, Batch<Scalar>, Arguments...), Place place, Batch<Scalar> batch,
         Passed<Arguments>... passed) {
    on_gpu(place, batch, received<Arguments>(passed)...);
}

// The operations that measure volumes return the flat index of the first value they refuse, or
// kNoneRefused, as always on a GPU.
template <typename Operation, typename Result, typename... Arguments>
void bind(py::module_& m, const char* name, Result (*)(Batch<float>, Arguments...)) {
    const auto dispatch = [](const Points& points, Passed<Arguments>... passed) -> Result {
        return with_batch(points, [&]<typename Scalar>(Batch<Scalar> batch) -> Result {
            if (points.device == kCpu) {
                return run(Operation::template on_cpu<Scalar>, batch, passed...);
            }
            on_gpu(points, [&]<typename Place>(Place place) {
                run(Operation::template on_gpu<Place, Scalar>, place, batch, passed...);
            });
            if constexpr (!std::is_void_v<Result>) return kNoneRefused;
        });
    };
    m.def(name, dispatch, py::call_guard<Unlocked>());
}

#define PARETOPO_DEFINE(operation)                                     \
    struct operation##_operation {                                     \
        template <typename Scalar>                                     \
        static constexpr auto on_cpu = &cpu::operation<Scalar>;        \
        template <typename Place, typename Scalar>                     \
        static constexpr auto on_gpu = &gpu::operation<Place, Scalar>; \
    };
PARETOPO_OPERATIONS(PARETOPO_DEFINE)
#undef PARETOPO_DEFINE

// Bytes that the operation of that name needs on a GPU beside its output.
std::int64_t scratch_bytes(const Points& points, const std::string& name) {
    return with_batch(points, [&](auto batch) {
        return on_gpu(points, [&](auto place) -> std::int64_t {
#define PARETOPO_ASK(operation) \
    if (name == #operation) return gpu::operation##_scratch(place, batch);
            PARETOPO_OPERATIONS(PARETOPO_ASK)
#undef PARETOPO_ASK
            throw std::invalid_argument("no operation has the name " + name);
        });
    });
}

}  // namespace

void bind_operations(py::module_& m) {
#define PARETOPO_BIND(operation) \
    bind<operation##_operation>(m, #operation, operation##_operation::on_cpu<float>);
    PARETOPO_OPERATIONS(PARETOPO_BIND)
#undef PARETOPO_BIND
#define PARETOPO_NAME(operation) #operation,
    constexpr const char* kNames[] = {PARETOPO_OPERATIONS(PARETOPO_NAME)};
#undef PARETOPO_NAME
    m.attr("OPERATIONS") = names(kNames);
    m.def("scratch_bytes", &scratch_bytes, "points"_a, "operation"_a);
    m.attr("CENTRES") = names(kCentreNames);
}

}  // namespace paretopo::bindings
