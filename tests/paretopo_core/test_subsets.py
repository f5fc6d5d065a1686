"""Subsets of large hypervolume, by their definitions and against all subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import few_values, large_set, masked_batches, senses

import paretopo_core as pp
from paretopo_core import definitions

METHODS = ("greedy", "greedy_removal", "exact")


def volumes_of(points, chosen, ref, **keywords):
    mask = chosen >= 0
    kept = np.take_along_axis(points, np.where(mask, chosen, 0)[..., None], axis=-2)
    return pp.hypervolume(kept, ref, mask=mask, **keywords)


@given(
    batch=masked_batches(elements=few_values, min_points=1, max_points=8, max_objectives=2),
    data=st.data(),
)
def test_exact_is_the_best_of_all_subsets(batch, data):
    points, mask = batch
    maximise = data.draw(senses(points.shape[-1]))
    k = data.draw(st.integers(1, points.shape[-2]))
    ref = np.where(np.broadcast_to(maximise, points.shape[-1]), -2.0, 2.0)
    keywords = {"maximise": maximise}
    ours = pp.hypervolume_subset(points, ref, k=k, method="exact", mask=mask, **keywords)
    best = definitions.hypervolume_subset(points, ref, k=k, method="exact", mask=mask, **keywords)
    np.testing.assert_array_equal(
        volumes_of(points, ours, ref, **keywords), volumes_of(points, best, ref, **keywords)
    )
    np.testing.assert_array_equal(ours >= 0, best >= 0)
    for row, keep in zip(ours, mask, strict=True):
        inside = row[row >= 0]
        assert keep[inside].all()
        assert (np.diff(inside) > 0).all()


@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", ["uniform", "sphere"])
def test_greedy_by_recomputation(kind, objectives):
    points = large_set(kind, 40, objectives)
    chosen: list[int] = []
    while len(chosen) < 15:
        gains = [
            round(pp.hypervolume(points[[*chosen, i]], -0.1), 12) if i not in chosen else -1
            for i in range(40)
        ]
        chosen.append(int(np.argmax(gains)))
    np.testing.assert_array_equal(pp.hypervolume_subset(points, -0.1, k=15), chosen)
    for k in (1, 7):  # the first ones are the answer to fewer
        np.testing.assert_array_equal(pp.hypervolume_subset(points, -0.1, k=k), chosen[:k])


@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("kind", ["uniform", "sphere"])
def test_removal_by_recomputation(kind, objectives):
    points = large_set(kind, 40, objectives)
    left = np.arange(40)
    while len(left) > 3:
        if len(left) in (35, 20, 9):
            ours = pp.hypervolume_subset(points, -0.1, k=len(left), method="greedy_removal")
            np.testing.assert_array_equal(ours, left)
        losses = pp.hypervolume_contributions(points[left], -0.1)
        least = np.flatnonzero(losses == losses.min())[-1]
        left = np.delete(left, least)


def test_exact_against_the_simple_programme():
    for seed in range(5):
        points = large_set("sphere", 60, 2, seed)
        points[::7] *= 0.5  # dominated
        front = points[pp.is_nondominated(points)]
        x, y = front[np.argsort(front[:, 0])].T
        best = x * y
        for k in range(1, 20):
            chosen = pp.hypervolume_subset(points, 0, k=k, method="exact")
            assert len(set(chosen.tolist())) == k
            volume = volumes_of(points, chosen, 0)
            assert volume == pytest.approx(best.max(), rel=1e-12)
            if k <= 2:
                pairs = combinations(range(60), k)
                most = max(pp.hypervolume(points[list(pair)], 0) for pair in pairs)
                assert volume == pytest.approx(most, rel=1e-12)
            gains = best[:, None] + (x - x[:, None]) * y  # [last, next]
            best = np.where(x > x[:, None], gains, -np.inf).max(axis=0)


@pytest.mark.parametrize("method", METHODS)
def test_equal_points_and_those_without_volume(method):
    call = pp.hypervolume_subset
    equal = np.ones((5, 2))
    assert sorted(call(equal, 0, k=3, method=method)) == [0, 1, 2]
    assert sorted(call(equal, 5, k=3, method=method)) == [0, 1, 2]  # no point is above that
    points = [[0, 0], [3, 3], [-5, 9], [3, 3], [1, 4], [-np.inf, 3]]
    assert sorted(call(points, 0, k=2, method=method)) == [1, 4]
    assert sorted(call(points, 0, k=4, method=method)) == [0, 1, 2, 4]
    assert sorted(call(points, 0, k=6, method=method)) == [0, 1, 2, 3, 4, 5]
    mask = [False, True, True, True, False, True]
    assert call(points, 0, k=6, method=method, mask=mask).tolist() == [1, 2, 3, 5, -1, -1]
    without_points = call(np.ones((2, 3, 2)), 0, k=2, method=method, mask=np.zeros((2, 3), bool))
    assert without_points.tolist() == [[-1, -1], [-1, -1]]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("factor", [1e-200, 1e-120, 1e150, 1e300])
def test_any_scale(method, factor):
    points = large_set("sphere", 30, 2)
    np.testing.assert_array_equal(
        pp.hypervolume_subset(points * factor, 0, k=7, method=method),
        pp.hypervolume_subset(points, 0, k=7, method=method),
    )


class TestErrors:
    def test_exact_subsets_beyond_all_memory(self):
        points = np.linspace(1, 2, 100_000)
        points = np.stack([points, points[::-1]], axis=1)
        with pytest.raises(MemoryError, match="the best 50000 of 100000 points would take more"):
            pp.hypervolume_subset(points, 0, k=50_000, method="exact")
        with pytest.raises(MemoryError):
            pp.hypervolume_subset(
                points, np.zeros(2), k=50_000, method="exact", maximise=[True] * 2
            )
