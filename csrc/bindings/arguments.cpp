#include "bindings/arguments.hpp"

#include <pybind11/gil_safe_call_once.h>
#include <pybind11/numpy.h>

#include <cmath>

namespace py = pybind11;

namespace paretopo::bindings {
namespace {

using NumPy = py::detail::npy_api;

constexpr std::int64_t kExact = std::int64_t{1} << 53;  // float64 holds all integers below

constexpr int kAligned = NumPy::NPY_ARRAY_ALIGNED_;
constexpr int kPlain = NumPy::NPY_ARRAY_C_CONTIGUOUS_ | kAligned;  // C-contiguous and aligned

// An exact NumPy array of one of the native types.
bool is_plain_array(PyObject* given, int type_number, int order = kPlain) {
    if (Py_TYPE(given) != NumPy::get().PyArray_Type_) return false;
    const auto* array = py::detail::array_proxy(given);
    const auto* type = py::detail::array_descriptor_proxy(array->descr);
    return array->data && (array->flags & order) == order && type->type_num == type_number &&
           (type->byteorder == '=' || type->byteorder == '|');
}

// Returns the array if it is C-contiguous, else a C-contiguous copy that `copy` keeps alive.
PyObject* contiguous(PyObject* array, py::object& copy) {
    if ((py::detail::array_proxy(array)->flags & kPlain) == kPlain) return array;
    constexpr int kAsInC = 0;
    copy = py::reinterpret_steal<py::object>(NumPy::get().PyArray_NewCopy_(array, kAsInC));
    if (!copy) throw py::error_already_set();
    return copy.ptr();
}

// The layout of a tensor in DLPack (its unversioned DLTensor): torch fills one in a third of the
// time that a NumPy view takes.
struct DlTensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device;
    std::int32_t dimensions;
    std::uint8_t type_code;
    std::uint8_t type_bits;
    std::uint16_t type_lanes;
    const std::int64_t* shape_;
    const std::int64_t* strides;  // in elements; null: C-contiguous
    std::uint64_t byte_offset;

    static constexpr std::int32_t kHost = 1;
    static constexpr std::int32_t kCuda = 2;
    static constexpr std::uint8_t kInteger = 0;
    static constexpr std::uint8_t kFloat = 2;
    static constexpr std::uint8_t kBool = 6;

    bool is_of(std::uint8_t code, int bits) const {
        return type_code == code && type_bits == bits && type_lanes == 1;
    }
    bool is_of_floats() const { return is_of(kFloat, 32) || is_of(kFloat, 64); }
    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(data) + byte_offset; }
    Shape shape() const { return {shape_, shape_ + dimensions}; }
};

// A C-contiguous tensor in the memory of the host or of a CUDA device; null for everything else.
const DlTensor* plain_tensor(PyObject* given) {
    constexpr const char* kName = "dltensor";
    if (!PyCapsule_IsValid(given, kName)) return nullptr;
    const auto* tensor = static_cast<const DlTensor*>(PyCapsule_GetPointer(given, kName));
    if (!tensor->data ||
        (tensor->device_type != DlTensor::kHost && tensor->device_type != DlTensor::kCuda)) {
        return nullptr;
    }
    std::int64_t step = 1;
    for (std::int32_t d = tensor->dimensions; tensor->strides && d-- > 0;) {
        if (tensor->shape_[d] != 1 && tensor->strides[d] != step) return nullptr;
        step *= tensor->shape_[d];
    }
    return tensor;
}

bool is_sequence(PyObject* given) {
#ifdef Py_GIL_DISABLED
    // Not for lists, which another thread may change during the loop.
    return PyTuple_CheckExact(given);
#else
    return PyTuple_CheckExact(given) || PyList_CheckExact(given);
#endif
}

// Reads nested lists and tuples of numbers, with the depth and width of their first elements.
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
        if (!take_plain_number(items[i], number)) return false;
        numbers.push_back(number);
    }
    return true;
}

}  // namespace

bool Call::take(PyObject* values, PyObject* maximise, PyObject* given_mask) {
    if (!take_points(values)) return false;
    if (is_checked_) return true;
    return take_senses(maximise) && take_per_point(given_mask, true, mask);
}

bool Call::take_per_point(PyObject* given, bool is_byte, std::uintptr_t& address) const {
    address = 0;
    if (given == Py_None) return true;
    if (!is_on_gpu() && is_plain_array(given, is_byte ? NumPy::NPY_BOOL_ : NumPy::NPY_INT_)) {
        const auto* array = py::detail::array_proxy(given);
        address = reinterpret_cast<std::uintptr_t>(array->data);
        return Shape(array->dimensions, array->dimensions + array->nd) == per_point();
    }
    if (const DlTensor* tensor = plain_tensor(given)) {
        const bool is_wanted =
            is_byte ? tensor->is_of(DlTensor::kBool, 8) : tensor->is_of(DlTensor::kInteger, 32);
        const bool is_here =
            is_on_gpu() ? tensor->device_type == DlTensor::kCuda && tensor->device == tensor_device_
                        : tensor->device_type == DlTensor::kHost;
        address = tensor->address();
        return is_wanted && is_here && tensor->shape() == per_point();
    }
    if (!is_checked_ || !py::isinstance<Address>(given)) return false;
    address = py::handle(given).cast<Address&>().at;
    return true;
}

