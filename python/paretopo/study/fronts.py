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

Floats = NDArray[np.float64]


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
    """Return the hypervolume of a front, and its mean value under each point's preference.

    Args:
        points: (preferences, 2).
        best: (policies, 2) points of policies, among them the best for every preference.
        start: (2,) where hypervolumes begin.
        weights: (preferences, 2).

    Returns:
        hypervolume and preference, as shares of those of the best policies and their mixtures.

    >>> score_front([[1, 0], [0.5, 0.5]], [[1, 0], [0, 1], [0, 0]], [0, 0], [[1, 0], [0, 1]])
    {'hypervolume': 0.5, 'preference': 0.75}
    """
    points, best, wanted = (np.asarray(one, np.float64) for one in (points, best, weights))
    values = (points * wanted).sum(axis=-1) / (best @ wanted.T).max(axis=0)
    volume = float(paretopo_core.hypervolume(points, start))
    return {
        "hypervolume": volume / _volume_of_mixtures(best, np.asarray(start, np.float64)),
        "preference": float(values.mean()),
    }


def _volume_of_mixtures(points: Floats, start: Floats) -> float:
    """Under the points and the lines between neighbours: mixtures of two policies lie there."""
    front = np.unique(points[paretopo_core.is_nondominated(points)], axis=0)
    gained = np.maximum(front - start, 0.0)
    edge = np.concatenate([[[0.0, gained[0, 1]]], gained])
    widths, heights = np.diff(edge[:, 0]), (edge[1:, 1] + edge[:-1, 1]) / 2
    return float(widths @ heights)
