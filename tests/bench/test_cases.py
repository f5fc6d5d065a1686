"""Every operation has cases, and every workload is the same each time."""

import numpy as np
import pytest

from bench import judge
from bench.cases import Case
from bench.workloads import SHAPES, make_points


@pytest.mark.parametrize("workload", SHAPES)
def test_a_workload_is_the_same_every_time(workload):
    points = make_points(workload, 50, 4)
    assert points.shape == (50, 4)
    assert points.min() >= 0
    assert points.max() <= 1
    np.testing.assert_array_equal(points, make_points(workload, 50, 4))
    fronts = {"chain": 50, "equal": 1, **dict.fromkeys(("linear", "convex", "degenerate"), 1)}
    ranks = judge.solve(Case("any", "pareto_rank", workload, 50, 4))
    assert ranks.max() + 1 == fronts.get(workload, ranks.max() + 1)


def test_an_unknown_workload_is_named():
    with pytest.raises(ValueError, match=r"workload must be one of uniform, .*, got 'cubic'"):
        make_points("cubic", 3, 2)
