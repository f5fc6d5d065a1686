"""compat.moocore is moocore, by its signatures, its own examples and its answers."""

import doctest
import inspect
import re
from types import SimpleNamespace

import numpy as np
import pytest

from paretopo_core.compat import moocore as ours

moocore = pytest.importorskip("moocore")

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
SCORES = np.random.default_rng(3).random((60, 4)).round(1)


# These are estimates in moocore: by how much, of the number, its examples may be off.
ESTIMATES = {"hv_approx": 0.005, "whv_hype": 0.015}


class Numbers(doctest.OutputChecker):
    """Numbers agree to the digits printed, or to a share of them."""

    def __init__(self, share=0.0):
        self.share = share

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
            return False
        return all(
            abs(float(a) - float(b))
            <= max(1.5 * 10.0 ** -len(digits) if digits else 0, self.share * abs(float(a)))
            for a, b in zip(NUMBER.findall(want), NUMBER.findall(got), strict=True)
            for digits in [a.partition(".")[2]]
        )


def test_it_has_every_name_or_says_that_it_has_not():
    assert {*ours.__all__, *ours.NOT_HERE} == set(moocore.__all__)
    assert not {*ours.__all__} & {*ours.NOT_HERE}
    for name in ours.NOT_HERE:
        with pytest.raises(AttributeError, match=f"has no {name}: take moocore's own"):
            getattr(ours, name)
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        ours.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", ours.__all__)
def test_signatures_are_moocores(name):
    def described(function):
        return [
            (one.name, one.kind, repr(one.default))
            for one in inspect.signature(function).parameters.values()
        ]

    assert described(getattr(ours, name)) == described(getattr(moocore, name))


WITHOUT_EXAMPLES = ("avg_hausdorff_dist", "epsilon_mult", "filter_dominated", "igd", "whv_rect")


@pytest.mark.parametrize("name", ours.__all__)
def test_moocores_own_examples_run(name):
    there = {n: getattr(ours, n) for n in ours.__all__}
    files = {n: getattr(moocore, n) for n in ("get_dataset", "get_dataset_path")}
    stand_in = SimpleNamespace(**there, **files)
    text = getattr(moocore, name).__doc__
    if "pandas" in text:
        pytest.importorskip("pandas")
    names = {"moocore": stand_in, "np": np, **there}
    examples = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    runner = doctest.DocTestRunner(
        Numbers(ESTIMATES.get(name, 0.0)),
        optionflags=doctest.NORMALIZE_WHITESPACE
        | doctest.ELLIPSIS
        | doctest.IGNORE_EXCEPTION_DETAIL,  # errors are of the same class, in words of our own
    )
    assert runner.run(examples).failed == 0
    assert bool(examples.examples) != (name in WITHOUT_EXAMPLES)


@pytest.mark.parametrize("maximise", [False, True, [True, False, True]])
@pytest.mark.parametrize(
    "name", ["avg_hausdorff_dist", "epsilon_additive", "epsilon_mult", "igd", "igd_plus"]
)
def test_indicators_are_moocores(name, maximise):
    points, reference = SCORES[:30, :3] + 0.1, SCORES[30:, :3] + 0.1
    for ref in (reference, reference[0].tolist()):
        theirs = getattr(moocore, name)(points, ref=ref, maximise=maximise)
        assert getattr(ours, name)(points, ref=ref, maximise=maximise) == pytest.approx(theirs)
    if name == "avg_hausdorff_dist":
        theirs = moocore.avg_hausdorff_dist(points, reference, maximise=maximise, p=3)
        got = ours.avg_hausdorff_dist(points, reference, maximise=maximise, p=3)
        assert got == pytest.approx(theirs)


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize(("count", "runs"), [(40, 4), (120, 12)])
def test_rows_of_attainment_are_in_moocores_order(objectives, count, runs):
    rng = np.random.default_rng(0)
    sets = np.sort(rng.integers(0, runs, count))
    distinct, ties = rng.random((count, objectives)), rng.integers(0, 12, (count, objectives))
    for percentiles in ((), [50], [100, 0, 33.4]):
        found, wanted = (m.eaf(distinct, sets, percentiles=percentiles) for m in (ours, moocore))
        np.testing.assert_array_equal(found, wanted)
        found, wanted = (m.eaf(ties, sets, percentiles=percentiles) for m in (ours, moocore))
        assert sorted(found.tolist()) == sorted(wanted.tolist())


