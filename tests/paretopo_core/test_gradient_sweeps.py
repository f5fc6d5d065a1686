"""Slopes of 2 and 3 objectives come from sweeps: they are the facets of the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import few_values, finite, large_set, point_batches

import paretopo_core as pp


def facets(points, ref):
    """Return each point's contribution in the other objectives to its predecessors in one."""
    slopes = np.zeros_like(points)
    inside = np.flatnonzero((points > ref).all(axis=1))
    for i in inside:
        for m in range(points.shape[1]):
            others = [k for k in range(points.shape[1]) if k != m]
            before = [
                j
                for j in inside
                if points[j, m] > points[i, m] or (points[j, m] == points[i, m] and j < i)
            ]
            if not others:
                slopes[i, m] = not before
                continue
            grown = pp.hypervolume(points[[*before, i]][:, others], ref)
            slopes[i, m] = grown - pp.hypervolume(points[before][:, others], ref)
    return slopes


@pytest.mark.parametrize("kind", ["uniform", "sphere", "grid", "chain", "antichain", "equal"])
@pytest.mark.parametrize("objectives", [2, 3])
def test_large_sets(kind, objectives):
    points = large_set(kind, 150, objectives)
    ref = points.min() - 0.5
    scale = max(1.0, float(np.abs(points - ref).max())) ** (objectives - 1)
    np.testing.assert_allclose(
        pp.hypervolume_gradient(points, ref), facets(points, ref), rtol=1e-9, atol=1e-12 * scale
    )


@given(
    points=point_batches(elements=st.one_of(few_values, finite), min_points=1, max_points=40),
    seed=st.integers(0, 9),
)
def test_chosen_points_have_the_same_slopes(points, seed):
    points = points.astype(np.float64)
    wanted = np.random.default_rng(seed).random(points.shape[:-1]) < 0.1
    whole = pp.hypervolume_gradient(points, -1.5)
    np.testing.assert_array_equal(
        pp.hypervolume_gradient(points, -1.5, wanted=wanted),
        np.where(wanted[..., None], whole, 0.0),
    )
