"""Box decompositions of the dominated and the non-dominated region."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.strategies import (
    few_values,
    large_set,
    masked_batches,
    senses,
)

import paretopo_core as pp
from paretopo_core import definitions

DIVIDED = [
    (pp.nondominated_boxes, definitions.nondominated_boxes),
    (pp.dominated_boxes, definitions.dominated_boxes),
]


def volumes_of(boxes):
    return (boxes.upper - boxes.lower).prod(-1).sum(-1)


def cells_of(points, ref, maximise):
    """One place inside each cell of the grid of integers between the reference and beyond."""
    signs = np.where(np.broadcast_to(maximise, points.shape[-1]), 1, -1)
    values = points * signs
    axes = [
        np.arange(low, max(values[:, m].max(initial=low), low) + 1) + 0.5
        for m, low in enumerate(np.broadcast_to(ref, points.shape[-1]) * signs)
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return grid.reshape(-1, points.shape[-1]) * signs


def holders_of(places, lower, upper):
    """In how many boxes each place lies."""
    inside = (lower < places[:, None]) & (places[:, None] < upper)
    return inside.all(-1).sum(-1)


@given(batch=masked_batches(elements=few_values, max_points=9, max_objectives=5), data=st.data())
def test_boxes_cover_the_region_of_the_definition_once(batch, data):
    points, mask = batch
    maximise = data.draw(senses(points.shape[-1]))
    signs = np.where(np.broadcast_to(maximise, points.shape[-1]), 1, -1)
    refs = data.draw(arrays(np.int8, (len(points), 1), elements=st.integers(-2, -1))) * signs
    for call, definition in DIVIDED:
        divided, defined = (
            divide(points, refs, maximise=maximise, mask=mask) for divide in (call, definition)
        )
        for g, (lower, upper, count) in enumerate(zip(*divided, strict=True)):
            places = cells_of(points[g][mask[g]], refs[g], maximise)
            expected = holders_of(places, *(each[g] for each in defined[:2]))
            found = holders_of(places, lower[:count], upper[:count])
            np.testing.assert_array_equal(found, expected)
            assert found.max(initial=0) <= 1
            assert (lower[:count] < upper[:count]).all()
            assert (lower[count:] == refs[g]).all()
            assert (upper[count:] == refs[g]).all()


@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", ["uniform", "sphere", "grid", "equal", "chain"])
def test_large_sets(kind, objectives):
    points = large_set(kind, 60 if objectives < 5 else 25, objectives)
    boxes = pp.dominated_boxes(points, -0.1)
    assert volumes_of(boxes) == pytest.approx(float(pp.hypervolume(points, -0.1)), rel=1e-12)
    lower, upper, _ = pp.nondominated_boxes(points, -0.1)
    top = points.max() + 1.0
    rest = (np.minimum(upper, top) - lower).prod(-1).sum()
    whole = (top + 0.1) ** objectives
    assert rest == pytest.approx(whole - float(pp.hypervolume(points, -0.1)), rel=1e-11)
    rng = np.random.default_rng(0)
    places = rng.random((500, objectives)) * (top + 0.1) - 0.1
    is_dominated = (points[:, None] > places).all(-1).any(0)
    np.testing.assert_array_equal(holders_of(places, lower, upper), ~is_dominated)
    np.testing.assert_array_equal(holders_of(places, boxes.lower, boxes.upper), is_dominated)


def test_two_objectives_have_one_box_more_than_the_front():
    for count in (1, 2, 7, 300):
        points = large_set("sphere", count, 2)
        assert pp.nondominated_boxes(points, -0.1).counts == count + 1
        assert pp.dominated_boxes(points, -0.1).counts == count


@pytest.mark.parametrize("objectives", [2, 3, 4, 5])
def test_order_copies_and_dominated_points_change_no_box(objectives):
    rng = np.random.default_rng(objectives)
    for points in (rng.integers(0, 5, (30, objectives)) * 1.0, large_set("sphere", 20, objectives)):
        more = np.concatenate([points * 0.9, points, points, points - 0.01])
        for call, _ in DIVIDED:
            for one, other in zip(call(points, -1), call(rng.permutation(more), -1), strict=True):
                np.testing.assert_array_equal(one, other)


def test_golden_values():
    boxes = pp.nondominated_boxes([[1, 2], [2, 1]], 0)
    assert boxes.lower.tolist() == [[2, 0], [1, 1], [0, 2]]
    assert boxes.upper.tolist() == [[np.inf, 1], [np.inf, 2], [np.inf, np.inf]]
    boxes = pp.nondominated_boxes([[1.0, 2.0]], 4, maximise=[False, True])
    assert (boxes.lower.tolist(), boxes.upper.tolist()) == ([[-np.inf, 4]], [[4, np.inf]])
    boxes = pp.dominated_boxes([[1.0, 6.0]], 4, maximise=[False, True])
    assert (boxes.lower.tolist(), boxes.upper.tolist()) == ([[1, 4]], [[4, 6]])
    boxes = pp.nondominated_boxes([[3.0], [5.0]], 1)
    assert (boxes.lower.tolist(), boxes.upper.tolist()) == ([[5]], [[np.inf]])
    boxes = pp.dominated_boxes([[3.0], [5.0]], 1)
    assert (boxes.lower.tolist(), boxes.upper.tolist()) == ([[1]], [[5]])


def test_more_objectives_than_one_word_has_bits():
    points = np.full((1, 70), 2.0)
    maximise = [m % 2 == 0 for m in range(70)]
    ref = np.where(maximise, 1.0, 3.0)
    dominated = pp.dominated_boxes(points, ref, maximise=maximise)
    np.testing.assert_array_equal(dominated.lower, [np.where(maximise, 1.0, 2.0)])
    np.testing.assert_array_equal(dominated.upper, [np.where(maximise, 2.0, 3.0)])
    boxes = pp.nondominated_boxes(points, ref, maximise=maximise)
    assert boxes.counts == 70
    better = np.where(maximise, 2.5, 1.5)
    gain = pp.hypervolume_improvement(better[None], boxes=boxes, maximise=maximise)
    assert gain == pytest.approx(1.5**70 - 1)


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
def test_padding_beyond_reason_is_refused(scalar):
    points = np.zeros((70_000, 30, 6), scalar)
    points[0] = large_set("sphere", 30, 6)
    with pytest.raises(MemoryError, match=r"shape \(70000, 30, 6\).* more than 4 GiB: take fewer"):
        pp.nondominated_boxes(points, 0)


def test_endless_empty_sets_take_neither_time_nor_memory():
    for call, _ in DIVIDED:
        with pytest.raises(MemoryError, match=r"shape \(1099511627776, 0, 3\)"):
            call(np.empty((2**40, 0, 3)), 0.0)
        with pytest.raises(MemoryError, match=r"shape \(1073741824, 0, 3\)"):
            call(np.empty((2**30, 0, 3)), 0.0)
        assert call(np.empty((0, 2**31 - 1, 2)), 0.0).counts.shape == (0,)


def test_objectives_beyond_reason_are_refused():
    for call, _ in DIVIDED:
        with pytest.raises(MemoryError, match=r"shape \(1, 100000\)"):
            call(np.ones((1, 100_000)), 0.0)


@pytest.mark.parametrize("count", [1, 2])
def test_boxes_beyond_reason_are_refused_on_the_way(count, threads):
    threads(count)
    points = large_set("sphere", 400, 12)[::-1]  # far more than could be finished
    for call, _ in DIVIDED:
        for several in (points, np.stack([points[:9], points[9:18]] * 300)[::-1]):
            wording = r"more than 0.0156 GiB: take fewer points, obj"
            with pp.memory_limit(2**24), pytest.raises(MemoryError, match=wording):
                call(several, -0.1)


def test_boxes_of_any_layout_hold_the_same_improvement():
    points = large_set("sphere", 30, 3)
    boxes = pp.nondominated_boxes(points, -0.1)
    gain = pp.hypervolume_improvement(points + 0.1, boxes=boxes)
    frozen = [each.copy() for each in boxes]
    for each in frozen:
        each.flags.writeable = False
    turned = [np.asfortranarray(each) for each in boxes[:2]]
    listed = [each.tolist() for each in boxes[:2]]
    for given_boxes in (frozen, turned, listed):
        assert pp.hypervolume_improvement(points + 0.1, boxes=given_boxes) == gain
