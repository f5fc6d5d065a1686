"""Options of ranks and filters: dominance=, duplicates=, violation=, n_below= and epsilon=."""

import numpy as np
import pytest
from support.strategies import LARGE_KINDS, large_set

import paretopo_core as pp
from paretopo_core import _dominance, definitions


def test_boxes_narrower_than_floats_hold_one_value_each(send):
    for points, epsilon in (
        ([[1e300, 2.0], [2e300, 1.0]], 1e-9),
        ([[1.0, 2.0], [2.0, 1.0]], 1e-310),
        ([[1.0, 1 + 2**-52], [1 + 2**-52, 1.0]], 3e-17),
    ):
        kept = pp.is_nondominated(send(np.array(points)), epsilon=epsilon)
        assert kept.tolist() == [True, True]
        archive = pp.ParetoArchive([0.0, 0.0], epsilon=epsilon)
        archive.extend(points)
        assert archive.points.tolist() == points


def test_large_fronts_without_near_duplicates():
    x = np.random.default_rng(5).permutation(np.arange(5_000.0))
    front = np.stack([x, -x, np.zeros(5_000)], axis=1)
    kept = pp.is_nondominated(front, duplicate_tolerance=[3.0, 10.0, 0.0])
    gaps = np.diff(np.sort(x[kept]))
    assert gaps.min() > 3  # none is near another,
    assert gaps.max() <= 7  # and none is left out that is near none
    assert kept[0]


@pytest.mark.parametrize("kind", LARGE_KINDS)
@pytest.mark.parametrize(
    ("objectives", "dtype"), [(2, np.float32), (3, np.float64), (4, np.float32), (6, np.float64)]
)
def test_strict_filters_of_large_sets_equal_their_definition(kind, objectives, dtype):
    points = large_set(kind, 600, objectives).astype(dtype)
    points[::29, -1] = -np.inf
    points[7::31, 1] = np.nan
    options = {"maximise": [m % 2 == 0 for m in range(objectives)], "dominance": "strict"}
    mask = np.arange(len(points)) % 7 > 0
    both = np.stack([points, points[::-1]])
    for duplicates in ("all", "first", "none"):
        options["duplicates"] = duplicates
        found = pp.is_nondominated(both, mask=mask, **options)
        expected = definitions.is_nondominated(both, mask=np.stack([mask, mask]), **options)
        np.testing.assert_array_equal(found, expected)
    assert (pp.is_nondominated(points) <= pp.is_nondominated(points, dominance="strict")).all()


@pytest.mark.parametrize("objectives", [2, 3, 4, 6])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weakly_dominated_copies_of_a_long_front_stay(objectives, dtype):
    rng = np.random.default_rng(objectives)
    front = large_set("sphere", 350, objectives).astype(dtype)
    front[::50, -1] = np.nan
    worse = front.copy()
    worse[np.arange(350), rng.integers(0, objectives, 350)] -= 1
    points = rng.permutation(
        np.concatenate([front, worse, front[:50], front[:100] - 1, worse[:50]])
    )
    mask = rng.random(len(points)) < 0.9
    for duplicates in ("all", "first", "none"):
        options = {"duplicates": duplicates, "dominance": "strict", "mask": mask}
        found = pp.is_nondominated(points, **options)
        np.testing.assert_array_equal(found, definitions.is_nondominated(points, **options))
        weakly = found & ~pp.is_nondominated(points, mask=mask)
        assert objectives < 4 or weakly.sum() > 50  # so many that ranks decide


@pytest.mark.parametrize("objectives", [2, 3])
def test_neighbouring_floats_are_strictly_ordered(objectives):
    rng = np.random.default_rng(1)
    tiny = np.finfo(np.float64).smallest_subnormal
    points = rng.integers(-4, 5, (500, objectives)) * tiny
    points[100:200] = 1.0 + rng.integers(-4, 5, (100, objectives)) * 2.0**-52
    for maximise in (True, False):
        options = {"maximise": maximise, "dominance": "strict"}
        found = pp.is_nondominated(points, **options)
        np.testing.assert_array_equal(found, definitions.is_nondominated(points, **options))


@pytest.mark.parametrize("objectives", [2, 3, 5])
def test_strict_ranks_of_more_points_than_a_double_squares(monkeypatch, objectives):
    points = np.random.default_rng(2).integers(0, 4, (300, objectives)).astype(float)
    points[::7, 0] = np.nan
    expected = pp.pareto_rank(points, dominance="strict")
    np.testing.assert_array_equal(expected == 0, pp.is_nondominated(points, dominance="strict"))
    monkeypatch.setattr(_dominance, "_MAX_SQUARED", 10)
    np.testing.assert_array_equal(pp.pareto_rank(points, dominance="strict"), expected)


@pytest.mark.parametrize("objectives", [2, 3, 5])
@pytest.mark.parametrize("kind", ["uniform", "grid", "sphere", "chain", "equal"])
def test_few_ranks_of_a_large_set_are_those_of_all(send, kind, objectives):
    points = large_set(kind, 5_000, objectives)
    maximise = [m % 2 == 0 for m in range(objectives)]
    mask = np.arange(len(points)) % 7 > 0
    for keep in (None, mask):
        ranks = pp.pareto_rank(points, maximise=maximise, mask=keep)
        sizes = np.cumsum(np.bincount(ranks[ranks >= 0]))
        for n_below in (1, 40, 1_000, 4_999, 9_999):
            last = int((sizes < n_below).sum()) + 1
            few = pp.pareto_rank(send(points), maximise=maximise, mask=send(keep), n_below=n_below)
            np.testing.assert_array_equal(np.asarray(few), np.minimum(ranks, last))
    both = np.stack([points, points[::-1]])
    violation = np.maximum(0, np.arange(len(points)) % 5 - 2)
    few = pp.pareto_rank(send(both), n_below=300, violation=violation)
    for group, found in zip(both, np.asarray(few), strict=True):
        every = pp.pareto_rank(group, violation=violation)
        last = int((np.cumsum(np.bincount(every)) < 300).sum()) + 1
        np.testing.assert_array_equal(found, np.minimum(every, last))


def test_violations_are_broadcast_and_may_be_lists():
    points = np.arange(12.0).reshape(2, 3, 2)
    expected = [[0, 2, 1], [0, 2, 1]]
    for violation in ([0, 2, 1], (0.0, 2.0, 1.0), np.array([[0, 2, 1]], dtype=np.int8)):
        assert pp.pareto_rank(points, violation=violation).tolist() == expected
        assert pp.pareto_rank(points.tolist(), violation=violation).tolist() == expected
    assert pp.is_nondominated([[1, 0], [0, 1]], violation=[2, 2]).tolist() == [True, True]
    assert pp.is_nondominated([[1, 0], [0, 1]], violation=[2, 2], duplicates="first").tolist() == [
        True,
        False,
    ]


def test_a_tolerance_takes_points_that_require_a_gradient():
    torch = pytest.importorskip("torch")
    points = torch.rand(3, 5, 2, requires_grad=True)
    assert pp.is_nondominated(points, duplicate_tolerance=0.1).shape == (3, 5)
