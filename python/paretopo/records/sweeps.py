"""The rows of an evaluation that asked every question once for each of several preferences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from paretopo.records.files import Row

_GROWING = frozenset({"hypervolume", "archive_size"})  # from one preference to the next


def split_sweeps(rows: Sequence[Row]) -> list[list[Row]]:
    """Group the rows by evaluation: rows of one step if they name a preference.

    >>> rows = [{"step": 0}, {"step": 2, "preference": "a"}, {"step": 2, "preference": "b"}]
    >>> [len(sweep) for sweep in split_sweeps(rows)]
    [1, 2]
    """
    numbered = enumerate(rows)
    by_step = groupby(numbered, lambda at: at[1]["step"] if "preference" in at[1] else -1 - at[0])
    return [[row for _, row in sweep] for _, sweep in by_step]


def average_sweep(rows: Sequence[Row]) -> Row:
    """Average the numbers over all preferences; keep the last archive and the last other values.

    >>> average_sweep([{"step": 2, "measured": {"calls": 1.0}, "hypervolume": 0.1},
    ...                {"step": 2, "measured": {"calls": 2.0}, "hypervolume": 0.3}])
    {'step': 2, 'measured': {'calls': 1.5}, 'hypervolume': 0.3}
    """
    last = rows[-1]
    return {name: _average(name, [row.get(name) for row in rows]) for name in last}


def _average(name: str, values: Sequence[Any]) -> Any:
    last = values[-1]
    if isinstance(last, dict):
        return average_sweep([one for one in values if isinstance(one, dict)])
    known = [one for one in values if isinstance(one, int | float)]
    if name in _GROWING or isinstance(last, bool) or not known or len(set(known)) == 1:
        return last if last is not None or not known else known[-1]
    return sum(known) / len(known)


def agreement(asked: Sequence[float], got: Sequence[float]) -> float:
    """Return the share of differently requested pairs whose results have the same order.

    Ties count half; NaN if all requests are equal.

    >>> agreement([0.0, 0.5, 1.0], [1.0, 2.0, 2.0])
    0.8333333333333334
    """
    want, have = np.sign(np.subtract.outer(asked, asked)), np.sign(np.subtract.outer(got, got))
    pairs = want > 0
    return float(np.mean((1.0 + have[pairs]) / 2.0)) if pairs.any() else float("nan")


class Utility(NamedTuple):
    """The expected utility of a sweep: means over the preferences of the weighted outcomes.

    Attributes:
        asked: Of the answers to each preference.
        blind: Of the answers to one preference, the best for this, given to all of them.
        best: Of the answers that are best for each preference.
    """

    asked: float
    blind: float
    best: float


def expected_utility(weights: ArrayLike, outcomes: ArrayLike) -> Utility:
    """Return the expected utility of a policy that is asked for each of several preferences.

    A policy that ignores the preferences is at most as good as ``blind``, up to noise.

    Args:
        weights: (preferences, objectives).
        outcomes: (preferences, objectives) mean rewards of the answers to each preference.

    Source: Zintgraf et al. (2015), "Quality Assessment of MORL Algorithms: A Utility-Based
    Approach", for the expected utility of a set of policies.

    >>> expected_utility([[1, 0], [0, 1]], [[1.0, 0.0], [0.6, 0.5]])
    Utility(asked=0.75, blind=0.55, best=0.75)
    """
    values = np.asarray(weights, np.float64) @ np.asarray(outcomes, np.float64).T
    return Utility(
        float(np.diagonal(values).mean()),
        float(values.mean(axis=0).max()),
        float(values.max(axis=1).mean()),
    )


def count_distinct(points: ArrayLike, least: ArrayLike) -> int:
    """Return how many points differ from each other by more than a distance.

    Points are counted in their order, each unless it is near to a counted one in every coordinate.

    Args:
        points: (points, coordinates).
        least: (points, coordinates) or a number; of two points, the larger distance counts.

    >>> count_distinct([[1.0, 0.0], [0.9, 0.05], [0.5, 0.5]], 0.2)
    2
    """
    places = np.asarray(points, np.float64)
    wide = np.broadcast_to(np.asarray(least, np.float64), places.shape)
    counted: list[int] = []
    for at in range(len(places)):
        gaps = np.abs(places[counted] - places[at]) > np.maximum(wide[counted], wide[at])
        if gaps.any(axis=1).all():
            counted.append(at)
    return len(counted)
