"""hypervolume_gd2po: volumes in units of the group, with correctness, without conflicts."""

import itertools
import math

import numpy as np
import pytest

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
