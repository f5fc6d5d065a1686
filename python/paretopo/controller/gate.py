"""The gate, the group filter and the least economy: steps from reward vectors to estimators.

>>> vectors = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.5], [1.0, 0.5]]])
>>> apply_gate(vectors, "success", (0.0,))[0].tolist()
[[1.0, 1.0], [0.0, 0.0]]
>>> find_informative(vectors, None, "vector").tolist()
[True, False]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray


def apply_gate(
    vectors: NDArray[np.float64],
    gate: Literal["success", "none"],
    floors: Sequence[float | Literal["worst", "keeps"]],
    inside: NDArray[np.bool_] | None = None,
    threshold: float = 0.0,
) -> NDArray[np.float64]:
    """Apply the gate: failed rollouts get floors in the objectives after the first.

    Args:
        vectors: (..., objectives); the floor "worst" needs (..., points, objectives). A rollout
            failed if objective 0 is not above the threshold.
        gate: "none" changes nothing.
        floors: One for each objective after the first: a number; "worst", the minimum of the group;
            or "keeps", which changes nothing.
        inside: (..., points), False for padding.
        threshold: Largest failing value of objective 0, in its unit.
    """
    if gate == "none":
        return vectors
    failed = ~(vectors[..., 0] > threshold)
    gated = vectors.copy()
    for objective, floor in enumerate(floors, start=1):
        if floor == "keeps":
            continue
        values = vectors[..., objective]
        least: NDArray[np.float64] | float
        if floor == "worst":
            among = True if inside is None else inside
            least = np.min(values, axis=-1, keepdims=True, where=among, initial=np.inf)
            # A group with only padding has no minimum.
            least = np.where(np.isfinite(least), least, 0.0)
        else:
            least = floor
        gated[..., objective] = np.where(failed, least, values)
    return gated


def find_informative(
    gated: NDArray[np.float64],
    inside: NDArray[np.bool_] | None,
    group_filter: Literal["vector", "accuracy", "off"],
    threshold: float = 0.0,
) -> NDArray[np.bool_]:
    """Return (groups,) bool, True if rollouts of the group differ in the compared values.

    Args:
        gated: (groups, points, objectives).
        inside: (groups, points), False for padding.
        group_filter: "vector" compares all objectives, "accuracy" compares success, and "off" is
            True for every group with a rollout.
        threshold: As for :func:`apply_gate`.
    """
    present = np.ones(gated.shape[:2], np.bool_) if inside is None else inside
    if group_filter == "off":
        return np.asarray(present.any(axis=1))
    compared: NDArray[np.generic] = gated
    if group_filter == "accuracy":
        compared = gated[..., :1] > threshold
    if present.shape[1] == 0:
        return np.zeros(len(present), np.bool_)
    first = np.argmax(present, axis=1)
    differs = (compared != compared[np.arange(len(compared)), first][:, None]).any(axis=-1)
    distinct: NDArray[np.bool_] = (differs & present).any(axis=1)
    return distinct


def keep_least_economy(
    vectors: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the first objective and the least of the others, which gets the sum of their weights.

    Args:
        vectors: (..., objectives), all but the first in one unit, such as shares.
        weights: (..., objectives).

    Returns:
        Vectors and weights, (..., 2) each.

    >>> vectors, weights = np.array([[1.0, 0.9, 0.0], [1.0, 0.4, 0.5]]), np.array([0.5, 0.3, 0.2])
    >>> [part.tolist() for part in keep_least_economy(vectors, weights)]
    [[[1.0, 0.0], [1.0, 0.4]], [0.5, 0.5]]
    """
    return (
        np.stack([vectors[..., 0], vectors[..., 1:].min(axis=-1)], axis=-1),
        np.stack([weights[..., 0], weights[..., 1:].sum(axis=-1)], axis=-1),
    )
