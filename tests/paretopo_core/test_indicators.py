"""Distances to a target set, R2 and ε: against their definitions, moocore, and closed forms."""

import math

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp
from paretopo_core import definitions

moocore = pytest.importorskip("moocore")

MEANS = (
    "generational_distance",
    "generational_distance_plus",
    "inverted_generational_distance",
    "inverted_generational_distance_plus",
    "average_hausdorff_distance",
)
EPSILONS = ("epsilon_additive", "epsilon_multiplicative")
ALL = (*MEANS, *EPSILONS)


@pytest.mark.parametrize("name", MEANS)
def test_large_sets_and_chunks(name):
    points, others = large_set("sphere", 1500, 3), large_set("sphere", 1300, 3, seed=1)
    ours = getattr(pp, name)(points, others, p=2)
    assert ours == pytest.approx(definitions.indicator(name, points, others, p=2.0), rel=1e-12)


def test_printed_numbers():
    """Ishibuchi et al. (2015), example 4: IGD prefers B, which is worse."""
    front = np.array([[10, 0], [6, 1], [2, 2], [1, 6], [0, 10]])
    a, b = np.array([[4, 2], [3, 3], [2, 4]]), np.array([[8, 2], [4, 4], [2, 8]])
    values = [
        round(float(pp.inverted_generational_distance(each, front, maximise=False)), 3)
        for each in (a, b)
    ]
    assert values == [3.707, 2.591]
    values = [
        round(float(pp.inverted_generational_distance_plus(each, front, maximise=False)), 3)
        for each in (a, b)
    ]
    assert values == [1.483, 2.260]


def test_sets_without_points():
    others = np.ones((2, 2))
    for name in ALL:
        expected = math.nan if name.startswith("generational_distance") else math.inf
        empty = getattr(pp, name)(np.empty((3, 0, 2)), others)
        np.testing.assert_array_equal(empty, [expected] * 3)
        masked = getattr(pp, name)([[1.0, 2.0]], others, mask=[False])
        np.testing.assert_array_equal(masked, expected)
        assert getattr(pp, name)(np.empty((0, 3, 2)), others).shape == (0,)


def test_threads_share_large_target_sets(threads, each_isa):
    points, others = large_set("sphere", 700, 5), large_set("sphere", 5000, 5, seed=1)

    def measure():
        values = [getattr(pp, each)(points + 0.1, others + 0.1) for each in ALL]
        return [*values, pp.r2_indicator(points, 2.0, weights=others)]

    threads(1)
    expected = each_isa(measure)
    threads(3)
    assert each_isa(measure) == expected


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ALL)
def test_values_that_are_refused_are_named(name, wrong):
    measure, good = getattr(pp, name), np.ones((300, 3))
    bad = good.copy()
    bad[280, 1] = wrong
    with pytest.raises(ValueError, match=rf"but points\[280, 1\] is {wrong}; .* with mask="):
        measure(bad, good)
    with pytest.raises(ValueError, match=r"but target\[280, 1\] is .* with target_mask="):
        measure(good, bad)
    keep = np.arange(300) != 280
    assert measure(bad, good, mask=keep) == measure(good, bad, target_mask=keep)


def test_ratios_take_positive_values():
    good, bad = np.ones((3, 2)), np.array([[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"finite and above 0.*points\[0, 1\] is 0.0"):
        pp.epsilon_multiplicative(bad, good)
    with pytest.raises(ValueError, match=r"finite and above 0.*points\[0, 0\] is 1e-310"):
        pp.epsilon_multiplicative([[1e-310, 1.0]], good)
    assert pp.epsilon_multiplicative([[1e308, 2.3e-308]], [[1e308, 2.3e-308]]) == pytest.approx(
        1, rel=1e-14
    )
    with pytest.raises(ValueError, match=r"finite and above 0.*target\[0, 1\] is 0.0"):
        pp.epsilon_multiplicative(good, bad, maximise=False)


def test_many_objectives():
    points, others = large_set("uniform", 5, 70), large_set("uniform", 6, 70, seed=1)
    maximise = [m % 3 == 0 for m in range(70)]
    for name in (*MEANS, "epsilon_additive"):
        ours = getattr(pp, name)(points, others, maximise=maximise)
        defined = definitions.indicator(name, points, others, maximise=maximise)
        assert ours == pytest.approx(float(defined), rel=1e-12)
    expected = definitions.indicator("epsilon_multiplicative", points, others)
    assert pp.epsilon_multiplicative(points, others) == pytest.approx(float(expected), rel=1e-12)
    with pytest.raises(ValueError, match="takes up to 64 objectives where smaller is better"):
        pp.epsilon_multiplicative(points, others, maximise=maximise)


def test_a_lattice_of_weights():
    points = large_set("sphere", 50, 3)
    weights = np.array([(i, j, 6 - i - j) for i in range(7) for j in range(7 - i)], dtype=float) / 6
    assert pp.r2_indicator(points, 1.0, weights=6) == pytest.approx(
        pp.r2_indicator(points, 1.0, weights=weights)
    )
    assert pp.r2_indicator(points[:, :1], 1.0, weights=6) == pytest.approx(1 - points[:, 0].max())


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("name", ["epsilon_additive", "epsilon_multiplicative"])
def test_epsilon_of_many_in_any_order_is_the_largest(name, objectives):
    rng = np.random.default_rng(objectives)
    points, others = rng.random((75, objectives)) + 0.1, rng.random((700, objectives)) + 0.1
    mask, kept = rng.random(75) < 0.7, rng.random(700) < 0.7
    for maximise in (False, True):
        differences = points[None] - others[:, None]
        ratio = points[None] / others[:, None]
        gaps = (-differences if maximise else differences) if name == "epsilon_additive" else ratio
        gaps = 1 / gaps if maximise and name == "epsilon_multiplicative" else gaps
        least = np.where(mask, gaps.max(axis=-1), np.inf).min(axis=1)
        for order in (np.arange(700), least.argsort(), least.argsort()[::-1]):
            found = getattr(pp, name)(
                points, others[order], maximise=maximise, mask=mask, target_mask=kept[order]
            )
            assert found == pytest.approx(least[kept].max(), rel=1e-15)