bool Call::take_points(PyObject* given) {
    const bool is_float = is_plain_array(given, NumPy::NPY_FLOAT_, kAligned);
    if (is_float || is_plain_array(given, NumPy::NPY_DOUBLE_, kAligned)) {
        given = contiguous(given, copy_);
        const auto* array = py::detail::array_proxy(given);
        shape.assign(array->dimensions, array->dimensions + array->nd);
        address = reinterpret_cast<std::uintptr_t>(array->data);
        itemsize = is_float ? 4 : 8;
    } else if (const DlTensor* tensor = plain_tensor(given)) {
        if (!tensor->is_of_floats()) return false;
        if (tensor->device_type == DlTensor::kCuda && !take_place(tensor->device)) return false;
        shape = tensor->shape();
        address = tensor->address();
        itemsize = tensor->type_bits / 8;
    } else if (is_sequence(given)) {
        for (PyObject* at = given; is_sequence(at); at = PySequence_Fast_GET_ITEM(at, 0)) {
            shape.push_back(PySequence_Fast_GET_SIZE(at));
            if (shape.back() == 0 || shape.size() > 8) return false;
        }
        if (!take_numbers(given, shape, 0, numbers_)) return false;
        address = reinterpret_cast<std::uintptr_t>(numbers_.data());
    } else {
        return py::isinstance<Points>(given) && take_checked(given);
    }
    return take_shape() && objectives <= 64;
}

bool Call::take_place(int index) {
    if (!is_for_gpus_ || !place_of_tensors) return false;
    const auto place = py::handle(place_of_tensors)(index).cast<py::tuple>();
    device = place[0].cast<int>();
    stream = place[1].cast<std::uintptr_t>();
    allocate = place[2];
    tensor_device_ = index;
    return true;
}

bool Call::take_checked(PyObject* given) {
    static_cast<Points&>(*this) = py::handle(given).cast<Points&>();
    is_checked_ = true;
    return take_shape();
}

bool Call::take_shape() {
    constexpr std::int64_t kMax = (std::int64_t{1} << 31) - 1;
    if (shape.size() < 2) return false;
    const py::ssize_t size = shape[shape.size() - 2];
    if (size > kMax || shape.back() < 1 || shape.back() > kMax) return false;
    points = static_cast<std::int32_t>(size);
    objectives = static_cast<std::int32_t>(shape.back());
    for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis) groups *= shape[axis];
    return true;
}

bool Call::take_senses(PyObject* given) {
    if (given == Py_True) return true;
    if (given == Py_False) {
        minimised = ~std::uint64_t{0} >> (64 - objectives);
        return true;
    }
    if (!is_sequence(given) || PySequence_Fast_GET_SIZE(given) != objectives) return false;
    for (std::int32_t m = 0; m < objectives; ++m) {
        PyObject* sense = PySequence_Fast_GET_ITEM(given, m);
        if (sense != Py_True && sense != Py_False) return false;
        if (sense == Py_False) minimised |= std::uint64_t{1} << m;
    }
    return true;
}

bool take_plain_number(PyObject* given, double& number) {
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

bool take_plain_integer(PyObject* given, std::int64_t lowest, std::int64_t& number) {
    if (!PyLong_CheckExact(given)) return false;
    int overflow = 0;
    number = PyLong_AsLongLongAndOverflow(given, &overflow);
    return overflow == 0 && number >= lowest;
}

bool take_plain_vector(PyObject* given, py::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector) {
    double number = 0.0;
    vector.clear();
    if (is_scalar_allowed && take_plain_number(given, number)) {
        vector.assign(static_cast<std::size_t>(size), number);
    } else if (is_plain_array(given, NumPy::NPY_DOUBLE_)) {
        const auto* array = py::detail::array_proxy(given);
        if (array->nd != 1 || array->dimensions[0] != size) return false;
        const auto* first = reinterpret_cast<const double*>(array->data);
        vector.assign(first, first + size);
    } else if (const DlTensor* tensor = plain_tensor(given)) {
        if (tensor->device_type != DlTensor::kHost || tensor->shape() != Shape{size}) return false;
        if (!tensor->is_of_floats()) return false;
        const auto copy = [&](const auto* first) { vector.assign(first, first + size); };
        if (tensor->type_bits == 32) {
            copy(at<const float>(tensor->address()));
        } else {
            copy(at<const double>(tensor->address()));
        }
    } else if (!is_sequence(given) || !take_numbers(given, {size}, 0, vector)) {
        return false;
    }
    for (const double each : vector) {
        if (!std::isfinite(each)) return false;
    }
    return true;
}

bool Doubles::take(PyObject* given) {
    if (!is_plain_array(given, NumPy::NPY_DOUBLE_, kAligned)) return false;
    const auto* array = py::detail::array_proxy(contiguous(given, copy));
    shape.assign(array->dimensions, array->dimensions + array->nd);
    data = reinterpret_cast<const double*>(array->data);
    return true;
}

bool take_places(PyObject* given, const std::int64_t*& places) {
    places = nullptr;
    if (given == Py_None) return true;
    if (!is_plain_array(given, NumPy::NPY_INT64_)) return false;
    places = reinterpret_cast<const std::int64_t*>(py::detail::array_proxy(given)->data);
    return true;
}

py::object scalar_or_array(py::object volumes) {
    const auto* array = py::detail::array_proxy(volumes.ptr());
    if (array->nd != 0) return volumes;
    PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> float64;
    float64.call_once_and_store_result([] { return py::module_::import("numpy").attr("float64"); });
    return float64.get_stored()(*reinterpret_cast<const double*>(array->data));
}

}  // namespace paretopo::bindings
