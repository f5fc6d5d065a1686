"""hypervolume and hypervolume_contributions."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5, 6])
def test_empty_set_has_no_volume_as_the_first_of_a_thread(objectives):
    """A new thread has no buffers of earlier sets."""
    empty, ref = np.zeros((0, objectives)), np.zeros(objectives)
    for call, expected in ((pp.hypervolume, 0.0), (pp.hypervolume_contributions, [])):
        with ThreadPoolExecutor(1) as pool:
            np.testing.assert_array_equal(pool.submit(call, empty, ref).result(), expected)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(pp.hypervolume_gradient, empty, ref).result()
    assert found.shape == (0, objectives)


@pytest.mark.parametrize(
    ("objectives", "large", "small"),
    [(2, 2.0**900, 2.0**-900), (3, 2.0**700, 1.0), (4, 2.0**600, 2.0**-100)],
)
def test_points_of_very_different_scales(objectives, large, small):
    """Each point leads in one objective; scaled by the largest, the others would vanish."""
    points = np.where(np.eye(objectives) > 0, large, small)
    own = (large - small) * small ** (objectives - 1)
    whole = objectives * own + small**objectives
    for copies in (1, 6):
        volumes = pp.hypervolume(np.tile(points, (copies, 1, 1)), 0)
        np.testing.assert_allclose(volumes, whole, rtol=1e-14)
    np.testing.assert_allclose(pp.hypervolume_contributions(points, 0), own, rtol=1e-14)


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_points_are_excluded_before_rounding(objectives):
    rng = np.random.default_rng(objectives)
    for far in (2.0**4, 2.0**56):  # from which sides of these points are exact, or multiples of 16
        for _ in range(200):
            points = rng.integers(0, 40, (rng.integers(1, 30), objectives)).astype(float)
            kept = pp.is_nondominated(points)
            expected = np.zeros(len(points))
            expected[kept] = pp.hypervolume_contributions(
                points[kept], -far, ignore_dominated=False
            )
            np.testing.assert_array_equal(pp.hypervolume_contributions(points, -far), expected)


@pytest.mark.parametrize("kind", ["sphere", "uniform", "antichain"])
def test_a_hundred_thousand_points_in_a_second(kind):
    points = large_set(kind, 100_000, 3)
    start = time.process_time()
    volume = pp.hypervolume(points, points.min(axis=0) - 1)
    assert time.process_time() - start < 1.0
    moocore = pytest.importorskip("moocore")
    expected = moocore.hypervolume(points, ref=points.min(axis=0) - 1, maximise=True)
    assert volume == pytest.approx(expected, rel=1e-11)


def test_volumes_beyond_double_are_infinite_not_nan():
    huge = np.full((3, 4), 1e300) * np.array([[1.0], [0.5], [0.25]])
    assert pp.hypervolume(huge, 0) == np.inf
    assert pp.hypervolume(np.full((2, 2), 1.7e308), -1.7e308) == np.inf
    tiny = np.full((1, 4), 1e-200)
    assert pp.hypervolume(tiny, 0) == 0.0


@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_distance_that_overflows_is_never_cut(backend, objectives, count):
    points = np.full((2, count, objectives), -0.5)
    points[:, -1, 0] = 1.7e308
    points[0, :, 1:] = -1.0 + 2.0**-10
    ref = np.full(objectives, -1.0)
    ref[0] = -1.7e308
    if backend.name.startswith(("emulated", "torch_cuda")):
        assert np.isnan(backend.fetch(pp.hypervolume(backend.send(points), ref))).all()
        assert np.isnan(
            backend.fetch(pp.hypervolume_contributions(backend.send(points), ref))
        ).all()
        return
    whole = backend.fetch(pp.hypervolume(backend.send(points), ref))
    drawn = backend.fetch(
        pp.expected_hypervolume(backend.send(points[:, -3:]), ref, k=min(count, 3))
    )
    np.testing.assert_allclose(drawn, whole, rtol=1e-12)
    for g, other in ((0, 2.0**-10), (1, 0.5)):
        volume = np.inf if objectives == 1 else np.ldexp(1.7e308 * other, 1)
        volume = volume * other ** max(objectives - 2, 0)
        assert whole[g] == pytest.approx(volume, rel=1e-12)
    if objectives > 1:
        with pytest.raises(ValueError, match=r"is 1.7e\+308, so far from ref"):
            pp.hypervolume(backend.send(points), np.stack([ref, ref]))  # one to each set
