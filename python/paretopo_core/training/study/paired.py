"""Is one method better than another, seed by seed? Exact tests, corrected for their number.

>>> differences = np.array([0.02, 0.01, 0.03, 0.02, 0.02, 0.01])
>>> sign_flip_p(differences)  # all six of one sign: 2 of 64 ways are as extreme
0.03125
>>> holm([0.01, 0.04, 0.03])
[0.03, 0.06, 0.06]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

_EXACT = 20  # differences, a million ways to flip their signs; beyond it, as many random ways
_TIE = 1e-12  # of the sum: rounding makes no difference


def sign_flip_p(differences: ArrayLike) -> float:
    """Two-sided p of a mean of paired differences under random signs; 1 where all are 0.

    Args:
        differences: (pairs,), finite.

    Cost:
        2 ** pairs sums, at most 2 ** 20.

    Source: Fisher (1935), The Design of Experiments, section 21.
    """
    given = np.asarray(differences, np.float64)
    if given.ndim != 1 or len(given) == 0 or not np.isfinite(given).all():
        raise ValueError(f"differences must be finite, shape (pairs,), got {given!r}")
    if len(given) <= _EXACT:
        sums = np.zeros(1)
        for difference in given:
            sums = np.concatenate([sums + difference, sums - difference])
    else:
        signs = np.random.default_rng(0).integers(0, 2, (2**_EXACT // 64, len(given))) * 2 - 1
        sums = np.append(signs @ given, given.sum())
    least = abs(given.sum()) - _TIE * np.abs(given).sum()
    return float((np.abs(sums) >= least).mean())


def holm(p: Sequence[float]) -> list[float]:
    """p values corrected for their number (Holm 1979), in the order given."""
    order = np.argsort(p)
    corrected, highest = [0.0] * len(p), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * float(p[at])))
        corrected[at] = highest
    return corrected
