"""Arguments as moocore takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Senses = bool | Sequence[bool] | np.ndarray


def rows_of(points: ArrayLike, fewest: int = 1) -> np.ndarray:
    """Points of two dimensions, as doubles, with the fewest objectives or more."""
    rows = np.asarray(points, dtype=float)
    if rows.ndim != 2 or rows.shape[1] < fewest:
        raise ValueError(
            f"points must have shape (points, objectives), {fewest} objective or more, got "
            f"{rows.shape}"
        )
    return rows


def whole(value: Any, name: str, most: int | None = None) -> int:
    """Return a whole number from 1 on, which may be a float."""
    try:
        number = int(value)
        is_whole = bool(number == value)
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole or number < 1 or (most is not None and number > most):
        end = "on" if most is None else f"to {most}"
        raise ValueError(f"{name} must be a whole number from 1 {end}, got {value!r}")
    return number


def one_each(values: np.ndarray, objectives: int, name: str) -> np.ndarray:
    """Return one value per objective, given that many or a single one for all."""
    flat = np.ravel(values)
    if len(flat) not in (1, objectives):
        raise ValueError(f"{name} must have length {objectives}, or 1, got {len(flat)}")
    return np.broadcast_to(flat, (objectives,))


def senses_of(maximise: Senses, objectives: int) -> list[bool]:
    """Return one bool per objective."""
    return one_each(np.asarray(maximise), objectives, "maximise").astype(bool).tolist()


def corner_of(ref: ArrayLike | None, rows: np.ndarray, name: str = "ref") -> np.ndarray:
    """Return one number per objective of the rows, given that many or a single one for all."""
    return one_each(np.asarray(ref, dtype=float), rows.shape[1], name)
