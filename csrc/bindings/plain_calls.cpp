// Calls with plain arguments, answered without a detour through Python's checks.
#include "bindings/plain_calls.hpp"

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

using Shape = std::vector<py::ssize_t>;
using NumPy = py::detail::npy_api;

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // integers below are float64's

// An exact NumPy array that lies in memory as C would have it, of one of the native types.
bool is_plain_array(PyObject* given, int type_number) {
    if (Py_TYPE(given) != NumPy::get().PyArray_Type_) return false;
    constexpr int kOrder = NumPy::NPY_ARRAY_C_CONTIGUOUS_ | NumPy::NPY_ARRAY_ALIGNED_;
    const auto* array = py::detail::array_proxy(given);
    const auto* type = py::detail::array_descriptor_proxy(array->descr);
    return array->data && (array->flags & kOrder) == kOrder && type->type_num == type_number &&
           (type->byteorder == '=' || type->byteorder == '|');
}

// How DLPack lays a tensor out (its unversioned DLTensor): torch fills one in a third of the time
// that a NumPy view takes.
struct DlTensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device;
    std::int32_t dimensions;
    std::uint8_t type_code;
    std::uint8_t type_bits;
    std::uint16_t type_lanes;
    const std::int64_t* shape;
    const std::int64_t* strides;  // in elements; null: as C would have it
    std::uint64_t byte_offset;
};

// A tensor of floats or doubles that lies in host memory as C would have it; null for all else.
const DlTensor* plain_tensor(PyObject* given) {
    constexpr const char* kName = "dltensor";
    constexpr std::int32_t kHost = 1;
    constexpr std::uint8_t kFloat = 2;
    if (!PyCapsule_IsValid(given, kName)) return nullptr;
    const auto* tensor = static_cast<const DlTensor*>(PyCapsule_GetPointer(given, kName));
    if (!tensor->data || tensor->device_type != kHost || tensor->type_code != kFloat ||
        tensor->type_lanes != 1 || (tensor->type_bits != 32 && tensor->type_bits != 64)) {
        return nullptr;
    }
    std::int64_t step = 1;
    for (std::int32_t d = tensor->dimensions; tensor->strides && d-- > 0;) {
        if (tensor->shape[d] != 1 && tensor->strides[d] != step) return nullptr;
        step *= tensor->shape[d];
    }
    return tensor;
}

// A Python float or int; what else is a number goes through NumPy.
bool take_number(PyObject* given, double& number) {
    if (PyFloat_CheckExact(given)) {
        number = PyFloat_AS_DOUBLE(given);
        return true;
    }
    if (!PyLong_CheckExact(given)) return false;
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(given, &overflow);
    number = static_cast<double>(whole);
    return overflow == 0 && whole > -kExact && whole < kExact;
}

bool is_sequence(PyObject* given) {
#ifdef Py_GIL_DISABLED
    return PyTuple_CheckExact(given);  // another thread may change a list meanwhile
#else
    return PyTuple_CheckExact(given) || PyList_CheckExact(given);
#endif
}

// Nested lists and tuples of numbers, as deep and wide as their first elements say.
bool take_numbers(PyObject* given, const Shape& shape, std::size_t depth,
                  std::vector<double>& numbers) {
    if (!is_sequence(given) || PySequence_Fast_GET_SIZE(given) != shape[depth]) return false;
    PyObject** items = PySequence_Fast_ITEMS(given);
    for (py::ssize_t i = 0; i < shape[depth]; ++i) {
        if (depth + 1 < shape.size()) {
            if (!take_numbers(items[i], shape, depth + 1, numbers)) return false;
            continue;
        }
        double number = 0.0;
        if (!take_number(items[i], number)) return false;
        numbers.push_back(number);
    }
    return true;
}

class Plain {
  public:
    // False: something is not plain.
    bool take(PyObject* values, PyObject* maximise, PyObject* mask) {
        return take_points(values) && take_senses(maximise) && take_bools(mask, points.mask);
    }

    // One byte per point; 0 for None.
    bool take_bools(PyObject* given, std::uintptr_t& address) const {
        return take_per_point(given, NumPy::NPY_BOOL_, address);
    }

    // One integer per point, as pareto_rank gives them; 0 for None.
    bool take_ranks(PyObject* given, std::uintptr_t& address) const {
        return take_per_point(given, NumPy::NPY_INT_, address);
    }

    bool take_vector(PyObject* given, bool is_scalar_allowed, std::vector<double>& vector) const {
        return take_plain_vector(given, points.objectives, is_scalar_allowed, vector);
    }

    // Runs op with a Batch<float> or a Batch<double>; others may run meanwhile if it takes long
    // enough to be worth it.
    template <typename Op>
    auto run(Op op) const {
        constexpr std::int64_t kFew = 128;
        const bool is_short = points.groups * points.points * points.objectives <= kFew;
        std::optional<Unlocked> unlocked;
        if (!is_short || points.objectives > 4) unlocked.emplace();
        return with_batch(points, op);
    }

