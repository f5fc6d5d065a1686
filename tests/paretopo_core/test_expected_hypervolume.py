"""expected_hypervolume and hypervolume_advantage of many points, and of huge and tiny volumes."""

import numpy as np
import pytest

import paretopo_core as pp


def test_sixty_four_points_of_four_objectives():
    """Sizes where subsets cannot be enumerated; the weights of k = 32 are ratios of 10^18."""
    rng = np.random.default_rng(5)
    points = rng.random((64, 4))
    volumes = [pp.expected_hypervolume(points, 0, k=k) for k in range(1, 65)]
    assert volumes[0] == pytest.approx(np.prod(points, axis=1).mean(), rel=1e-13)
    assert volumes[-1] == pytest.approx(pp.hypervolume(points, 0), rel=1e-12)
    assert (np.diff(volumes) > 0).all()
    assert (np.diff(volumes, 2) < 0).all()  # each draw more adds less
    for k in (1, 2, 32, 63):
        draws = [rng.choice(64, k, replace=False) for _ in range(4000)]
        seen = pp.hypervolume(points[np.array(draws)], 0)
        error = seen.std() / np.sqrt(len(seen))
        assert abs(seen.mean() - volumes[k - 1]) < 5 * error + 1e-9


def test_z_scores_of_huge_volumes_are_finite():
    rewards = np.random.default_rng(0).random((3, 6, 2)) * 2.0**400
    scores = pp.hypervolume_advantage(rewards, 0, k=2, centre="std")
    np.testing.assert_allclose(
        scores,
        pp.hypervolume_advantage(rewards * 2.0**-390, 0, k=2, centre="std"),
        rtol=1e-9,
    )
    tiny = pp.hypervolume_advantage(rewards * 2.0**-900, 0, k=2, centre="std")
    assert (np.abs(tiny) < 1e-100).all()  # next to the epsilon
