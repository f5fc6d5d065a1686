"""Scores of a front: of one policy that is given a preference, or of one policy for each.

A point of a front is (share right, share right and saved), the two quantities that a preference
weighs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core
from paretopo.records.sweeps import agreement, count_distinct

Floats = NDArray[np.float64]
_APART = 0.02  # in one of the two quantities


def preference_grid(count: int) -> dict[str, Any]:
    """Return the keys that set evenly spaced preferences between two objectives, by dotted name.

    >>> preference_grid(5)["preference.levels"]
    4
    """
    return {
        "paretopo.preference": "given",
        "preference.levels": count - 1,
        "preference.grid": count - 1,
    }


def score_front(
    points: ArrayLike, best: ArrayLike, start: ArrayLike, weights: Sequence[Sequence[float]]
) -> dict[str, float]:
    """Return the scores of a front, whose points answer one preference each.

    Args:
        points: (preferences, 2).
        best: (policies, 2) points of policies, among them the best for every preference.
        start: (2,) where hypervolumes begin.
        weights: (preferences, 2).

    Returns:
        hypervolume and preference, as shares of those of the best policies and their mixtures;
        utility, the expected utility from 0 for the best policy that ignores preferences to 1 for
        the best policies; order, the share of pairs of preferences in which the larger weight leads
        to the better result; distinct, the share of preferences whose points no other dominates
        and that are at least 0.02 from each other in one quantity.

    >>> scores = score_front(
    ...     [[1, 0], [0.5, 0.6]], [[1, 0], [0.5, 1], [0, 1]], [0, 0], [[1, 0], [0, 1]])
    >>> {name: round(score, 3) for name, score in scores.items()}
    {'hypervolume': 0.4, 'preference': 0.8, 'utility': 0.2, 'order': 1.0, 'distinct': 1.0}
    """
    points, best, wanted = (np.asarray(one, np.float64) for one in (points, best, weights))
    values, most = (points * wanted).sum(axis=-1), best @ wanted.T
    volume = float(paretopo_core.hypervolume(points, start))
    blind, highest = most.mean(axis=1).max(), most.max(axis=0).mean()
    order = [agreement(asked, got) for asked, got in zip(wanted.T, points.T, strict=True)]
    front = points[paretopo_core.is_nondominated(points)]
    return {
        "hypervolume": volume / _volume_of_mixtures(best, np.asarray(start, np.float64)),
        "preference": float((values / most.max(axis=0)).mean()),
        "utility": float((values.mean() - blind) / (highest - blind)) if highest > blind else 0.0,
        "order": float(np.mean(order)),
        "distinct": count_distinct(front, _APART) / len(points),
    }


def _volume_of_mixtures(points: Floats, start: Floats) -> float:
    """Under the points and the lines between neighbours: mixtures of two policies lie there."""
    front = np.unique(points[paretopo_core.is_nondominated(points)], axis=0)
    gained = np.maximum(front - start, 0.0)
    edge = np.concatenate([[[0.0, gained[0, 1]]], gained])
    widths, heights = np.diff(edge[:, 0]), (edge[1:, 1] + edge[:-1, 1]) / 2
    return float(widths @ heights)
