// Box decompositions, and what candidates improve in them: on the CPU, with addresses as in
// operations.cpp, or with plain arguments as in plain_calls.cpp.
#include "cpu/boxes.hpp"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/plain_arguments.hpp"
#include "bindings/points.hpp"
#include "bindings/unlocked.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

constexpr std::int64_t kTooManyBoxes = -2;  // where the index of a refused value would be

// Lower and upper corners, (*leading, padded, objectives), and counts, (leading); or the index of a
// refused value, or kTooManyBoxes. Others may run meanwhile, unless it is short.
py::object find_boxes(const Points& points, References ref, cpu::Region region,
                      const Shape& leading, std::int64_t most_bytes, bool is_short) {
    std::vector<cpu::Boxes> boxes;
    std::int64_t padded = 0;
    std::int64_t refused = kNoneRefused;
    try {
        std::optional<Unlocked> unlocked;
        if (!is_short) unlocked.emplace();
        refused = with_batch(points, [&](auto batch) {
            return cpu::find_boxes(batch, ref, region, most_bytes, boxes);
        });
        if (refused == kNoneRefused)
            padded = cpu::padded_boxes(boxes, points.objectives, most_bytes);
    } catch (const cpu::TooManyBoxes&) {
        refused = kTooManyBoxes;
    }
    if (refused != kNoneRefused) return py::int_(refused);
    Shape shape = leading;
    shape.push_back(padded);
    shape.push_back(points.objectives);
    py::array_t<double> lower(shape);
    py::array_t<double> upper(shape);
    py::array_t<std::int64_t> counts(leading);
    auto* to_lower = lower.mutable_data();
    auto* to_upper = upper.mutable_data();
    auto* to_counts = counts.mutable_data();
    {
        std::optional<Unlocked> unlocked;
        if (!is_short) unlocked.emplace();
        cpu::write_boxes(boxes, ref, padded, points.objectives, to_lower, to_upper, to_counts);
    }
    return py::make_tuple(lower, upper, counts);
}

// One function for each region.
template <cpu::Region kRegion>
py::object checked_boxes(const Points& points, std::uintptr_t ref, bool per_group,
                         std::int64_t most_bytes) {
    return find_boxes(points, {at<const double>(ref), per_group}, kRegion,
                      {static_cast<py::ssize_t>(points.groups)}, most_bytes, false);
}

template <cpu::Region kRegion>
py::object plain_boxes(py::handle values, py::handle ref, py::handle maximise, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    const py::object found = find_boxes(plain.points, {corner.data(), false}, kRegion,
                                        plain.leading(), cpu::kMostBoxBytes, plain.is_short());
    if (py::isinstance<py::int_>(found)) return py::none();
    return found;
}

// Returns the index of a refused candidate and that of a refused corner, or kNoneRefused for each.
py::tuple improvement(const Points& candidates, std::uintptr_t lower, std::uintptr_t upper,
                      std::int64_t boxes, std::uintptr_t of_group, std::uintptr_t weights,
                      std::uintptr_t improvements, bool is_gradient) {
    const cpu::BoxSets sets{at<const double>(lower), at<const double>(upper), boxes,
                            at<const std::int64_t>(of_group), at<const double>(weights)};
    auto* to = at<double>(improvements);
    cpu::RefusedImprovement refused;
    {
        const Unlocked unlocked;
        refused = with_batch(candidates, [&](auto batch) {
            return is_gradient ? cpu::hypervolume_improvement_gradient(batch, sets, to)
                               : cpu::hypervolume_improvement(batch, sets, to);
        });
    }
    return py::make_tuple(refused.candidate, refused.corner);
}

// None where a candidate or a corner is refused.
py::object improve(const Plain& plain, const cpu::BoxSets& sets) {
    constexpr std::int64_t kFew = 4096;  // boxes times candidates, before others are let in
    py::array_t<double> improvements(plain.leading());
    auto* out = improvements.mutable_data();
    cpu::RefusedImprovement refused;
    {
        std::optional<Unlocked> unlocked;
        const std::int64_t candidates = plain.points.groups * plain.points.points;
        if (!plain.is_short() || sets.count * candidates > kFew) unlocked.emplace();
        refused = with_batch(plain.points, [&](auto batch) {
            return cpu::hypervolume_improvement(batch, sets, out);
        });
    }
    if (refused.candidate != kNoneRefused || refused.corner != kNoneRefused) return py::none();
    return scalar_or_array(std::move(improvements));
}