@pytest.mark.parametrize("objectives", [2, 3])
def test_runs_may_be_interleaved(objectives):
    points, sets = np.random.default_rng(1).random((40, objectives)), np.arange(40) % 4
    order = np.argsort(sets, kind="stable")
    expected = moocore.eaf(points[order], sets[order])
    np.testing.assert_array_equal(ours.eaf(points, sets), expected)
    expected = moocore.vorob_t(points[order], sets[order], ref=1)
    found = ours.vorob_t(points, sets, ref=1)
    assert found["threshold"] == expected["threshold"]
    assert [*dict(found)] == [name for name, _ in found.items()] == [*expected]


def of_runs(seed, runs):
    rng = np.random.default_rng(seed)
    return np.c_[rng.integers(0, 12, (6 * runs, 2)) / 2.0, np.repeat(rng.permutation(runs), 6)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("maximise", [False, True, [True, False]])
@pytest.mark.parametrize("intervals", [None, 2, 10])
@pytest.mark.parametrize("rectangles", [False, True])
def test_differences_of_attainment_are_moocores(seed, maximise, intervals, rectangles):
    one, other = of_runs(seed, 5), of_runs(seed + 100, 5)
    keywords = {"intervals": intervals, "maximise": maximise, "rectangles": rectangles}
    theirs = moocore.eafdiff(one, other, **keywords)
    np.testing.assert_allclose(ours.eafdiff(one, other, **keywords), theirs, rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_the_pair_that_differs_most_is_moocores(seed):
    data = [of_runs(10 * seed + i, 4) for i in range(4)]
    for intervals in (2, 5):  # with 1 moocore may find none, and fails
        theirs = moocore.largest_eafdiff(data, ref=[7, 7], intervals=intervals)
        assert ours.largest_eafdiff(data, ref=[7, 7], intervals=intervals) == theirs
    turned = [each * [-1, -1, 1] for each in data]
    theirs = moocore.largest_eafdiff(data, ref=[7, 7])
    assert ours.largest_eafdiff(turned, ref=[-7, -7], maximise=True) == theirs


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_vorobevs_expectation_is_moocores(objectives, seed):
    points = np.random.default_rng(seed).random((50, objectives))
    sets = np.arange(50) // 5
    theirs = moocore.vorob_t(points, sets, ref=np.ones(objectives))
    mine = ours.vorob_t(points, sets, ref=np.ones(objectives))
    assert mine["threshold"] == mine.threshold == mine[0] == theirs["threshold"]
    assert mine["avg_hyp"] == pytest.approx(theirs["avg_hyp"])
    assert sorted(map(tuple, mine["ve"])) == sorted(map(tuple, theirs["ve"]))
    for ve in (None, mine["ve"], points[:4]):
        expected = moocore.vorob_dev(points, sets, ref=np.ones(objectives), ve=ve)
        assert ours.vorob_dev(points, sets, ref=np.ones(objectives), ve=ve) == pytest.approx(
            expected
        )


@pytest.mark.parametrize("maximise", [False, True, [False, True]])
@pytest.mark.parametrize(
    "weight",
    [
        {},
        {"dist": "exponential", "mu": 0.2},
        {"dist": "exponential", "mu": 3.0},
        {"dist": "point", "mu": [2.9, 0.9]},
    ],
)
def test_hype_weights_match_moocore(maximise, weight):
    signs = np.where(np.broadcast_to(maximise, 2), -1, 1)
    points = np.array([[3.0, 1.0], [2.0, 2.0], [1.2, 3.1], [2.5, 2.5], [0.5, 3.8], [5.0, 0.0]])
    wanted = moocore.whv_hype(points, ref=4, ideal=1, nsamples=400_000, seed=1, **weight)
    turned = {**weight, "mu": signs * weight["mu"]} if "point" in weight.values() else weight
    got = ours.whv_hype(points * signs, ref=4 * signs, ideal=1 * signs, maximise=maximise, **turned)
    assert got == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("integer", [False, True])
@pytest.mark.parametrize(
    "method",
    ["L", "linear", "C", "sphere", "X", "convex-simplex", "inverted-linear", "concave-simplex"],
)
def test_generated_sets_are_moocores(method, integer):
    for size in ((30, 2), (5, 4)):
        theirs = moocore.generate_ndset(*size, method, seed=5, integer=integer)
        np.testing.assert_array_equal(
            ours.generate_ndset(*size, method, seed=5, integer=integer), theirs
        )


@pytest.mark.parametrize("objectives", [1, 2, 3, 4])
@pytest.mark.parametrize("maximise", [False, True, 1, "mixed"])
@pytest.mark.parametrize("keep_weakly", [False, True])
def test_dominance_is_moocores(objectives, maximise, keep_weakly):
    points = SCORES[:, :objectives]
    if maximise == "mixed":
        maximise = [m % 2 == 0 for m in range(objectives)]
    keywords = {"maximise": maximise, "keep_weakly": keep_weakly}
    for name in ("is_nondominated", "filter_dominated", "any_dominated"):
        for rows in (points, np.unique(points, axis=0), points[:1]):
            np.testing.assert_array_equal(
                getattr(ours, name)(rows, **keywords), getattr(moocore, name)(rows, **keywords)
            )
    if objectives > 1:
        sets = np.arange(len(points)) % 7
        for name in ("is_nondominated_within_sets", "filter_dominated_within_sets"):
            given = (points, sets) if name.startswith("is") else (np.c_[points, sets],)
            np.testing.assert_array_equal(
                getattr(ours, name)(*given, **keywords), getattr(moocore, name)(*given, **keywords)
            )
    np.testing.assert_array_equal(
        ours.pareto_rank(points, maximise=maximise), moocore.pareto_rank(points, maximise=maximise)
    )


def test_a_frame_stays_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2, 1, 0], "b": [1.0, 0, 3, 4]}, index=[*"wxyz"])
    pandas.testing.assert_frame_equal(ours.filter_dominated(frame), moocore.filter_dominated(frame))
    assert isinstance(ours.normalise(frame), np.ndarray)  # as in moocore
    groups = frame.assign(group=[0, 0, 1, 1]).groupby("group")[["a", "b"]]
    pandas.testing.assert_frame_equal(
        groups.apply(ours.filter_dominated), groups.apply(moocore.filter_dominated)
    )
    polars = pytest.importorskip("polars")  # moocore fails on its frames
    kept = ours.filter_dominated(polars.from_pandas(frame))
    assert kept.rows() == [(1, 1.0), (2, 0.0), (0, 4.0)]


