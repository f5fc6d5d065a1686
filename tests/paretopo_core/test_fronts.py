"""pareto_rank and is_nondominated."""

import sys
import time

import numpy as np
import pytest
from support.strategies import large_set

import paretopo_core as pp


def test_ranks_equal_moocore_on_large_sets():
    moocore = pytest.importorskip("moocore")
    for kind in ("uniform", "sphere", "chain", "grid"):
        for objectives in (2, 3, 4, 5):
            points = large_set(kind, 2000, objectives)
            np.testing.assert_array_equal(
                pp.pareto_rank(points), moocore.pareto_rank(points, maximise=True)
            )


def test_a_very_large_set_has_the_ranks_of_its_layers():
    """With 6 objectives, sets from 2^18 points have finer buckets."""
    rng = np.random.default_rng(0)
    free = rng.integers(-1000, 1000, (90_000, 5))
    layer = np.unique(np.column_stack([free, -free.sum(1)]), axis=0)  # sums are 0: one front
    points = np.concatenate([layer - k for k in range(3)])
    expected = np.repeat(np.arange(3), len(layer))
    shuffled = rng.permutation(len(points))
    np.testing.assert_array_equal(pp.pareto_rank(points[shuffled]), expected[shuffled])
    np.testing.assert_array_equal(pp.is_nondominated(points[shuffled]), expected[shuffled] == 0)


def test_nan_ranks_below_every_number_in_both_senses():
    points = np.array([[np.nan], [-np.inf], [np.inf], [0.0]])
    assert pp.pareto_rank(points).tolist() == [3, 2, 0, 1]
    assert pp.pareto_rank(points, maximise=False).tolist() == [3, 0, 2, 1]


def test_both_zeros_are_one():
    assert pp.pareto_rank([[0.0], [-0.0]]).tolist() == [0, 0]
    assert pp.pareto_rank(np.resize([[0.0, -0.0], [-0.0, 0.0]], (200, 2))).max() == 0


@pytest.mark.parametrize("objectives", [2, 3])
def test_a_hundred_thousand_points_rank_in_seconds(objectives):
    for kind in ("uniform", "sphere", "chain", "antichain"):
        points = large_set(kind, 100_000, objectives)
        start = time.process_time()
        pp.pareto_rank(points)
        assert time.process_time() - start < 2.0, kind


def test_many_points_need_little_memory():
    """pymoo#79, jMetal#240."""
    resource = pytest.importorskip("resource")
    points = np.random.default_rng(7).random((50_000, 5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert pp.pareto_rank(points).min() == 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    unit = 1024 if sys.platform.startswith("linux") else 1
    assert used * unit < 100e6  # a comparison of each pair would fill 2.5e9 bytes
