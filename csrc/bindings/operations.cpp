// Descriptions of all operations: their inputs besides points, senses and mask, in the order of
// their parameters, and their results.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/bind.hpp"
#include "bindings/operation.hpp"
#include "cpu/boxes/boxes.hpp"
#include "cpu/quality/indicators.hpp"
#include "cpu/quality/normalise.hpp"
#include "cpu/ranking/epsilon_boxes.hpp"
#include "cpu/ranking/fronts.hpp"
#include "cpu/runtime/memory_limit.hpp"
#include "cpu/subsets/subsets.hpp"
#include "ops.hpp"

namespace py = pybind11;
using namespace py::literals;

namespace paretopo::bindings {
namespace {

// The operations of ops.hpp as functions of a place, a batch and the other arguments.
#define PARETOPO_DEFINE(operation)                                                        \
    struct operation##_operation {                                                        \
        static constexpr bool kIsOnGpu = true;                                            \
        template <typename Scalar, typename... Arguments>                                 \
        auto operator()(OnCpu, Batch<Scalar> batch, Arguments... arguments) const {       \
            return cpu::operation(batch, arguments...);                                   \
        }                                                                                 \
        template <typename Place, typename Scalar, typename... Arguments>                 \
        void operator()(Place place, Batch<Scalar> batch, Arguments... arguments) const { \
            gpu::operation(place, batch, arguments...);                                   \
        }                                                                                 \
        template <typename Place, typename Scalar>                                        \
        static std::int64_t scratch(Place place, Batch<Scalar> batch) {                   \
            return gpu::operation##_scratch(place, batch);                                \
        }                                                                                 \
    };
PARETOPO_OPERATIONS(PARETOPO_DEFINE)
#undef PARETOPO_DEFINE

// ---- CPU-only operations; lambdas adapt their parameters ----

// Returns the index of a refused point, or of a refused target point.
const auto run_indicator = [](auto batch, const Call& target, cpu::Indicator which, double p,
                              const std::int64_t* target_of_group, double* values) -> Refusal {
    if (!(p > 0.0)) return kUnfit;
    const auto others = target.with_batch([](auto sets) { return cpu::AnyBatch(sets); });
    const auto refused = cpu::indicator({cpu::AnyBatch(batch), nullptr}, {others, target_of_group},
                                        batch.groups, which, p, values);
    if (refused.point != kNoneRefused) return {0, refused.point};
    return {refused.target == kNoneRefused ? -1 : 1, refused.target};
};

// No vectors mean all weights of two objectives.
const auto run_r2 = [](auto batch, const double* ideal, bool per_group, const Doubles& vectors,
                       double* values) -> Refusal {
    if (!vectors.data && batch.objectives != 2) return kUnfit;
    const std::int64_t count = vectors.data ? vectors.shape[0] : 0;
    const References from{ideal, per_group};
    return refusal_of(cpu::r2(cpu::AnyBatch(batch), from, vectors.data, count, values));
};

const auto run_hypervolume_approx = [](auto batch, const double* ref, std::int64_t samples,
                                       std::int64_t seed, double* volumes, double* errors) {
    const std::int64_t each = (samples - 1) / cpu::kReplicates + 1;
    return cpu::hypervolume_approx(batch, ref, each, static_cast<std::uint64_t>(seed), volumes,
                                   errors);
};

const auto run_hypervolume_subset = [](auto batch, const double* ref, bool per_group,
                                       std::int32_t k, cpu::SubsetMethod method,
                                       std::int64_t* chosen) -> Refusal {
    if (method == cpu::SubsetMethod::kExact && batch.objectives > 2) return kUnfit;
    try {
        const References from{ref, per_group};
        return refusal_of(cpu::hypervolume_subset(batch, from, k, method, chosen));
    } catch (const cpu::TooManyChoices&) {
        return kTooLarge;
    }
};

const auto run_select = [](auto batch, const double* ref, bool per_group, std::int32_t k,
                           cpu::Cut cut, const Doubles& directions, std::int64_t seed,
                           std::int64_t* survivors) -> Refusal {
    if ((cut == cpu::Cut::kReferenceDirections) != (directions.data != nullptr)) return kUnfit;
    const std::int64_t count = directions.data ? directions.shape[0] : 0;
    const cpu::Cutting cutting{
        cut, {ref, per_group}, directions.data, count, static_cast<std::uint64_t>(seed)};
    return refusal_of(cpu::select(batch, cutting, k, survivors));
};

// A measure of candidates in boxes. Returns the index of a refused candidate, or of a refused
// corner.
const auto run_in_boxes = [](auto measure) {
    return [measure](auto batch, const Doubles& lower, const Doubles& upper, const Doubles& weights,
                     const std::int64_t* boxes_of_group, double shortest_side,
                     double* results) -> Refusal {
        if (lower.shape != upper.shape || lower.shape.back() != batch.objectives) return kUnfit;
        const py::ssize_t count = lower.shape[lower.shape.size() - 2];
        if (weights.data && weights.shape.back() != count) return kUnfit;
        const cpu::BoxSets sets{lower.data,     upper.data,   count,
                                boxes_of_group, weights.data, shortest_side};
        const auto refused = measure(batch, sets, results);
        if (refused.corner != kNoneRefused) return {1, refused.corner};
        return refusal_of(refused.candidate);
    };
};

// The same for measures without a shortest side.
const auto run_expected_in_boxes = [](auto measure) {
    return [run = run_in_boxes(measure)](auto batch, const Doubles& lower, const Doubles& upper,
                                         const Doubles& weights, const std::int64_t* boxes_of_group,
                                         double* results) {
        return run(batch, lower, upper, weights, boxes_of_group, 0.0, results);
    };
};

// The ends of boxes, clipped at the corner.
template <typename Scalar>
std::vector<double> not_worse(const Doubles& given, const double* corner,
                              const Batch<Scalar>& batch) {
    std::vector<double> ends(given.data, given.data + given.shape[0] * batch.objectives);
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const std::size_t m = i % static_cast<std::size_t>(batch.objectives);
        const bool is_worse =
            batch.is_minimised(static_cast<int>(m)) ? ends[i] > corner[m] : ends[i] < corner[m];
        if (is_worse) ends[i] = corner[m];
    }
    return ends;
}

