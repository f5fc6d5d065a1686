// Reads the arguments of a Python call, without copies if possible and without raising errors.
//
// A call comes either with the user's arguments or after Python's checks, with `Points`. Every
// `take` returns false for arguments that the core does not accept, errors included. Python then
// checks them, and either raises an error or calls again with arguments that the core accepts.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "batch.hpp"
#include "bindings/unlocked.hpp"

namespace paretopo::bindings {

using Shape = std::vector<pybind11::ssize_t>;

inline constexpr int kCpu = -1;       // the `device` of host memory
inline constexpr int kEmulated = -2;  // and below: emulated GPUs on the CPU, one per Mapping
inline constexpr bool kHasEmulation = PARETOPO_EMULATED;

template <typename T>
T* at(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);
}

// The address of an array that Python has checked, in host or device memory.
struct Address {
    std::uintptr_t at;
    pybind11::object array;  // keeps the memory alive
};

// torch's function of a CUDA device: its index, the current stream and the allocator, for `Points`.
inline PyObject* place_of_tensors = nullptr;

// Contiguous floats in memory, with mask and senses; from Python, they are checked.
struct Points {
    std::uintptr_t address = 0;
    std::uintptr_t mask = 0;  // (..., points) of bytes; 0: no padding
    Shape shape;              // (..., points, objectives)
    std::uint64_t minimised = 0;
    int itemsize = 8;   // 4: float, 8: double
    int device = kCpu;  // kCpu, kEmulated - mapping, or the CUDA device index
    std::uintptr_t stream = 0;
    pybind11::object allocate;  // on a GPU: (shape, dtype) -> array and address
};

// The points of one call, to which the other arguments refer.
class Call : public Points {
  public:
    // Tensors on a GPU are plain arguments only of an operation that has a GPU form.
    explicit Call(bool is_for_gpus = false) : is_for_gpus_(is_for_gpus) {}

    bool take(PyObject* values, PyObject* maximise, PyObject* mask);

    // Reads one byte, or one integer like a rank, for each point; 0 for None.
    bool take_per_point(PyObject* given, bool is_byte, std::uintptr_t& address) const;

    bool is_checked() const { return is_checked_; }
    bool is_on_gpu() const { return device != kCpu; }
    bool is_narrow() const { return itemsize == 4; }

    // True if the call is too short to be worth releasing the GIL.
    bool is_short() const {
        constexpr std::int64_t kFew = 128;
        constexpr std::int64_t kFewPairs = 4096;
        const std::int64_t values = groups * points * objectives;
        return !is_on_gpu() && values <= kFew && objectives <= 4 &&
               groups * points * others <= kFewPairs;
    }

    // The only switch over dtypes: calls op with a Batch<float> or a Batch<double>.
    template <typename Op>
    auto with_batch(Op op) const {
        const auto batch_of = [&]<typename Scalar>(Scalar) {
            return Batch<Scalar>{at<const Scalar>(address),
                                 at<const std::uint8_t>(mask),
                                 groups,
                                 points,
                                 objectives,
                                 minimised};
        };
        return is_narrow() ? op(batch_of(float{})) : op(batch_of(double{}));
    }

    Shape leading() const { return {shape.begin(), shape.end() - 2}; }
    Shape per_point() const { return {shape.begin(), shape.end() - 1}; }

    std::int64_t groups = 1;
    std::int32_t points = 0;
    std::int32_t objectives = 0;
    std::int64_t others = 0;  // rows of another array that each point is compared with
    std::int32_t count = 0;   // points to keep of each set
    bool wants_all = false;   // true: compute the optional results, too

  private:
    bool take_points(PyObject* given);
    bool take_place(int index);
    bool take_checked(PyObject* given);
    bool take_shape();
    bool take_senses(PyObject* given);

    bool is_for_gpus_;
    int tensor_device_ = 0;  // torch's index, if the points are a tensor on a GPU
    bool is_checked_ = false;
    std::vector<double> numbers_;  // copied from lists
    pybind11::object copy_;        // contiguous copy of a strided array
};

// Reads a Python float, or an int that float64 holds; other numbers go through NumPy.
bool take_plain_number(PyObject* given, double& number);

// A whole number from `lowest` to 2**63 - 1.
bool take_plain_integer(PyObject* given, std::int64_t lowest, std::int64_t& number);

// Reads finite numbers, one for each of `size` objectives or, if allowed, one for all.
bool take_plain_vector(PyObject* given, pybind11::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector);

// A C-contiguous array of doubles; a strided one, such as a column, is copied.
struct Doubles {
    bool take(PyObject* given);

    const double* data = nullptr;  // null: no array
    Shape shape;
    pybind11::object copy;  // keeps the memory alive
};

// The same for 64-bit integers; None gives null.
bool take_places(PyObject* given, const std::int64_t*& places);

// Returns the result of a call; a NumPy scalar for one set.
pybind11::object scalar_or_array(pybind11::object volumes);

}  // namespace paretopo::bindings
