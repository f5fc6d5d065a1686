"""compat.moocore is moocore, by its signatures, its own examples and its answers."""

from __future__ import annotations

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


class Numbers(doctest.OutputChecker):
    """Numbers agree to the digits printed."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
            return False
        return all(
            abs(float(a) - float(b)) <= (1.5 * 10.0 ** -len(digits) if digits else 0)
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


WITHOUT_EXAMPLES = ("avg_hausdorff_dist", "epsilon_mult", "filter_dominated", "igd")


@pytest.mark.parametrize("name", ours.__all__)
def test_moocores_own_examples_run(name):
    there = {n: getattr(ours, n) for n in ours.__all__}
    stand_in = SimpleNamespace(**there, get_dataset=moocore.get_dataset)
    text = getattr(moocore, name).__doc__
    names = {"moocore": stand_in, "np": np}
    examples = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    runner = doctest.DocTestRunner(
        Numbers(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert runner.run(examples).failed == 0
    assert bool(examples.examples) != (name in WITHOUT_EXAMPLES)


@pytest.mark.parametrize("maximise", [False, True, [True, False, True]])
@pytest.mark.parametrize(
    "name", ["avg_hausdorff_dist", "epsilon_additive", "epsilon_mult", "igd", "igd_plus"]
)
def test_indicators_are_moocores(name, maximise):
    points, reference = SCORES[:30, :3] + 0.1, SCORES[30:, :3] + 0.1
    theirs = getattr(moocore, name)(points, ref=reference, maximise=maximise)
    assert getattr(ours, name)(points, ref=reference, maximise=maximise) == pytest.approx(theirs)
    if name == "avg_hausdorff_dist":
        theirs = moocore.avg_hausdorff_dist(points, reference, maximise=maximise, p=3)
        got = ours.avg_hausdorff_dist(points, reference, maximise=maximise, p=3)
        assert got == pytest.approx(theirs)


@pytest.mark.parametrize("objectives", [2, 3])
@pytest.mark.parametrize("percentiles", [(), [50], [100, 0, 50]])
def test_attainment_is_moocores(objectives, percentiles):
    points, sets = SCORES[:, :objectives], np.arange(60) // 12
    wanted = moocore.eaf(points, sets, percentiles=percentiles)
    got = ours.eaf(points, sets, percentiles=percentiles)
    assert sorted(map(tuple, got)) == sorted(map(tuple, wanted))


def test_the_comparison_of_examples_can_fail():
    assert Numbers().check_output("0.0749999\n", "0.07499999999999996\n", 0)
    assert not Numbers().check_output("0.0749999\n", "0.0759\n", 0)
    assert not Numbers().check_output("array([1, 2])\n", "array([1, 3])\n", 0)
    assert not Numbers().check_output("[1.0]\n", "1.0\n", 0)


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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.hypervolume([1, 2], ref=0), "points must have shape"),
        (lambda: ours.hypervolume([[1, 2]], ref=[0, 1, 2]), "ref must have length 1 or 2, got 3"),
        (lambda: ours.pareto_rank([[1, 2]], maximise=[True] * 3), "maximise must have length"),
        (lambda: ours.pareto_rank(np.zeros((2, 3, 2))), "points must have shape"),
        (lambda: ours.any_dominated(np.zeros((0, 2))), "at least one row"),
        (lambda: ours.normalise([[1, 2]], to_range=[1]), "to_range must be two numbers"),
        (lambda: ours.Hypervolume(ref=[1, 2], maximise=[True] * 3), "the same length"),
        (lambda: ours.RelativeHypervolume(ref=0, ref_set=[[1, 1]]), "ref_set must have"),
        (lambda: ours.filter_dominated_within_sets([[1, 2]]), "data must have shape"),
        (lambda: ours.is_nondominated_within_sets([[1, 2]], [1, 2]), "sets must name one for each"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_infinite_values_order_as_numbers():
    """moocore crashes the interpreter on these: docs/peers.md."""
    rows = [[0, 0, 0], [np.inf, -np.inf, 1], [2, -np.inf, 2]]
    assert ours.pareto_rank(rows).tolist() == [0, 0, 0]
    assert ours.is_nondominated(rows).all()
