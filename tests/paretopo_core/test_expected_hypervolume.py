"""expected_hypervolume and hypervolume_advantage: definitions, backends, edges, errors."""

import numpy as np
import pytest

import paretopo_core as pp

CENTRES = ("exact", "none", "mean", "loo", "std")


@pytest.mark.parametrize(
    ("points", "objectives"),
    [(7, 1), (8, 2), (13, 2), (16, 2), (33, 2), (8, 3), (11, 3), (20, 3), (64, 3), (9, 4), (6, 5)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sizes_of_every_kernel_give_the_same_bits(backend, points, objectives, dtype):
    """A group's result does not depend on other groups of the batch or on padding."""
    rng = np.random.default_rng(points * objectives)
    rewards = rng.normal(size=(19, points, objectives)).astype(dtype)
    rewards[::3] = rng.integers(-1, 3, rewards[::3].shape)
    mask = rng.random((19, points)) < 0.8
    for k in (1, 2, 3, points // 2, points - 1, points):
        for keep in (None, mask):
            keywords = {"k": k, "centre": CENTRES[k % 5]}
            together = backend.fetch(
                pp.hypervolume_advantage(
                    backend.send(rewards),
                    -1,
                    mask=None if keep is None else backend.send(keep),
                    **keywords,
                )
            )
            for g in range(19):
                own = None if keep is None else keep[g]
                expected = pp.hypervolume_advantage(rewards[g], -1, mask=own, **keywords)
                np.testing.assert_array_equal(together[g], expected)
                if keep is not None and k <= own.sum():
                    unpadded = pp.hypervolume_advantage(rewards[g][own], -1, **keywords)
                    np.testing.assert_array_equal(together[g][own], unpadded)
            volumes = pp.expected_hypervolume(
                backend.send(rewards), -1, k=k, mask=None if keep is None else backend.send(keep)
            )
            own = [
                pp.expected_hypervolume(rewards[g], -1, k=k, mask=None if keep is None else keep[g])
                for g in range(19)
            ]
            np.testing.assert_array_equal(backend.fetch(volumes), own)


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
