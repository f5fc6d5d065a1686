// Arguments that are taken as the user gave them, without a detour through Python's checks.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"

namespace paretopo::bindings {

using Shape = std::vector<pybind11::ssize_t>;

// Points of one call, with what belongs to each of them. Every `take` is false where something is
// not plain.
class Plain {
  public:
    bool take(PyObject* values, PyObject* maximise, PyObject* mask) {
        return take_points(values) && take_senses(maximise) && take_bools(mask, points.mask);
    }

    // One byte per point; 0 for None.
    bool take_bools(PyObject* given, std::uintptr_t& address) const;

    // One integer per point, as pareto_rank gives them; 0 for None.
    bool take_ranks(PyObject* given, std::uintptr_t& address) const;

    // One finite number for each objective, or, if allowed, one for all.
    bool take_vector(PyObject* given, bool is_scalar_allowed, std::vector<double>& vector) const;

    // Whether it takes too little time for others to be let in meanwhile.
    bool is_short() const {
        constexpr std::int64_t kFew = 128;
        return points.groups * points.points * points.objectives <= kFew && points.objectives <= 4;
    }

    // Runs op with a Batch<float> or a Batch<double>; others may run meanwhile if it takes long
    // enough to be worth it.
    template <typename Op>
    auto run(Op op) const {
        std::optional<Unlocked> unlocked;
        if (!is_short()) unlocked.emplace();
        return with_batch(points, op);
    }

    bool is_narrow() const { return points.itemsize == 4; }

    Shape leading() const { return {shape_.begin(), shape_.end() - 2}; }
    Shape per_point() const { return {shape_.begin(), shape_.end() - 1}; }
    const Shape& per_value() const { return shape_; }

    Points points{};

  private:
    bool take_per_point(PyObject* given, int type_number, std::uintptr_t& address) const;
    bool take_points(PyObject* given);
    bool take_senses(PyObject* given);

    Shape shape_;
    std::vector<double> numbers_;
};

// A Python float, or an int that float64 holds; what else is a number goes through NumPy.
bool take_plain_number(PyObject* given, double& number);

// An array of doubles and its shape; null for what is not plain.
const double* take_plain_doubles(PyObject* given, Shape& shape);

// An array of doubles of any strides, as a column of another one is.
struct StridedDoubles {
    bool take(PyObject* given);
    std::vector<double> copy() const;  // as C would have it

    Shape shape;

  private:
    const char* data_ = nullptr;
    Shape steps_;  // in bytes
};

// As Plain::take_vector, for `size` objectives.
bool take_plain_vector(PyObject* given, pybind11::ssize_t size, bool is_scalar_allowed,
                       std::vector<double>& vector);

// The result of a call: NumPy's scalar for one set.
pybind11::object scalar_or_array(pybind11::array_t<double> volumes);

}  // namespace paretopo::bindings