const auto run_weighted = [](auto batch, const Doubles& lower, const Doubles& upper,
                             const Doubles& weights, const double* ref,
                             double* volumes) -> Refusal {
    if (lower.shape != upper.shape || lower.shape[1] != batch.objectives) return kUnfit;
    if (weights.shape != Shape{lower.shape[0]}) return kUnfit;
    for (py::ssize_t i = 0; i < weights.shape[0]; ++i) {
        if (!std::isfinite(weights.data[i])) return kUnfit;
    }
    const std::vector<double> from = not_worse(lower, ref, batch);
    const std::vector<double> to = not_worse(upper, ref, batch);
    const cpu::BoxSets sets{from.data(), to.data(), lower.shape[0], nullptr, weights.data};
    const auto refused = cpu::hypervolume_improvement(batch, sets, volumes);
    const bool is_refused = refused.candidate != kNoneRefused || refused.corner != kNoneRefused;
    return is_refused ? kUnfit : Refusal{};
};

const auto run_filter_boxes = [](auto batch, const double* sides, std::uint8_t* kept) -> Refusal {
    for (std::int32_t m = 0; m < batch.objectives; ++m) {
        if (!(sides[m] > 0.0)) return kUnfit;
    }
    cpu::filter_boxes(batch, sides, kept);
    return {};
};

// Returns boxes: lower and upper corners, (..., padded, objectives), and counts, (...). Their
// number depends on the points, so that the result is allocated after the search.
py::object answer_boxes(cpu::Region region, py::handle values, py::handle maximise, py::handle mask,
                        py::handle ref) {
    Call call;
    Corners::Taken taken;
    if (!call.take(values.ptr(), maximise.ptr(), mask.ptr())) return py::none();
    if (!Corners{}.take(ref.ptr(), call, taken)) return py::none();
    const auto [at, per_group] = Corners::pass(taken);
    const References from{at, per_group};
    const std::int64_t most = cpu::most_bytes();
    std::vector<cpu::Boxes> boxes;
    std::int64_t padded = 0;
    Refusal refusal;
    const auto unlocked = [&call] {
        return call.is_short() ? nullptr : std::make_unique<Unlocked>();
    };
    try {
        const auto others_may_run = unlocked();
        refusal = refusal_of(call.with_batch(
            [&](auto batch) { return cpu::find_boxes(batch, from, region, most, boxes); }));
        if (!refusal) padded = cpu::padded_boxes(boxes, call.objectives, most);
    } catch (const cpu::TooManyBoxes&) {
        refusal = kTooLarge;
    }
    if (refusal) return call.is_checked() ? py::cast(refusal) : py::none();
    Shape shape = call.leading();
    shape.push_back(padded);
    shape.push_back(call.objectives);
    const Memory lower = allocate<double>(call, shape);
    const Memory upper = allocate<double>(call, shape);
    const Memory counts = allocate<std::int64_t>(call, call.leading());
    {
        const auto others_may_run = unlocked();
        cpu::write_boxes(boxes, from, padded, call.objectives, static_cast<double*>(lower.data),
                         static_cast<double*>(upper.data), static_cast<std::int64_t*>(counts.data));
    }
    if (is_every_point_worse(call, from)) hint_at_senses(call);
    return py::make_tuple(lower.array, upper.array, counts.array);
}

