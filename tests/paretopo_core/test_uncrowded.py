"""Contributions, or the distance from where there would be one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import few_values, large_set, masked_batches, senses

import paretopo_core as pp
from paretopo_core import reference


@given(batch=masked_batches(elements=few_values, max_points=5, max_objectives=3), data=st.data())
def test_they_are_their_definition(batch, data):
    points, mask = batch
    maximise = data.draw(senses(points.shape[-1]))
    keywords = {"maximise": maximise, "mask": mask}
    ref = np.where(np.broadcast_to(maximise, points.shape[-1]), -1.0, 1.0)
    np.testing.assert_allclose(
        pp.uncrowded_contributions(points, ref, **keywords),
        reference.uncrowded_contributions(points, ref, **keywords),
        rtol=1e-12,
    )


@pytest.mark.parametrize("objectives", [2, 3, 4])
def test_moving_that_far_is_what_it_takes(objectives):
    """No shorter way leaves what the others dominate, and the nearest place is as far away."""
    points = large_set("uniform", 30, objectives)
    values = pp.uncrowded_contributions(points, 0.0)
    shares = pp.hv_contributions(points, 0.0)
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
    # Of two equal points neither adds anything; a corner between two others is on the border; below
    # the reference, the nearest of three gaps counts.
    assert values[:4].tolist() == [0, 2, 0, -0.5]
    assert values[4] == -np.sqrt(min((3 + 3) ** 2 + 4**2, 3**2 + (4 + 3) ** 2, 4**2 + 5**2))
    assert values[5:].tolist() == [0, 0, -np.inf]
    with pytest.raises(ValueError, match=r"points\[0, 1\] is NaN"):
        pp.uncrowded_contributions([[1, np.nan]], 0)


def test_batches_and_their_references():
    points = np.random.default_rng(0).random((4, 9, 3))
    ref = np.random.default_rng(1).random((4, 3)) / 2
    together = pp.uncrowded_contributions(points, ref)
    for g in range(4):
        np.testing.assert_array_equal(together[g], pp.uncrowded_contributions(points[g], ref[g]))