def test_a_tensor_stays_a_tensor():
    torch = pytest.importorskip("torch")
    points = torch.tensor([[1, 1], [2, 2]])
    assert ours.filter_dominated(points).tolist() == [[1, 1]]
    assert isinstance(ours.filter_dominated(points), torch.Tensor)


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("maximise", [False, True])
def test_volumes_are_moocores(objectives, maximise):
    points = np.random.default_rng(objectives).random((25, objectives))
    points[3] = points[4]
    ref = 0.1 if maximise else np.full(objectives, 0.9)  # some lie outside
    expected = moocore.hypervolume(points, ref=ref, maximise=maximise)
    assert ours.hypervolume(points, ref=ref, maximise=maximise) == pytest.approx(expected)
    assert type(ours.hypervolume(points.tolist(), ref=ref)) is float
    theirs, mine = (
        module.Hypervolume(ref=ref, maximise=maximise)(points) for module in (moocore, ours)
    )
    assert mine == pytest.approx(theirs)
    if objectives > 1:
        for ignore in (True, False):
            np.testing.assert_allclose(
                ours.hv_contributions(points, ref, maximise, ignore),
                moocore.hv_contributions(points, ref, maximise, ignore),
                atol=1e-7,  # from 4 objectives moocore makes 0 of smaller ones
            )


@pytest.mark.parametrize(
    "keywords",
    [
        {},
        {"to_range": [1, 2], "lower": [0.1, 0.2, 0.0], "upper": 2},
        {"to_range": [3, -1], "maximise": [True, False, True]},
        {"lower": np.nan, "upper": [np.nan, 1, np.nan], "maximise": True},
    ],
)
def test_normalising_is_moocores(keywords):
    points = np.random.default_rng(1).random((20, 3))
    points[:, 2] = 0.5  # an objective in which all are equal
    np.testing.assert_allclose(
        ours.normalise(points, **keywords), moocore.normalise(points, **keywords)
    )


RECTANGLE = np.ones((1, 5))