// One set of boxes for all groups of candidates.
py::object plain_improvement(py::handle values, py::handle lower, py::handle upper,
                             py::handle maximise, py::handle mask, py::handle weights) {
    Plain plain;
    Shape shape;
    Shape upper_shape;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    const double* from = take_plain_doubles(lower.ptr(), shape);
    const double* to = take_plain_doubles(upper.ptr(), upper_shape);
    if (!from || !to || shape != upper_shape || shape.size() != 2) return py::none();
    if (shape[1] != plain.points.objectives) return py::none();
    std::vector<double> factors;
    const bool is_weighted = !weights.is_none();
    if (is_weighted && !take_plain_vector(weights.ptr(), shape[0], false, factors)) {
        return py::none();
    }
    const double* each = is_weighted ? factors.data() : nullptr;
    return improve(plain, {from, to, shape[0], nullptr, each});
}

// The ends of boxes, but where they are behind the corner that corner.
std::vector<double> not_worse(const StridedDoubles& ends, const std::vector<double>& corner,
                              std::uint64_t minimised) {
    std::vector<double> found = ends.copy();
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t m = i % corner.size();
        const bool is_behind =
            (minimised >> m & 1) != 0 ? found[i] > corner[m] : found[i] < corner[m];
        if (is_behind) found[i] = corner[m];
    }
    return found;
}

// One set of boxes for all groups of points.
py::object plain_weighted(py::handle values, py::handle lower, py::handle upper, py::handle weights,
                          py::handle ref, py::handle maximise, py::handle mask) {
    Plain plain;
    std::vector<double> corner;
    StridedDoubles low;
    StridedDoubles high;
    StridedDoubles factors;
    if (!plain.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!plain.take_vector(ref.ptr(), true, corner)) return py::none();
    if (!low.take(lower.ptr()) || !high.take(upper.ptr()) || !factors.take(weights.ptr())) {
        return py::none();
    }
    if (low.shape.size() != 2 || low.shape != high.shape) return py::none();
    if (low.shape[1] != plain.points.objectives || factors.shape != Shape{low.shape[0]}) {
        return py::none();
    }
    const std::vector<double> each = factors.copy();
    for (const double factor : each) {
        if (!std::isfinite(factor)) return py::none();
    }
    const std::vector<double> from = not_worse(low, corner, plain.points.minimised);
    const std::vector<double> to = not_worse(high, corner, plain.points.minimised);
    return improve(plain, {from.data(), to.data(), low.shape[0], nullptr, each.data()});
}

}  // namespace

void bind_boxes(py::module_& m) {
    using cpu::Region;
    m.attr("MOST_BOX_BYTES") = cpu::kMostBoxBytes;
    m.attr("TOO_MANY_BOXES") = kTooManyBoxes;
    m.def("nondominated_boxes", &checked_boxes<Region::kNondominated>, "points"_a, "ref"_a,
          "per_group"_a, "most_bytes"_a);
    m.def("dominated_boxes", &checked_boxes<Region::kDominated>, "points"_a, "ref"_a, "per_group"_a,
          "most_bytes"_a);
    m.def("hypervolume_improvement", &improvement, "candidates"_a, "lower"_a, "upper"_a, "boxes"_a,
          "of_group"_a, "weights"_a, "improvements"_a, "is_gradient"_a);
    m.def("plain_nondominated_boxes", &plain_boxes<Region::kNondominated>, "points"_a, "ref"_a,
          "maximise"_a, "mask"_a);
    m.def("plain_dominated_boxes", &plain_boxes<Region::kDominated>, "points"_a, "ref"_a,
          "maximise"_a, "mask"_a);
    m.def("plain_weighted_hypervolume", &plain_weighted, "points"_a, "lower"_a, "upper"_a,
          "weights"_a, "ref"_a, "maximise"_a, "mask"_a);
    m.def("plain_hypervolume_improvement", &plain_improvement, "candidates"_a, "lower"_a, "upper"_a,
          "maximise"_a, "mask"_a, "weights"_a);
}

}  // namespace paretopo::bindings
