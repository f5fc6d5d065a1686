"""Contributions, or the distance from where there would be one."""

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_distance_is_the_shortest_move(objectives):
    """No shorter move leaves the dominated region, and the nearest free place is as far away."""
    points = large_set("uniform", 30, objectives)
    values = pp.uncrowded_contributions(points, 0.0)
    shares = pp.hypervolume_contributions(points, 0.0)
    dominated = ~pp.is_nondominated(points)
    np.testing.assert_array_equal(values[~dominated], shares[~dominated])
    assert (values[dominated] < 0).all()
    rng = np.random.default_rng(0)
    ways = np.abs(rng.standard_normal((2_000, objectives)))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    front = points[~dominated]
    for i in np.flatnonzero(dominated):

        def is_covered(length, start=points[i]):
            return (front[:, None] >= start + length * ways).all(-1).any(0)

        assert is_covered(-values[i] * (1 - 1e-9)).all()
        assert not is_covered(-values[i] * 1.3 + 0.02).all()


def test_golden_values():
    points = [[1, 3], [3, 1], [1, 1], [0.5, 2.5], [-3, -4], [1, 3], [3, 0.5], [-np.inf, 1]]
    values = pp.uncrowded_contributions(points, 0)
    # Two equal points add nothing; a corner between two others is on the border; below the
    # reference, the nearest of three gaps counts.
    assert values[:4].tolist() == [0, 2, 0, -0.5]
    assert values[4] == -np.sqrt(min((3 + 3) ** 2 + 4**2, 3**2 + (4 + 3) ** 2, 4**2 + 5**2))
    assert values[5:].tolist() == [0, 0, -np.inf]


class TestSlopes:
    def test_golden_slopes(self):
        torch = pytest.importorskip("torch")
        points = torch.tensor(
            [[1.0, 3], [3, 1], [0.5, 0.5], [2, 0.5], [-np.inf, 1]], requires_grad=True
        )
        values = pp.uncrowded_contributions(points, 0.0)
        # The nearest gap is at (1, 1), which the one point bounds in x and the other in y.
        (slope,) = torch.autograd.grad(values[2], points, retain_graph=True)
        half = np.sqrt(0.5)
        expected = [[-half, 0], [0, -half], [half, half], [0, 0], [0, 0]]
        np.testing.assert_allclose(slope.numpy(), expected, rtol=1e-6)
        (slope,) = torch.autograd.grad(values[3], points, retain_graph=True)
        assert slope.tolist() == [[0, 0], [0, -1], [0, 0], [0, 1], [0, 0]]
        (slope,) = torch.autograd.grad(values[4], points)
        assert slope[4].tolist() == [1, 0]
