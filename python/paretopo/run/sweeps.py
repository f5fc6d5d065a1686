"""The rows of an evaluation that asked every question once for each of several preferences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from paretopo.run.files import Row

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
