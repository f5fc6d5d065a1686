"""Every argument of every function, given every kind of thing that it is not: an error by its name.

Which arguments there are say the signatures of the public functions and, of those that the compiled
core takes, the descriptions of its operations (csrc/bindings/operations.cpp).
"""

import datetime
import decimal
import inspect

import numpy as np
import pytest
from support.operations import DISTANCES

import paretopo_core as pp
from paretopo_core import _core

POINTS = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
SIDES = np.array([[0.0, 0.0]]), np.array([[2.0, 2.0]])

# A right call of each function, with all of its arguments that take more than a name.
CALLS = {
    "pareto_rank": {"violation": [0, 1, 0], "n_below": 2},
    "is_nondominated": {"violation": [0, 1, 0], "epsilon": 0.5, "duplicate_tolerance": 0.1},
    "crowding_distance": {"ranks": [0, 0, 0]},
    "pareto_advantage": {"weights": [1, 2], "beta": 0.5},
    "hypervolume": {"ref": 0},
    "hypervolume_gradient": {"ref": 0, "wanted": [True, False, True]},
    "hypervolume_hessian": {"ref": 0},
    "hypervolume_contributions": {"ref": 0},
    "uncrowded_contributions": {"ref": 0},
    "expected_hypervolume": {"ref": 0, "k": 2},
    "hypervolume_advantage": {"ref": 0, "k": 2},
    "nondominated_boxes": {"ref": 0},
    "dominated_boxes": {"ref": 0},
    "hypervolume_improvement": {"boxes": SIDES},
    "expected_hypervolume_improvement": {"boxes": SIDES, "deviations": 0.5},
    "weighted_hypervolume": {"boxes": SIDES, "weights": [1.0], "ref": 0},
    **{name: {"target": [[1, 1]], "p": 1.0} for name in DISTANCES},
    "epsilon_additive": {"target": [[1, 1]]},
    "epsilon_multiplicative": {"target": [[1, 1]]},
    "r2_indicator": {"ideal": 4, "weights": [[0.5, 0.5]]},
    "hypervolume_approx": {"ref": 0, "samples": 32, "rng": 0},
    "hypervolume_contributions_approx": {"ref": 0, "samples": 32, "rng": 0},
    "hypervolume_subset": {"k": 2, "ref": 0},
    "select": {"k": 2},
    "ideal_point": {},
    "nadir_point": {},
    "reference_point": {"scale": 0.1},
    "normalise": {"ideal": [4, 4], "nadir": [0, 0]},
    "knee_points": {},
    "stochastic_dominance": {"sigma": 0.1, "margin": 0.1},
    "stochastic_pareto_rank": {"sigma": 0.1, "margin": 0.1},
    "attainment_surfaces": {"sets": [0, 0, 1], "percentiles": [50]},
    "reference_directions": {"objectives": 2, "partitions": 3},
    "ParetoArchive": {"ref": [0, 0], "capacity": 3, "epsilon": 0.5},
    "threads": {"count": 1},
    "memory_limit": {"size": 2**32},
}
# Other methods take other arguments.
MORE = {
    ("select", "ref"): {"k": 2, "method": "hypervolume", "ref": 0},
    ("select", "directions"): {"k": 2, "method": "reference_directions", "directions": np.eye(2)},
    ("ParetoArchive", "objectives"): {"objectives": 2},
    ("select", "rng"): {"k": 2, "rng": 0},
}
NO_NUMBERS = {
    "plot_front",
    "read_fronts",
    "accelerate",
    "isa",
    "get_isa",
    "get_threads",
    "__version__",
}
TYPES = {
    *("AttainmentSurfaces", "Boxes", "Estimate"),
    *("SenseWarning", "Setting", "SparseHessian"),
}

_KINDS = {
    "points": ("points", "candidates", "means", "rewards", "target"),
    "numbers": ("ref", "weights", "directions", "deviations"),
    "numbers or None": (
        "violation",
        "epsilon",
        "duplicate_tolerance",
        "ideal",
        "nadir",
        "percentiles",
    ),
    "bools": ("mask", "wanted", "target_mask"),
    "ranks": ("ranks",),
    "senses": ("maximise",),
    "boxes": ("boxes",),
    "whole": ("k", "samples", "objectives", "partitions", "count", "size"),
    "whole or None": ("n_below", "capacity", "rng"),
    "number": ("beta", "p", "sigma", "margin", "scale"),
    "flag": (
        *("ignore_dominated", "keep_history"),
        *("return_ranks", "return_gradient"),
    ),
    "choice": ("method", "centre", "dominance", "duplicates"),
    "choice or None": ("keep",),
    "labels": ("sets",),
}
KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names}

