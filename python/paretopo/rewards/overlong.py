"""Soft penalty of responses near the end of their budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def overlong(tokens: ArrayLike, longest: int, buffer: int) -> NDArray[np.float64]:
    """Return how far responses reach into the last ``buffer`` tokens of their limit, from 0 to 1.

    It is subtracted from the advantage after ranking: as part of the reward vector, a length would
    change the dominance between rollouts.

    Args:
        tokens: any shape, tokens that the policy wrote.
        longest: the budget in tokens.
        buffer: length of the punished end, from 1 to ``longest``; 0 punishes nothing.

    Returns:
        float64 of the shape of ``tokens``: 0 up to ``longest - buffer``, then rising to 1.

    Raises:
        ValueError: ``buffer`` is negative or more than ``longest``.

    Source: Yu et al. (2025), "DAPO", equation 13, with the sign turned.

    >>> overlong([70, 90, 100, 120], longest=100, buffer=20)
    array([0. , 0.5, 1. , 1. ])
    """
    if not 0 <= buffer <= longest:
        raise ValueError(f"buffer must be from 0 to longest ({longest}), got {buffer}")
    lengths = np.asarray(tokens, np.float64)
    if buffer == 0:
        return np.zeros(lengths.shape)
    share: NDArray[np.float64] = np.clip((lengths - (longest - buffer)) / buffer, 0.0, 1.0)
    return share