def class_of(call):
    """The class of moocore's error; ValueError where it answers or fails by accident."""
    try:
        call(moocore)
    except NotImplementedError:
        return NotImplementedError
    except Exception:
        return ValueError
    return ValueError


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("nsamples must be a whole", lambda m: m.hv_approx([[0, 0]], [1, 1], nsamples="10")),
        ("nsamples must be a whole", lambda m: m.hv_approx([[0, 0]], [1, 1], nsamples=10.5)),
        ("from 1 to 2147483648", lambda m: m.hv_approx([[1, 2]], ref=3, nsamples=2**40)),
        ("method must be one of", lambda m: m.hv_approx([[0, 0]], [1, 1], method="odd")),
        ("method must be one of simplex", lambda m: m.generate_ndset(3, 2, "odd")),
        ("p must be a whole", lambda m: m.avg_hausdorff_dist([[0, 0]], [[1, 1]], p="a")),
        ("p must be a whole", lambda m: m.avg_hausdorff_dist([[0, 0]], [[1, 1]], p=1.5)),
        ("p must be a whole", lambda m: m.avg_hausdorff_dist([[1, 2]], [[1, 2]], p=0)),
        ("finite and above 0", lambda m: m.epsilon_mult([[-1, 2]], [[1, 2]])),
        ("2 objectives, got 3", lambda m: m.r2_exact([[1, 2, 3]], ref=0)),
        ("got 3: weighted_hyper", lambda m: m.whv_hype(np.ones((3, 3)), ref=2, ideal=0)),
        ("2 or 3 objectives, got 4", lambda m: m.eaf(np.ones((3, 4)), [0, 0, 1])),
        ("points must have shape", lambda m: m.hypervolume([1, 2], ref=0)),
        ("points must have shape", lambda m: m.hypervolume(np.empty((5, 0)), ref=[])),
        ("points must have shape", lambda m: m.is_nondominated(np.empty((5, 0)))),
        ("points must have shape", lambda m: m.pareto_rank(np.zeros((2, 3, 2)))),
        ("sets must have shape", lambda m: m.eaf(np.ones((3, 2)), [0, 0])),
        ("the set of each row", lambda m: m.is_nondominated_within_sets([[1, 2]], [1, 2])),
        ("the set of each row", lambda m: m.is_nondominated_within_sets([[1, 2]], [[1, 2]])),
        ("ref must have length 2, or 1", lambda m: m.hypervolume([[1, 2]], ref=[1, 2, 3])),
        ("at least one row", lambda m: m.any_dominated(np.empty((0, 2)))),
        ("maximise must have length", lambda m: m.pareto_rank([[1, 2]], maximise=[True] * 3)),
        ("lower must have length", lambda m: m.normalise([[1, 2]], lower=[1, 2, 3])),
        ("to_range must be two", lambda m: m.normalise([[1, 2]], to_range=[1])),
        ("the same length", lambda m: m.Hypervolume(ref=[1, 2], maximise=[True] * 3)),
        ("ref_set must have", lambda m: m.RelativeHypervolume(ref=0, ref_set=[[1, 1]])),
        ("data must have shape", lambda m: m.filter_dominated_within_sets([[1, 2]])),
        ("x must have shape (points, 3)", lambda m: m.eafdiff([[1, 2]], [[1, 2, 3]])),
        ("intervals must", lambda m: m.eafdiff([[1, 2, 0]], [[1, 2, 3]], intervals=0)),
        ("x must have two data sets", lambda m: m.largest_eafdiff([[[1, 2, 0]]], ref=3)),
        ("rectangles must have", lambda m: m.whv_rect([[1, 2]], [[1, 2, 3, 4]], ref=3)),
        ("scalefactor", lambda m: m.total_whv_rect([[1, 2]], RECTANGLE, ref=3, scalefactor=2)),
        ("ideal must be better", lambda m: m.whv_hype([[1, 2]], ref=3, ideal=4)),
        ("dist must be", lambda m: m.whv_hype([[1, 2]], ref=3, ideal=0, dist="odd")),
        ("mu must", lambda m: m.whv_hype([[1, 2]], ref=3, ideal=0, dist="exponential", mu=0)),
        ("mu must be a point", lambda m: m.whv_hype([[1, 2]], ref=3, ideal=0, dist="point")),
    ],
)
def test_errors_name_the_argument_and_have_moocores_class(message, call):
    with pytest.raises(class_of(call), match=re.escape(message)):
        call(ours)


def test_infinite_values_order_as_numbers():
    """moocore crashes the interpreter on these: bench/defects.md."""
    rows = [[0, 0, 0], [np.inf, -np.inf, 1], [2, -np.inf, 2]]
    assert ours.pareto_rank(rows).tolist() == [0, 0, 0]
    assert ours.is_nondominated(rows).all()
