"""Arguments as moocore takes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

Senses = bool | Sequence[bool] | np.ndarray


def rows_of(points: ArrayLike) -> np.ndarray:
    """Points of two dimensions, as doubles."""
    rows = np.asarray(points, dtype=float)
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(
            f"points must have shape (points, objectives), 1 objective or more, got {rows.shape}"
        )
    return rows


def one_each(values: np.ndarray, objectives: int, name: str) -> np.ndarray:
    """Return one value per objective, given that many or a single one for all."""
    flat = np.ravel(values)
    if len(flat) not in (1, objectives):
        raise ValueError(f"{name} must have length 1 or {objectives}, got {len(flat)}")
    each: np.ndarray = np.broadcast_to(flat, (objectives,))
    return each


def senses_of(maximise: Senses, objectives: int) -> list[bool]:
    """Return one bool per objective."""
    senses: list[bool] = (
        one_each(np.asarray(maximise), objectives, "maximise").astype(bool).tolist()
    )
    return senses


def corner_of(ref: ArrayLike | None, rows: np.ndarray, name: str = "ref") -> np.ndarray:
    """Return one number per objective of the rows, given that many or a single one for all."""
    return one_each(np.asarray(ref, dtype=float), rows.shape[1], name)
