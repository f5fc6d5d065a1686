"""Contributions keep their digits where they are tiny parts of the boxes around them."""

from fractions import Fraction

import numpy as np
import pytest
from support.exact_volumes import exact_volume

import paretopo_core as pp


def exact_contributions(points):
    rows = [[Fraction(float(x)) for x in row] for row in points]
    whole = exact_volume(rows)
    return [float(whole - exact_volume(rows[:i] + rows[i + 1 :])) for i in range(len(rows))]


def front(points, objectives, spread, seed):
    rng = np.random.default_rng(seed)
    directions = np.abs(rng.normal(size=(points, objectives)))
    return 1.0 + spread * directions / np.linalg.norm(directions, axis=1, keepdims=True)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize(("points", "objectives"), [(12, 2), (12, 3), (10, 4), (7, 5), (6, 6)])
def test_contributions_of_narrow_fronts(each_isa, points, objectives, spread):
    for seed in range(2):
        values = front(points, objectives, spread, seed)
        expected = exact_contributions(values)
        np.testing.assert_allclose(pp.hypervolume_contributions(values, 0), expected, rtol=1e-9)


def test_a_grid_of_ulps():
    """Make eight points that differ by a few units in the last place."""
    ulp = 2.0**-52
    values = np.array([[1 + i * ulp, 1 + (7 - i) * ulp, 1 + 3 * i % 8 * ulp, 1] for i in range(8)])
    expected = exact_contributions(values)
    np.testing.assert_allclose(pp.hypervolume_contributions(values, 0), expected, rtol=1e-9)


@pytest.mark.parametrize("objectives", [2, 3, 4, 5])
def test_gains_of_an_archive_keep_their_digits(each_isa, objectives):
    values = front(8, objectives, 1e-6, 3)
    for last in range(len(values)):
        others = [i for i in range(len(values)) if i != last]
        archive = pp.ParetoArchive([0.0] * objectives)
        for i in others:
            archive.add(values[i])
        gain = archive.add(values[last])
        if objectives <= 4:
            assert gain == pytest.approx(exact_contributions(values)[last], rel=1e-9)
        assert gain == pytest.approx(pp.hypervolume_contributions(values, 0)[last], rel=1e-9)
