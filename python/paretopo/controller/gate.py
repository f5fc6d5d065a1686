"""The gate and the filter: what estimators do not get to see of the reward vectors.

>>> vectors = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.5], [1.0, 0.5]]])
>>> apply_gate(vectors, "success", 0.0)[0].tolist()
[[1.0, 1.0], [0.0, 0.0]]
>>> find_informative(vectors, None, "vector").tolist()
[True, False]
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray


def apply_gate(
    vectors: NDArray[np.float64],
    gate: Literal["success", "none"],
    floor: float | Literal["worst"],
    inside: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The vectors with ``floor`` for all but the first objective of failed rollouts.

    Args:
        vectors: (..., objectives), with the floor "worst" (..., points, objectives). A rollout
            failed when objective 0 is not positive.
        gate: "none" leaves all as they are.
        floor: a number, or "worst": the least of the group in each objective.
        inside: (..., points), False where padded: that is no part of a group.
    """
    if gate == "none":
        return vectors
    failed = ~(vectors[..., :1] > 0.0)
    later = np.arange(vectors.shape[-1]) >= 1
    least: NDArray[np.float64] | float
    if floor == "worst":
        among = True if inside is None else inside[..., None]
        least = np.min(vectors, axis=-2, keepdims=True, where=among, initial=np.inf)
        least = np.where(np.isfinite(least), least, 0.0)  # a group of padding has none
    else:
        least = floor
    return np.where(failed & later, least, vectors)


def find_informative(
    gated: NDArray[np.float64],
    inside: NDArray[np.bool_] | None,
    group_filter: Literal["vector", "accuracy", "off"],
) -> NDArray[np.bool_]:
    """(groups,) bool: which groups have rollouts that differ in what the filter looks at.

    Args:
        gated: (groups, points, objectives).
        inside: (groups, points), False where padded.
        group_filter: "vector" looks at all objectives, "accuracy" at success, "off" at nothing.
    """
    everyone = np.ones(gated.shape[:2], np.bool_) if inside is None else inside
    if group_filter == "off":
        return np.asarray(everyone.any(axis=1))
    seen: NDArray[np.generic] = gated
    if group_filter == "accuracy":
        seen = gated[..., :1] > 0.0
    if everyone.shape[1] == 0:
        return np.zeros(len(everyone), np.bool_)
    first = np.argmax(everyone, axis=1)
    differs = (seen != seen[np.arange(len(seen)), first][:, None]).any(axis=-1)
    distinct: NDArray[np.bool_] = (differs & everyone).any(axis=1)
    return distinct