    bool is_narrow() const { return points.itemsize == 4; }

    Shape leading() const { return {shape_.begin(), shape_.end() - 2}; }
    Shape per_point() const { return {shape_.begin(), shape_.end() - 1}; }
    const Shape& per_value() const { return shape_; }

    Points points{};

  private:
    bool take_per_point(PyObject* given, int type_number, std::uintptr_t& address) const {
        address = 0;
        if (given == Py_None) return true;
        if (!is_plain_array(given, type_number)) return false;
        const auto* array = py::detail::array_proxy(given);
        const Shape expected = per_point();
        if (Shape(array->dimensions, array->dimensions + array->nd) != expected) return false;
        address = reinterpret_cast<std::uintptr_t>(array->data);
        return true;
    }

    bool take_points(PyObject* given) {
        constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
        const bool is_float = is_plain_array(given, NumPy::NPY_FLOAT_);
        if (is_float || is_plain_array(given, NumPy::NPY_DOUBLE_)) {
            const auto* array = py::detail::array_proxy(given);
            shape_.assign(array->dimensions, array->dimensions + array->nd);
            points.address = reinterpret_cast<std::uintptr_t>(array->data);
            points.itemsize = is_float ? 4 : 8;
        } else if (const DlTensor* tensor = plain_tensor(given)) {
            shape_.assign(tensor->shape, tensor->shape + tensor->dimensions);
            points.address = reinterpret_cast<std::uintptr_t>(tensor->data) + tensor->byte_offset;
            points.itemsize = tensor->type_bits / 8;
        } else {
            for (PyObject* at = given; is_sequence(at); at = PySequence_Fast_GET_ITEM(at, 0)) {
                shape_.push_back(PySequence_Fast_GET_SIZE(at));
                if (shape_.back() == 0 || shape_.size() > 8) return false;
            }
            if (shape_.empty() || !take_numbers(given, shape_, 0, numbers_)) return false;
            points.address = reinterpret_cast<std::uintptr_t>(numbers_.data());
            points.itemsize = 8;
        }
        if (shape_.size() < 2) return false;
        const py::ssize_t count = shape_[shape_.size() - 2];
        const py::ssize_t objectives = shape_.back();
        if (objectives < 1 || objectives > 64 || count > kMost) return false;
        points.points = static_cast<std::int32_t>(count);
        points.objectives = static_cast<std::int32_t>(objectives);
        points.groups = 1;
        for (const py::ssize_t size : leading()) points.groups *= size;
        points.device = kCpu;
        return true;
    }

    bool take_senses(PyObject* given) {
        points.minimised = 0;
        if (given == Py_True) return true;
        if (given == Py_False) {
            points.minimised = ~std::uint64_t{0} >> (64 - points.objectives);
            return true;
        }
        if (!is_sequence(given) || PySequence_Fast_GET_SIZE(given) != points.objectives) {
            return false;
        }
        for (std::int32_t m = 0; m < points.objectives; ++m) {
            PyObject* sense = PySequence_Fast_GET_ITEM(given, m);
            if (sense != Py_True && sense != Py_False) return false;
            if (sense == Py_False) points.minimised |= std::uint64_t{1} << m;
        }
        return true;
    }

    Shape shape_;
    std::vector<double> numbers_;
};

py::object float64(double number) {
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> type;
    type.call_once_and_store_result([] { return py::module_::import("numpy").attr("float64"); });
    return type.get_stored()(number);
}

py::object scalar_or_array(py::array_t<double> volumes) {
    if (volumes.ndim() == 0) return float64(*volumes.data());
    return volumes;
}

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
    if (!PyLong_CheckExact(k) || !take_number(k, number)) return 0;
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
        const double largest = static_cast<double>(std::numeric_limits<Scalar>::max()) /
                               (4.0 * plain.points.objectives * std::max(1.0, heaviest));
        plain.run([&]<typename Own>(Batch<Own> batch) {
            if constexpr (std::is_same_v<Own, Scalar>) {
                cpu::pareto_advantage(batch, vector.data(), largest, beta,
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

bool take_plain_vector(PyObject* given, py::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector) {
    double number = 0.0;
    vector.clear();
    if (is_scalar_allowed && take_number(given, number)) {
        vector.assign(static_cast<std::size_t>(size), number);
    } else if (is_plain_array(given, NumPy::NPY_DOUBLE_)) {
        const auto* array = py::detail::array_proxy(given);
        if (array->nd != 1 || array->dimensions[0] != size) return false;
        const auto* first = reinterpret_cast<const double*>(array->data);
        vector.assign(first, first + size);
    } else if (!is_sequence(given) || !take_numbers(given, {size}, 0, vector)) {
        return false;
    }
    for (const double each : vector) {
        if (!std::isfinite(each)) return false;
    }
    return true;
}

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
