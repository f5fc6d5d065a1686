"""What one would write in NumPy oneself."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.case import DRAWN, Case
from bench.workloads import Array

_MOST_AT_ONCE = 30_000_000  # booleans: who attains which cell


class Numpy:
    """Whole batches at once, in chunks that fit memory."""

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any] | None:
        """Every cell of every grid against every point."""
        if case.mask is not None or not case.groups:
            return None
        return partial(advantages_in_chunks, case.ref - case.doubles)


def advantages_in_chunks(sides: Array) -> Array:
    """As many groups at a time as fit."""
    _, points, objectives = sides.shape
    many = max(1, _MOST_AT_ONCE // points ** (objectives + 1))
    return np.concatenate(
        [exact_advantages(sides[at : at + many], DRAWN) for at in range(0, len(sides), many)]
    )


def exact_advantages(sides: Array, k: int) -> Array:
    """The advantages of HV@k, by the two integrals of the marginal and of its baseline.

    Args:
        sides: shape (groups, points, objectives), distances from the reference, none negative.
        k: how many are drawn; all points, if these are fewer.
    """
    groups, n, objectives = sides.shape
    grid = np.sort(sides, axis=1)
    edges = np.concatenate([np.zeros_like(grid[:, :1]), grid], axis=1)
    volume = np.ones((groups, 1))
    attained = np.ones((groups, n, 1), dtype=bool)  # does point i attain the cell?
    for m in range(objectives):
        width = np.diff(edges[..., m], axis=1)
        volume = (volume[:, :, None] * width[:, None]).reshape(groups, -1)
        reaches = sides[:, :, None, m] >= grid[:, None, :, m]
        attained = (attained[..., None] & reaches[:, :, None]).reshape(groups, n, -1)
    others = attained.sum(axis=1, keepdims=True, dtype=np.int8) - attained
    density = _missed(n - 1, min(k, n) - 1)[others] * (attained if k >= n else attained - 1.0)
    if k < n:  # less what one more would add
        density += _missed(n - 1, k)[others]
    return np.asarray(np.einsum("gic,gc->gi", density, volume))


def _missed(n: int, k: int) -> Array:
    """The chance that k draws of n miss c of them, for c from 0 to n."""
    return np.array([math.comb(n - c, k) / math.comb(n, k) for c in range(n + 1)])