_MASKED = np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False])
_DAY = datetime.date(2026, 1, 1)
# These are of no kind. The shapes fit somewhere.
_NEVER = {
    "text": "0",
    "texts": ["1", "2"],
    "bytes": b"0",
    "an array of text": np.array(["1", "2", "3"]),
    "dates": np.array(["2026-01-01"] * 3, dtype="datetime64[D]"),
    "a date": _DAY,
    "time spans": np.array([1, 2, 3], dtype="timedelta64[s]"),
    "complex": np.array([1.0, 2.0, 3.0], dtype=complex),
    "a complex number": 1j,
    "a masked array": _MASKED,
    "a list of masked arrays": [_MASKED, _MASKED],
    "a masked constant": np.ma.masked,
    "objects": np.array([1, 2, None], dtype=object),
    "decimals": [decimal.Decimal(1), decimal.Decimal(2)],
    "a generator": (x for x in [1.0, 2.0]),
    "a mapping": {"a": 1.0},
    "a set": {1.0},
    "a function": len,
    "a type": float,
    "a void": np.zeros(3, dtype=[("a", float)]),
    "ragged rows": [[1.0, 2.0], [3.0]],
}
_TOO_LARGE = {"too large": [10**400, 0], "inexact": [2**60 + 1, 0]}
_TRUTH = {"a bool": True, "bools": [True, False], "an array of bools": np.array([True, False])}
_NONE = {"None": None}
_FRACTIONS = {"a fraction": 1.5, "a float": 2.0, "infinite": float("inf")}
_MORE_OF_THEM = {"two": [1, 2], "an array": np.array([1.0, 2.0])}
_NUMBERS = {"a number": 1, "floats": [0.0, 1.0, 1.0], "integers": np.array([0, 1, 1])}
WRONG = {
    "points": _NEVER | _TOO_LARGE | _NONE,
    "numbers": _NEVER | _TOO_LARGE | _TRUTH | _NONE,
    "numbers or None": _NEVER | _TOO_LARGE | _TRUTH,
    "bools": _NEVER | _NUMBERS,
    "ranks": _NEVER | _TRUTH | {"floats": [0.0, 1.0, 1.0], "wide": [0, 1, 2**40]},
    "senses": _NEVER | _NUMBERS | _NONE,
    "boxes": _NEVER | _NONE | _NUMBERS | {"one corner": (SIDES[0],)},
    "whole": _NEVER | _TOO_LARGE | _TRUTH | _NONE | _FRACTIONS | _MORE_OF_THEM | {"below": -1},
    "whole or None": _NEVER | _TRUTH | _FRACTIONS | _MORE_OF_THEM | {"below": -1},
    "number": _NEVER | _TOO_LARGE | _TRUTH | _NONE | _MORE_OF_THEM,
    "flag": _NEVER | _NONE | _NUMBERS,
    "choice": _NEVER | _TRUTH | _NONE | _NUMBERS,
    "choice or None": _NEVER | _TRUTH | _NUMBERS,
    "labels": {key: each for key, each in _NEVER.items() if "text" not in key} | _NONE,
}


def arguments_of(name):
    return list(inspect.signature(getattr(pp, name)).parameters)


ARGUMENTS = [(name, argument) for name in CALLS for argument in arguments_of(name)]


def wrong_for(name, argument):
    if (name, argument) in (
        ("r2_indicator", "weights"),
        ("plot_front", "ref"),
    ):  # None stands for all or no
        return WRONG["numbers or None"].items()
    wrong = WRONG[KIND_OF[argument]]
    if (name, argument) == ("ParetoArchive", "ref"):  # a mapping names the objectives
        wrong = {label: value for label, value in wrong.items() if label != "a mapping"}
    return wrong.items()


def right_call(name, argument):
    given = dict(MORE.get((name, argument), CALLS[name]))
    for each in arguments_of(name):
        if KIND_OF[each] == "points" and each != "target":
            given[each] = POINTS
    return given


