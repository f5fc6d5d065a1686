"""Bias and variance of baselines for each turn, as docs/estimators.md prints them."""

import numpy as np

from research.turns import TREES, grow_tree, measure_baselines, measure_many


def test_the_numbers_of_the_page():
    found = [measure_baselines(grow_tree(*one), points=8) for one in TREES]
    np.testing.assert_allclose(found, [[17.10, 1.07], [0.40, 0.99], [1.72, 0.94]], atol=0.005)
    found = np.percentile(measure_many(points=8), [0, 50, 100], axis=0)
    np.testing.assert_allclose(found, [[0.09, 0.81], [1.36, 1.02], [113.39, 1.16]], atol=0.006)
