"""One table, name to function: how reward vectors of a group become advantages.

Every estimator has the same signature::

    f(rewards, weights, *, beta=0.5, center="mean", mask=None) -> advantages

``rewards`` is float64 of shape (groups, points, objectives), larger is better; ``weights`` has one
number per objective; ``mask`` (groups, points) is False where a ragged group is padded. The result
is float64 (groups, points), 0 where masked. An estimator without a use for ``beta`` or ``center``
ignores it.

>>> import numpy as np
>>> rewards = np.array([[[1.0, 1.0], [1.0, 0.5], [0.0, 0.0], [0.0, 0.0]]])
>>> ESTIMATORS["dr_grpo"](rewards, [0.6, 0.4]).round(2)
array([[ 0.55,  0.35, -0.45, -0.45]])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

import paretopo_core
from paretopo_core.advantage import Center

Rewards: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_] | None
Estimator: TypeAlias = Callable[..., NDArray[np.float64]]

# The value of verl and of the paper's code base.
GRPO_EPSILON = 1e-6
# A group whose scalar rewards differ by less holds rounding noise only: dividing by its standard
# deviation would blow that noise up to advantages of size 1.
GRPO_FLAT = 1e-12


def pareto(
    rewards: Rewards,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    center: Center = "mean",
    mask: Mask = None,
) -> NDArray[np.float64]:
    """Advantages by Pareto rank: :func:`paretopo_core.pareto_advantage`."""
    advantages: Any = paretopo_core.pareto_advantage(
        rewards, weights, beta=beta, center=center, mask=mask
    )
    return _unmasked(np.asarray(advantages, np.float64), mask)


def grpo(
    rewards: Rewards,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    center: Center = "mean",
    mask: Mask = None,
) -> NDArray[np.float64]:
    """Weighted sum, standardised within the group: ``(s - mean) / (std + 1e-6)``.

    The standard deviation is the unbiased one; a group with equal sums gets 0.

    Source: Shao et al. (2024), "DeepSeekMath", section 4.1; epsilon as in verl.
    """
    del beta, center
    scalar, count = _weighted_sum(rewards, weights, mask)
    deviation = _deviation(scalar, mask, count)
    spread = _spread(scalar, mask)
    variance = np.sum(deviation**2, axis=-1, keepdims=True) / np.maximum(count - 1, 1)
    advantages = deviation / (np.sqrt(variance) + GRPO_EPSILON)
    return _unmasked(np.where(spread < GRPO_FLAT, 0.0, advantages), mask)


def dr_grpo(
    rewards: Rewards,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    center: Center = "mean",
    mask: Mask = None,
) -> NDArray[np.float64]:
    """Weighted sum less its mean in the group, without a standard deviation.

    Source: Liu et al. (2025), "Understanding R1-Zero-like training", section 3.
    """
    del beta, center
    scalar, count = _weighted_sum(rewards, weights, mask)
    return _unmasked(_deviation(scalar, mask, count), mask)


def constant(
    rewards: Rewards,
    weights: ArrayLike,
    *,
    beta: float = 0.5,
    center: Center = "mean",
    mask: Mask = None,
) -> NDArray[np.float64]:
    """1 for every rollout: the control that shows what a method does without any reward.

    Uncentred rank advantages are all positive; a policy trained on this control shows how much of
    their effect (shorter responses, fewer calls) comes from the sign alone.
    """
    del weights, beta, center
    return _unmasked(np.ones(rewards.shape[:-1]), mask)


ESTIMATORS: dict[str, Estimator] = {
    "pareto": pareto,
    "grpo": grpo,
    "dr_grpo": dr_grpo,
    "constant": constant,
}


def _weighted_sum(
    rewards: Rewards, weights: ArrayLike, mask: Mask
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scalar rewards (groups, points), 0 where masked, and the points per group."""
    scalar = np.asarray(rewards, np.float64) @ np.asarray(weights, np.float64)
    if mask is None:
        return scalar, np.full((*scalar.shape[:-1], 1), float(scalar.shape[-1]))
    return np.where(mask, scalar, 0.0), mask.sum(axis=-1, keepdims=True).astype(np.float64)


def _deviation(
    scalar: NDArray[np.float64], mask: Mask, count: NDArray[np.float64]
) -> NDArray[np.float64]:
    mean = scalar.sum(axis=-1, keepdims=True) / np.maximum(count, 1.0)
    return _unmasked(scalar - mean, mask)


def _spread(scalar: NDArray[np.float64], mask: Mask) -> NDArray[np.float64]:
    inside = True if mask is None else mask
    highest = np.max(scalar, axis=-1, keepdims=True, where=inside, initial=-np.inf)
    lowest = np.min(scalar, axis=-1, keepdims=True, where=inside, initial=np.inf)
    spread: NDArray[np.float64] = highest - lowest
    return spread


def _unmasked(values: NDArray[np.float64], mask: Mask) -> NDArray[np.float64]:
    return values if mask is None else np.where(mask, values, 0.0)
