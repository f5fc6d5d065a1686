"""HV@k, the gradient of the expected hypervolume of k rollouts, and its GD2PO variant."""

from __future__ import annotations

from typing import Literal

import numpy as np

import paretopo_core
from paretopo.controller.estimators.decoupled import gd2po
from paretopo.controller.estimators.groups import Array, extremes


def hypervolume(
    rewards: Array,
    weights: np.ndarray,
    mask: Array,
    *,
    centre: Literal["exact", "mean", "none", "std", "loo"] = "exact",
    k: int = 1,
) -> Array:
    """The volume that a rollout adds to k - 1 others, minus the volume of one more of them.

    This is :func:`paretopo_core.hypervolume_advantage` with its centres. The first line describes
    "exact": advantages sum to 0 in a group, and the gradient is unbiased. A rollout that does not
    beat the reference in every objective has no volume: with 0 for the first objective, the gate is
    built in. The reference of the others is the preference (:func:`reference_by`).

    Source: docs/hvk.md and docs/estimators.md; one objective: Walder and Karkhanis (2025), PKPO,
    arXiv 2505.15201.
    """
    return paretopo_core.hypervolume_advantage(
        rewards,
        reference_by(weights),
        k=k,
        centre=centre,
        mask=None if bool(mask.all()) else mask,
    )


def hypervolume_gd2po(
    rewards: Array, weights: np.ndarray, mask: Array, *, k: int = 1, conflict: float = 0.8
) -> Array:
    """Compute GD2PO on two objectives: correctness, and the volume that a rollout adds to its
    group.

    Economies count from 0 to 1 between the group's worst and the best of its successes. A factor or
    a shift of an economy in a whole group therefore has no effect (but a numeric floor of the gate
    does not shift). An economy without any difference drops out. The volume that a rollout adds to
    k - 1 others (HV@k; for k = 1 the product of its economies) is 0 for failures and larger for a
    compromise than for an extreme. No fixed weighted sum of economies has this property.
    Correctness is a separate objective: a rare right guess that spends nothing adds volume, but
    does not make up for wrong ones. The weight of the volume is the sum of all economies' weights.

    Source: here, docs/estimators.md; z-scores, conflicts and whitening as
    :func:`~paretopo.controller.estimators.decoupled.gd2po`.
    """
    solved = mask & (rewards[..., 0] > 0)
    points = _scale_within_group(rewards, solved, mask)
    added = paretopo_core.hypervolume_advantage(
        points, 0.0, k=k, centre="none", mask=None if bool(mask.all()) else mask
    )
    both = np.stack([points[..., 0], added], axis=-1)
    weighing = np.stack([weights[..., 0], weights[..., 1:].sum(axis=-1)], axis=-1)
    return gd2po(both, weighing, mask, conflict=conflict)


def _scale_within_group(rewards: Array, solved: Array, mask: Array) -> Array:
    """Scale to 0..1 (groups, points, objectives); failures and groups without any spread get 0."""
    later = np.moveaxis(rewards[..., 1:], -1, 0)
    worst, _ = extremes(later, mask)
    _, best = extremes(later, solved)
    varies = best > worst
    share = (later - worst) / np.where(varies, best - worst, 1.0)
    share = np.where(varies, share, 1.0)
    share = np.where(solved & varies.any(axis=0), share, 0.0)
    correct = np.where(solved, 1.0, 0.0 * rewards[..., 0])[..., None]
    return np.concatenate([correct, np.moveaxis(share, 0, -1)], axis=-1)


def reference_by(weights: np.ndarray) -> np.ndarray:
    """Return the reference point that makes volumes w · r of successes, for k = 1, two objectives.

    (0, -w_0 / w_1, -w_0 / w_2, ...), in the objectives' units: a success whose economy is 0 has w_0
    / (w_0 + w_1) of the volume of a success whose economy is 1.

    Args:
        weights: (objectives,), or (groups, objectives) for those of each group.

    Raises:
        ValueError: A weight after the first is 0, so its reference does not exist.

    >>> reference_by(np.array([0.75, 0.25])).tolist()
    [0.0, -3.0]
    """
    if not weights[..., 1:].all():
        raise ValueError(
            'the estimator "hypervolume" takes weights above 0 after the first for its reference, '
            f"got {weights[(weights[..., 1:] == 0.0).any(axis=-1)].tolist()}"
        )
    reference = np.zeros(weights.shape)
    reference[..., 1:] = -weights[..., :1] / weights[..., 1:]
    return reference
