"""Points that differ by no more than a tolerance."""

from __future__ import annotations

import numpy as np


def drop_near_duplicates(points: np.ndarray, kept: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    """Drop each kept point that is near an earlier remaining one in every objective.

    Args:
        points: shape (..., points, objectives).
        kept: shape (..., points), bool.
        tolerance: shape (objectives,), at least 0.
    """
    result = kept.copy()
    for at in np.ndindex(kept.shape[:-1]):
        rows = np.flatnonzero(kept[at])
        if len(rows) > 1:
            result[at][rows[_are_near(points[at][rows].astype(np.float64), tolerance)]] = False
    return result


def _are_near(points: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    """Return True for each point with an earlier neighbour that stays.

    In the order of one objective, neighbours lie in a window. The narrowest windows are searched.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        windows = [_windows(*column) for column in zip(points.T, tolerance.tolist(), strict=True)]
        order, first, end = min(windows, key=lambda each: int((each[2] - each[1]).sum()))
        place = np.argsort(order)
        is_gone = np.zeros(len(points), dtype=bool)
        for row in np.flatnonzero((end - first)[place] > 1).tolist():
            if is_gone[row]:
                continue
            rows = order[first[place[row]] : end[place[row]]]
            rows = rows[rows > row]
            near = abs(points[rows] - points[row]) <= tolerance
            near |= points[rows] == points[row]  # infinities, whose difference is NaN
            near |= np.isnan(points[rows]) & np.isnan(points[row])
            is_gone[rows[near.all(axis=1)]] = True
    return is_gone


def _windows(column: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order, and for each place in it where its neighbours begin and end."""
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    lowest = np.nextafter(ordered - tolerance, -np.inf)  # no rounding loses a neighbour
    highest = np.nextafter(ordered + tolerance, np.inf)
    return order, np.searchsorted(ordered, lowest), np.searchsorted(ordered, highest, "right")
