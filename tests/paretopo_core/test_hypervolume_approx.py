"""Estimated hypervolumes: their mean, their standard error and their invariances."""

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


@pytest.mark.parametrize("objectives", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("kind", ["uniform", "sphere", "grid", "chain"])
def test_estimate_is_unbiased_and_its_error_is_the_spread(kind, objectives):
    points = large_set(kind, 40, objectives)
    exact = float(pp.hypervolume(points, -0.1))
    draws = [pp.hypervolume_approx(points, -0.1, samples=256, rng=seed) for seed in range(60)]
    volumes = np.array([draw.value for draw in draws])
    errors = np.array([draw.error for draw in draws])
    if volumes.std() < 1e-9 * exact:  # one box holds the others
        np.testing.assert_allclose(volumes, exact, rtol=1e-9)
        return
    assert abs(volumes.mean() - exact) < 4 * volumes.std() / np.sqrt(len(draws))
    # The spread of 60 draws is known to a tenth; the reported error must agree.
    ratio = np.sqrt((errors**2).mean()) / volumes.std()
    assert 0.7 < ratio < 1.4
    assert (np.abs(volumes - exact) < 2 * errors).mean() > 0.8


@pytest.mark.parametrize("call", [pp.hypervolume_approx, pp.hypervolume_contributions_approx])
def test_a_generator_gives_each_call_a_seed_and_no_source_gives_new_ones(call):
    points = large_set("sphere", 60, 5)
    first, other = (np.random.default_rng(3), np.random.default_rng(3))
    seed = int(other.integers(2**63 - 1, endpoint=True))
    drawn = call(points, 0.0, samples=32, rng=first)
    np.testing.assert_array_equal(drawn, call(points, 0.0, samples=32, rng=seed))
    again = [call(points, 0.0, samples=32, rng=source) for source in (first, None, None)]
    assert len({np.asarray(each).tobytes() for each in (drawn, *again)}) == 4


@pytest.mark.parametrize("samples", [32, 4096, 65536])
def test_an_error_includes_rounding(samples):
    for points in (np.ones((5, 8)), np.full((1, 3), 0.1), [[0.1, 0.3], [0.2, 0.3]]):
        volume, error = pp.hypervolume_approx(points, 0, samples=samples, rng=0)
        assert 0 < abs(volume - pp.hypervolume(points, 0)) + error < 1e-11
        assert abs(volume - pp.hypervolume(points, 0)) <= error
        contributions, errors = pp.hypervolume_contributions_approx(
            points, 0, samples=samples, rng=0
        )
        assert (abs(contributions - pp.hypervolume_contributions(points, 0)) <= errors).all()


@pytest.mark.parametrize(
    ("points", "ref"),
    [
        ([[2e154, 1e154], [1e154, 2e154]], 0.0),  # boxes overflow, contributions do not
        ([[1e200, 3e200], [3e200, 1e200]], 0.0),  # contributions do, too
        ([[1.7e308, 0.25], [1.6e308, 0.5]], [-1.7e308, 0.0]),  # distances do
        ([[1e300, 1e-300], [1e-300, 1e300]], 0.0),
    ],
)
def test_estimates_out_of_range_are_infinite_and_others_keep_their_digits(points, ref):
    estimates = (
        (pp.hypervolume_approx(points, ref, rng=0), pp.hypervolume(points, ref)),
        (
            pp.hypervolume_contributions_approx(points, ref, rng=0),
            pp.hypervolume_contributions(points, ref),
        ),
    )
    for (found, error), exact in estimates:
        infinite = np.isinf(exact)
        assert (np.isinf(found) == infinite).all()
        assert (np.isinf(error) == infinite).all()
        with np.errstate(invalid="ignore"):
            assert (infinite | (abs(found - exact) <= 4 * error)).all()
        assert (infinite | (error < 0.1 * exact)).all()


def test_sets_without_volume():
    for points in (np.empty((2, 0, 3)), np.full((2, 4, 3), -1.0), np.full((2, 4, 3), -np.inf)):
        volume, error = pp.hypervolume_approx(points, 0.0, samples=32, rng=0)
        assert volume.tolist() == error.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("objectives", [2, 3, 5, 8])
def test_contributions_are_unbiased_and_their_errors_are_the_spread(objectives):
    """pagmo2#582."""
    points = large_set("sphere", 25, objectives, seed=2)
    exact = pp.hypervolume_contributions(points, -0.1)
    draws = [
        pp.hypervolume_contributions_approx(points, -0.1, samples=256, rng=s) for s in range(60)
    ]
    found = np.array([draw.value for draw in draws])
    errors = np.array([draw.error for draw in draws])
    spread = found.std(axis=0)
    random = spread > 1e-9 * np.prod(points + 0.1, axis=1)  # not one box that holds the others
    np.testing.assert_allclose(found[:, ~random], np.tile(exact[~random], (60, 1)), atol=1e-9)
    assert random.any()
    deviation = abs(found.mean(axis=0) - exact)[random] / (spread[random] / np.sqrt(60))
    assert deviation.max() < 5
    ratio = np.sqrt((errors**2).mean(axis=0))[random] / spread[random]
    assert ratio.min() > 0.6
    assert ratio.max() < 1.6


def test_points_without_a_contribution_have_an_exact_zero():
    points = [[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [0.0, 0.0], [-1.0, 5.0]]
    contributions, error = pp.hypervolume_contributions_approx(points, 0, rng=0)
    assert contributions.tolist() == [0, 0, 1, 0, 0]
    assert (error > 0).tolist() == [False, False, True, False, False]  # of rounding
    assert pp.hypervolume_contributions_approx(np.zeros((3, 0, 2)), 0, rng=0).error.shape == (3, 0)
