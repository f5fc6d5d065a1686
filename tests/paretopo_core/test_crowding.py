"""crowding_distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support.strategies import LARGE_KINDS, large_set, masked_batches

import paretopo_core as pp
from paretopo_core import reference


@given(batch=masked_batches())
def test_it_equals_its_definition(backend, batch):
    points, mask = batch
    distances = pp.crowding_distance(backend.send(points), mask=backend.send(mask))
    expected = reference.crowding_distance(points, mask=mask)
    np.testing.assert_allclose(backend.fetch(distances), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", LARGE_KINDS)
def test_large_sets_equal_the_definition(kind):
    points = large_set(kind, 200, 3)
    np.testing.assert_allclose(
        pp.crowding_distance(points), reference.crowding_distance(points), rtol=1e-12
    )


def test_order_of_points_does_not_matter_without_ties():
    points = large_set("uniform", 150, 3)
    order = np.random.default_rng(5).permutation(len(points))
    np.testing.assert_allclose(
        pp.crowding_distance(points[order]), pp.crowding_distance(points)[order], rtol=1e-13
    )


def test_the_ends_of_a_front_are_alone():
    points = np.array([[0.0, 4.0], [1.0, 3.0], [4.0, 0.0], [0.0, 0.0]])
    assert pp.crowding_distance(points).tolist() == [np.inf, 2.0, np.inf, np.inf]
    assert pp.crowding_distance(np.zeros((1, 2))).tolist() == [np.inf]