Operation boxes_operation(const char* name, cpu::Region region) {
    const auto call = [region](py::handle values, py::handle maximise, py::handle mask,
                               py::handle ref) {
        return answer_boxes(region, values, maximise, mask, ref);
    };
    const auto corners = py::make_tuple("boxes", "float64");
    return {name, describe(takes(Corners{"ref"})),
            py::make_tuple(corners, corners, py::make_tuple("set", "int64")), false,
            py::cpp_function(call, py::name(name))};
}

std::uintptr_t address_of(const py::array& array) {
    return reinterpret_cast<std::uintptr_t>(array.data());
}

// Points in NumPy's memory, and their mask or None: like the constructor, in a third of the time.
Points points_of(const py::array& values, const py::object& mask, std::uint64_t minimised) {
    const std::uintptr_t mask_at =
        mask.is_none() ? 0 : address_of(py::reinterpret_borrow<py::array>(mask));
    return {address_of(values),
            mask_at,
            {values.shape(), values.shape() + values.ndim()},
            minimised,
            static_cast<int>(values.itemsize()),
            kCpu,
            0,
            {}};
}

using enum Extent;

}  // namespace

void bind_operations(py::module_& m) {
    py::class_<Address>(m, "Address")
        .def(py::init<std::uintptr_t, py::object>(), "at"_a, "array"_a);
    py::class_<Points>(m, "Points")
        .def(py::init<std::uintptr_t, std::uintptr_t, Shape, std::uint64_t, int, int,
                      std::uintptr_t, py::object>(),
             "address"_a, "mask"_a, "shape"_a, "minimised"_a, "itemsize"_a, "device"_a, "stream"_a,
             "allocate"_a);
    py::class_<Refusal>(m, "Refusal")
        .def_readonly("argument", &Refusal::argument)
        .def_readonly("index", &Refusal::index)
        .def_readonly("is_too_large", &Refusal::is_too_large);
    py::class_<Operation>(m, "Operation")
        .def_readonly("name", &Operation::name)
        .def_readonly("arguments", &Operation::arguments)
        .def_readonly("results", &Operation::results)
        .def_readonly("is_on_gpu", &Operation::is_on_gpu)
        .def_readonly("call", &Operation::call);
    m.def("address", &address_of, "array"_a);
    m.def("points_of", &points_of, "values"_a, "mask"_a, "minimised"_a);
    m.attr("CPU") = kCpu;
    m.attr("EMULATED") = kEmulated;
    m.attr("HAS_EMULATION") = kHasEmulation;
    m.attr("MAPPINGS") = names(kMappingNames);
    m.attr("CENTRES") = names(kCentreNames);
    m.attr("INDICATORS") = names(cpu::kIndicatorNames);
    m.attr("SUBSET_METHODS") = names(cpu::kSubsetMethodNames);
    m.attr("CUTS") = names(cpu::kCutNames);

    using Array = Rows<Doubles>;
    using Code = Given<Centre>;
    const Corner corner{.name = "ref", .hints = true};
    const Corners corners{.name = "ref", .hints = true};

#define PARETOPO_BOTH(operation) \
    m, #operation, operation##_operation {}
    define(PARETOPO_BOTH(pareto_rank), takes(), gives(Output<std::int32_t>{kPerPoint}));
    define(PARETOPO_BOTH(is_nondominated), takes(Given<bool>{"keep_duplicates"}),
           gives(Output<bool>{kPerPoint}));
    define(PARETOPO_BOTH(crowding_distance), takes(Ranks{"ranks"}),
           gives(Output<double>{kPerPoint}));
    define(
        PARETOPO_BOTH(pareto_advantage),
        takes(Weights{"weights"}, Given<double>{"beta"}, Code{"centre"}, IsWanted{"return_ranks"}),
        gives(Output<Own>{kPerPoint}, Output<std::int32_t>{kPerPoint, true}));
    define(PARETOPO_BOTH(hypervolume), takes(corner), gives(Output<double>{kPerSet}));
    define(PARETOPO_BOTH(hypervolume_gradient), takes(corner, Bools{"wanted"}),
           gives(Output<double>{kPerValue}));
    define(PARETOPO_BOTH(hypervolume_contributions), takes(corner, Given<bool>{"ignore_dominated"}),
           gives(Output<double>{kPerPoint}));
    define(PARETOPO_BOTH(expected_hypervolume), takes(corners, Count{"k", true}),
           gives(Output<double>{kPerSet}));
    define(PARETOPO_BOTH(hypervolume_advantage), takes(corners, Count{"k", true}, Code{"centre"}),
           gives(Output<Own>{kPerPoint}));
#undef PARETOPO_BOTH

    m.attr("nondominated_boxes") =
        boxes_operation("nondominated_boxes", cpu::Region::kNondominated);
    m.attr("dominated_boxes") = boxes_operation("dominated_boxes", cpu::Region::kDominated);
    const auto in_boxes = takes(Array{"boxes.lower", "sets"}, Array{"boxes.upper", "sets"},
                                Array{"weights", "numbers", 1, true}, Places{"boxes_of_group"});
    const auto in_long_boxes = std::tuple_cat(in_boxes, takes(Given<double>{"shortest_side"}));
#define PARETOPO_ON_CPU(operation) [](auto... given) { return cpu::operation(given...); }
    define_on_cpu(m, "hypervolume_improvement",
                  run_in_boxes(PARETOPO_ON_CPU(hypervolume_improvement)), in_long_boxes,
                  gives(Output<double>{kPerSet}));
    define_on_cpu(m, "hypervolume_improvement_gradient",
                  run_in_boxes(PARETOPO_ON_CPU(hypervolume_improvement_gradient)), in_long_boxes,
                  gives(Output<double>{kPerValue}));
    define_on_cpu(m, "expected_hypervolume_improvement",
                  run_expected_in_boxes(PARETOPO_ON_CPU(expected_hypervolume_improvement)),
                  in_boxes, gives(Output<double>{kPerSet}));
    define_on_cpu(m, "expected_hypervolume_improvement_gradient",
                  run_expected_in_boxes(PARETOPO_ON_CPU(expected_hypervolume_improvement_gradient)),
                  in_boxes, gives(Output<double>{kPerValue}));
    define_on_cpu(m, "weighted_hypervolume", run_weighted,
                  takes(Array{"boxes.lower", "sets"}, Array{"boxes.upper", "sets"},
                        Array{"weights", "numbers", 1}, corner),
                  gives(Output<double>{kPerSet}));

    define_on_cpu(m, "indicator", run_indicator,
                  takes(Others{"target"}, Given<cpu::Indicator>{"which"}, Given<double>{"p"},
                        Absent{"target_mask", "bools"}, Places{"target_of_group"}),
                  gives(Output<double>{kPerSet}));
    define_on_cpu(m, "r2_indicator", run_r2,
                  takes(Corners{"ideal"}, Array{"weights", "vectors", 2, true, true},
                        Absent{"divisions", "int?"}),
                  gives(Output<double>{kPerSet}));
    define_on_cpu(m, "hypervolume_approx", run_hypervolume_approx,
                  takes(corner, Whole{"samples", 1}, Whole{"seed", 0}),
                  gives(Output<double>{kPerSet}, Output<double>{kPerSet}));

    define_on_cpu(m, "hypervolume_subset", run_hypervolume_subset,
                  takes(corners, Count{"k"}, Given<cpu::SubsetMethod>{"method"}),
                  gives(Output<std::int64_t>{kKept}));
    define_on_cpu(m, "select", run_select,
                  takes(Corners{.name = "ref", .is_optional = true, .hints = true}, Count{"k"},
                        Given<cpu::Cut>{"method"}, Array{"directions", "vectors", 2, true, true},
                        Whole{"seed", 0}),
                  gives(Output<std::int64_t>{kKept}));

    m.def(
        "set_place_of_tensors",
        [](const py::function& place) { place_of_tensors = py::object(place).release().ptr(); },
        "place"_a);
    m.def(
        "set_sense_hint",
        [](const py::function& hint) { sense_hint = py::object(hint).release().ptr(); }, "hint"_a);

    // Python composes these from other operations if the arguments are not plain.
    define_on_cpu(m, "ideal_point", PARETOPO_ON_CPU(ideal_point), takes(),
                  gives(Output<Own>{kPerObjective}));
    define_on_cpu(m, "nadir_point", PARETOPO_ON_CPU(nadir_point), takes(),
                  gives(Output<Own>{kPerObjective}));
    define_on_cpu(m, "reference_point", PARETOPO_ON_CPU(reference_point),
                  takes(Given<double>{"scale"}), gives(Output<Own>{kPerObjective}));
    define_on_cpu(m, "normalise", PARETOPO_ON_CPU(normalise),
                  takes(Corner{"ideal", true}, Corner{"nadir", true}),
                  gives(Output<Own>{kPerValue}));
    define_on_cpu(m, "filter_strictly", PARETOPO_ON_CPU(filter_strictly),
                  takes(Given<bool>{"keep_duplicates"}), gives(Output<bool>{kPerPoint}));
#undef PARETOPO_ON_CPU
    define_on_cpu(m, "filter_boxes", run_filter_boxes, takes(Corner{"epsilon"}),
                  gives(Output<bool>{kPerPoint}));
}

}  // namespace paretopo::bindings