def error_of(call, *arguments, **keywords):
    """The words of a TypeError or ValueError; none if the call is answered."""
    try:
        call(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def test_every_function_and_every_argument_of_the_core_is_here():
    assert set(CALLS) == set(pp.__all__) - NO_NUMBERS - TYPES
    # Names of the core that no public function uses.
    other_names = {"boxes.lower", "boxes.upper", "which", "divisions", "shortest_side"}
    other_names |= {"keep_duplicates", "seed"}
    hidden = {"internal", "wanted"}
    described = [each for each in vars(_core).values() if isinstance(each, _core.Operation)]
    assert len(described) > 20
    for operation in described:
        for argument, kind in operation.arguments:
            assert argument in KIND_OF or argument in other_names or kind in hidden, argument


@pytest.fixture(params=["NumPy", "torch"])
def points(request):
    if request.param == "NumPy":
        return POINTS
    return pytest.importorskip("torch").tensor(POINTS)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_wrong_type_is_refused_by_name(name, argument, points):
    function = getattr(pp, name)
    right = right_call(name, argument)
    right = {key: points if value is POINTS else value for key, value in right.items()}
    function(**right)
    for label, wrong in wrong_for(name, argument):
        assert argument in error_of(function, **right | {argument: wrong}), label


def take_points(method):
    return bool({"point", "points"} & set(inspect.signature(method).parameters))


METHODS = dict(inspect.getmembers(pp.ParetoArchive, inspect.isfunction))


@pytest.mark.parametrize("method", [name for name in METHODS if take_points(METHODS[name])])
def test_archives_refuse_points_of_wrong_types(method):
    archive = pp.ParetoArchive([0.0, 0.0])
    archive.add([1, 2])
    before = archive.state_dict()
    for label, wrong in (WRONG["points"] | _TRUTH).items():
        assert "point" in error_of(getattr(archive, method), wrong), label
    assert archive.state_dict() == before


@pytest.mark.parametrize("key", sorted({*pp.ParetoArchive([0, 0]).state_dict()} - {"payloads"}))
def test_archives_refuse_states_of_wrong_types(key):
    archive = pp.ParetoArchive([0.0, 0.0], capacity=3, epsilon=0.5, keep_history=True)
    archive.add([1, 2])
    before = archive.state_dict()
    for label, wrong in (WRONG["points"] | _TRUTH | _FRACTIONS).items():
        if (key, label) in (("hypervolume", "a float"), ("history", "None")):
            continue  # right
        error = error_of(archive.load_state_dict, before | {key: wrong})
        assert key in error, label
        assert "state" in error, label
    assert archive.state_dict() == before


@pytest.mark.parametrize("wrong", [None, 1, "text", POINTS, [[1, 2]], {"points": POINTS}])
def test_archives_refuse_other_objects_as_archive_or_state(wrong):
    archive = pp.ParetoArchive([0.0, 0.0])
    assert "other must be a ParetoArchive" in error_of(archive.merge, wrong)
    assert "state" in error_of(archive.load_state_dict, wrong)


@pytest.mark.parametrize("wrong", [1, 1.5, "text", [1, 2], len])
def test_archives_refuse_payloads_that_are_not_one_for_each_point(wrong):
    archive = pp.ParetoArchive([0.0, 0.0])
    assert "payloads must be" in error_of(archive.extend, POINTS, wrong)
    assert len(archive) == 0
    state = archive.state_dict() | {"payloads": wrong}
    assert "the payloads of the state must be" in error_of(archive.load_state_dict, state)


@pytest.mark.parametrize("argument", sorted({*arguments_of("plot_front")} & {*KIND_OF}))
def test_plots_refuse_wrong_types(argument):
    pytest.importorskip("matplotlib")
    for label, wrong in wrong_for("plot_front", argument):
        error = error_of(pp.plot_front, **{"points": POINTS, argument: wrong})
        assert argument in error, label


def test_plots_refuse_names_and_axes_of_wrong_types():
    for wrong in ("xy", 5, True, len):
        assert "names must be a list" in error_of(pp.plot_front, POINTS, names=wrong)
        assert "ax must be axes" in error_of(pp.plot_front, POINTS, ax=wrong)


@pytest.mark.parametrize("wrong", [None, 5, b"x.npz", ["x.npz"], POINTS, len])
def test_paths_of_wrong_types_are_refused(wrong):
    archive = pp.ParetoArchive([0, 0])
    for function in (pp.read_fronts, archive.save, pp.ParetoArchive.load):
        assert "path must be text or a pathlib.Path" in error_of(function, wrong)


def test_large_integers_are_shown_in_short():
    for call in (lambda x: pp.hypervolume(POINTS, ref=x), pp.pareto_rank, pp.ParetoArchive):
        with pytest.raises(ValueError, match=r"integers from .*2\*\*1328, which float64"):
            call([[10**400, 0]])


def test_lazy_and_one_time_inputs_are_refused_with_advice():
    class LazyFrame:
        def collect(self):
            return POINTS

    with pytest.raises(TypeError, match=r"points .* got a LazyFrame: pass collect\(\) of it"):
        pp.pareto_rank(LazyFrame())
    with pytest.raises(TypeError, match=r"points .* got a generator: pass a list or an array of"):
        pp.pareto_rank(row for row in POINTS)
