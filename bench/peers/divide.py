"""Non-dominated sorting by divide and conquer, compiled by numba: the peer of large sets.

Written after the papers, as a peer that sorts n points of m objectives in O(n · log(n)^(m - 1)):
Jensen (2003), IEEE Trans. Evol. Comput. 7(5); Fortin, Grenier and Parizeau (2013), GECCO; Buzdalov
and Shalyto (2014), PPSN XIII, whose splits by a median keep the bound with ties. Small sets are
compared pair by pair, as Markina and Buzdalov (2017), GECCO Companion, suggest.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from bench.cases import Case
from bench.workloads import Array

_FEW = 64  # points of a set, or of two, that are compared pair by pair


class DivideAndConquer:
    """The algorithm of Jensen, Fortin and Buzdalov, for one set at a time."""

    def __init__(self) -> None:
        self._sort = compile_sort()
        rng = np.random.default_rng(0)
        for objectives in (3, 5):  # numba compiles, which takes seconds
            self._sort(rng.random((8 * _FEW, objectives)))

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Sorts lexicographically first, and replaces values by codes."""
        return partial(self._sort, case.doubles)


@cache
def compile_sort() -> Callable[[Array], Array]:
    """Return a compiled function: points (n, m), smaller is better, to ranks (n,)."""
    numba: Any = importlib.import_module("numba")

    @numba.njit
    def dominates(codes: Array, a: int, b: int, last: int) -> bool:
        # Objective 0 is settled by the order of the points.
        for k in range(1, last + 1):  # noqa: SIM110 (numba)
            if codes[k, a] > codes[k, b]:
                return False
        return True

    @numba.njit
    def raise_by_pairs(codes: Array, ranks: Array, low: Array, high: Array, last: int) -> None:
        for b in high:
            for a in low:
                if ranks[a] >= ranks[b] and dominates(codes, a, b, last):
                    ranks[b] = ranks[a] + 1

    @numba.njit
    def raise_by_sweep(codes: Array, ranks: Array, low: Array, high: Array) -> None:
        # Visits objective 1 in order; a Fenwick tree keeps the highest rank up to each value of
        # objective 2.
        both = np.concatenate((low, high))
        values = np.unique(codes[2][both])
        place = np.searchsorted(values, codes[2][both]) + 1
        highest = np.zeros(len(values) + 1, np.int64)
        order = np.argsort(codes[1][both], kind="mergesort")  # stable: equal ones, `low` first
        for i in order:
            point = both[i]
            at = place[i]
            if i < len(low):
                while at <= len(values):
                    highest[at] = max(highest[at], ranks[point] + 1)
                    at += at & -at
            else:
                while at > 0:
                    ranks[point] = max(ranks[point], highest[at])
                    at -= at & -at

    @numba.njit
    def find_median(codes: Array, low: Array, high: Array, last: int) -> int:
        values = np.concatenate((codes[last][low], codes[last][high]))
        return int(np.partition(values, len(values) // 2)[len(values) // 2])

    @numba.njit("void(int64[:,:], int64[:], int64[:], int64[:], int64)")
    def raise_above(codes: Array, ranks: Array, low: Array, high: Array, last: int) -> None:
        """Raise the ranks of `high` above those of their dominators in `low`, which are final."""
        if len(low) == 0 or len(high) == 0:
            return
        if last == 1 or len(low) * len(high) <= _FEW * _FEW:
            raise_by_pairs(codes, ranks, low, high, last)
        elif last == 2:
            raise_by_sweep(codes, ranks, low, high)
        elif codes[last][low].max() <= codes[last][high].min():
            raise_above(codes, ranks, low, high, last - 1)
        elif codes[last][low].min() <= codes[last][high].max():
            median = find_median(codes, low, high, last)
            a, b = codes[last][low], codes[last][high]
            raise_above(codes, ranks, low[a < median], high[b < median], last)
            raise_above(codes, ranks, low[a <= median], high[b == median], last - 1)
            raise_above(codes, ranks, low[a <= median], high[b > median], last - 1)
            raise_above(codes, ranks, low[a > median], high[b > median], last)

    @numba.njit("void(int64[:,:], int64[:], int64[:], int64)")
    def rank_among(codes: Array, ranks: Array, points: Array, last: int) -> None:
        if len(points) <= _FEW:
            for i in range(1, len(points)):
                raise_by_pairs(codes, ranks, points[:i], points[i : i + 1], last)
            return
        middle = len(points) // 2
        rank_among(codes, ranks, points[:middle], last)
        raise_above(codes, ranks, points[:middle], points[middle:], last)
        rank_among(codes, ranks, points[middle:], last)

    def sort(points: Array) -> Array:
        distinct, which = np.unique(points, axis=0, return_inverse=True)  # in lexicographic order
        codes = np.array([np.unique(column, return_inverse=True)[1] for column in distinct.T])
        ranks = np.zeros(len(distinct), np.int64)
        rank_among(codes.astype(np.int64), ranks, np.arange(len(distinct)), codes.shape[0] - 1)
        return ranks[which.ravel()]

    return sort
