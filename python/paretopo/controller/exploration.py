"""How many rollouts HV@k lets count together: many explore the front, one settles on it.

>>> [k_at((4, 2, 1), done=step / 6) for step in range(6)]
[4, 4, 2, 2, 1, 1]
>>> k_at("archive", smoothed_gain=0.02, highest_gain=0.05)
2
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from paretopo.config import ARCHIVE_K

K: TypeAlias = int | tuple[int, ...] | Literal["archive"]


def k_at(k: K, *, done: float = 0.0, smoothed_gain: float = 0.0, highest_gain: float = 0.0) -> int:
    """The k of a step.

    Args:
        k: a number; several, for equal parts of the steps; or "archive", which follows the gain of
            held-out hypervolume down from ``ARCHIVE_K``.
        done: share of the steps that are done, 0 to 1.
        smoothed_gain: exponential average of the gains.
        highest_gain: the largest it ever was; 0 before there was any, when ``ARCHIVE_K`` holds.
    """
    if isinstance(k, int):
        return k
    if isinstance(k, tuple):
        return k[min(int(done * len(k)), len(k) - 1)]
    if highest_gain <= 0.0:
        return ARCHIVE_K
    return max(1, math.ceil(ARCHIVE_K * smoothed_gain / highest_gain))
