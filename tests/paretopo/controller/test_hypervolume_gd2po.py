"""hypervolume_gd2po: volumes in units of the group, with correctness, without conflicts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.gate import apply_gate

ours = ESTIMATORS["hypervolume_gd2po"]
WEIGHTS = (0.6, 0.4)


def volumes(group, k):
    """Return the mean gain of each rollout over k - 1 others by enumeration."""
    worst = [min(row[j] for row in group) for j in range(1, len(group[0]))]
    right = [row for row in group if row[0] > 0]
    best = [max((row[j] for row in right), default=-math.inf) for j in range(1, len(group[0]))]
    live = [b > w for b, w in zip(best, worst, strict=True)]

    def box(row):
        if row[0] <= 0 or not any(live):
            return None
        return [
            (value - w) / (b - w) if lives else 1.0
            for value, w, b, lives in zip(row[1:], worst, best, live, strict=True)
        ]

    def volume(boxes):  # inclusion and exclusion
        total = 0.0
        for size in range(1, len(boxes) + 1):
            for some in itertools.combinations(boxes, size):
                total -= (-1) ** size * math.prod(map(min, zip(*some, strict=True)))
        return total

    boxes = [box(row) for row in group]
    added = []
    for i in range(len(group)):
        others = [j for j in range(len(group)) if j != i]
        gains = []
        for some in itertools.combinations(others, k - 1):
            before = [boxes[j] for j in some if boxes[j]]
            after = [*before, boxes[i]] if boxes[i] else before
            gains.append(volume(after) - volume(before))
        added.append(sum(gains) / len(gains))
    return added


def some_batch(seed, objectives):
    rng = np.random.default_rng(seed)
    batch = rng.integers(0, 4, (5, 6, objectives)) / 4 + 0.25
    batch[..., 0] = rng.random((5, 6)) < 0.6
    batch[0, :, 0] = 0.0  # no rollout is right
    batch[1, :, 1:] = 0.5  # no rollout is leaner
    return batch


@pytest.mark.parametrize("objectives", [2, 3, 4])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_it_is_gd2po_on_correctness_and_added_volume(objectives, k):
    batch = some_batch(objectives + k, objectives)
    both = np.array(
        [list(zip(group[:, 0], volumes(group.tolist(), k), strict=True)) for group in batch]
    )
    weights = [0.6, *[0.4 / (objectives - 1)] * (objectives - 1)]
    expected = ESTIMATORS["gd2po"](both, WEIGHTS, conflict=0.8)
    np.testing.assert_allclose(ours(batch, weights, k=k), expected, atol=1e-9)


def test_one_economy_reduces_to_gd2po():
    batch = some_batch(7, 2)
    expected = ESTIMATORS["gd2po"](apply_gate(batch, "success", ["worst"]), WEIGHTS)
    np.testing.assert_allclose(ours(batch, WEIGHTS), expected, atol=1e-4)


@given(st.integers(0, 1000), st.floats(0.01, 1000.0), st.floats(-100.0, 100.0))
def test_units_of_an_economy_do_not_matter(seed, factor, shift):
    batch = some_batch(seed, 3)
    other = batch.copy()
    other[..., 1] = factor * batch[..., 1] + shift
    weights = (0.6, 0.2, 0.2)
    np.testing.assert_allclose(ours(other, weights), ours(batch, weights), atol=1e-5)


@given(st.integers(0, 1000), st.sampled_from([0.5, 3.0, 1000.0]), st.floats(-100.0, 100.0))
def test_numeric_floor_breaks_shift_invariance(seed, factor, shift):
    """A factor never matters; a shift does not where failures get the worst of their group."""
    batch = some_batch(seed, 2)

    def advantages(scale, offset, floor):
        moved = batch.copy()
        moved[..., 1] = scale * batch[..., 1] + offset
        return ours(apply_gate(moved, "success", [floor]), WEIGHTS)

    for floor in (0.0, "worst"):
        plain = advantages(1.0, 0.0, floor)
        np.testing.assert_allclose(advantages(factor, 0.0, floor), plain, atol=1e-5)
    np.testing.assert_allclose(advantages(factor, shift, "worst"), plain, atol=1e-5)


@pytest.mark.parametrize(
    ("floor", "shares"), [(0.0, [0.95, 0.85, 0.75, 0.65]), ("worst", [0.3, 0.2, 0.1, 0.0])]
)
def test_a_floor_of_0_makes_shares_of_a_budget_alike(floor, shares):
    group = [[1.0, 1.0 - cost] for cost in (0.05, 0.15, 0.25, 0.35)] + [[0.0, 0.65]]
    told = [[1.0, share / max(shares)] for share in shares] + [[0.0, 0.0]]
    np.testing.assert_allclose(
        ours(apply_gate(np.array([group]), "success", [floor]), WEIGHTS),
        ESTIMATORS["gd2po"](np.array([told]), WEIGHTS),
        atol=1e-9,
    )


def test_compromise_beats_extremes_where_no_weights_can():
    group = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0], [1.0, 0.45, 0.45], [0.0, 1.0, 1.0]]
    advantages = ours(np.array([group]), (0.6, 0.2, 0.2))[0]
    assert advantages[2] == advantages.max() > advantages[:2].max()
    for share in np.linspace(0.0, 0.4, 9):
        linear = ESTIMATORS["grpo"](np.array([group]), (0.6, share, 0.4 - share))[0]
        assert linear[2] < linear[:2].max()


def test_failures_are_never_preferred():
    batch = some_batch(3, 2)
    advantages = ours(batch, WEIGHTS)
    for group, values in zip(batch, advantages, strict=True):
        right = group[:, 0] > 0
        if right.any() and not right.all():
            assert values[right].max() > 0 >= values[~right].max()


def test_padding_counts_for_nothing():
    batch = some_batch(5, 3)
    mask = np.ones(batch.shape[:2], bool)
    mask[:, 4:] = False
    padded = batch.copy()
    padded[:, 4:] = 1e6
    weights = (0.6, 0.2, 0.2)
    expected = ours(batch[:, :4], weights, k=2)
    np.testing.assert_allclose(ours(padded, weights, mask=mask, k=2)[:, :4], expected, atol=1e-12)
