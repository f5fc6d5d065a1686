"""Statistics of groups of rollouts.

Values have shape (..., groups, points), so objectives can be leading axes. The mask, (groups,
points), is False for padding of ragged groups.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = Any  # numpy.ndarray
Centre: TypeAlias = Literal["mean", "none", "std", "loo"]

# The value of verl and of the paper's code base.
GRPO_EPSILON = 1e-6
# Values of a group that differ by a smaller share of their size differ only by rounding: ranks and
# divisions by a spread would turn that noise into advantages of size 1.
ROUNDING = 1e-12
# verl's epsilon on the variance of the batch, also used by the code of GDPO, GD2PO and SAW.
WHITENING_EPSILON = 1e-8


def merge_ties(values: Array, mask: Array, size: Array | None = None) -> Array:
    """Return the values, with the lowest of each run that differs only by rounding.

    This is the tolerance of all estimators and of the group filter.

    Args:
        values: (..., groups, points).
        mask: (groups, points).
        size: Sizes of the terms that each value sums; None takes the values' own.

    >>> merge_ties(np.array([[0.1 + 0.2, 0.3, 0.4]]), np.ones((1, 3), np.bool_)).tolist()
    [[0.3, 0.3, 0.4]]
    """
    shown = np.where(mask, values, np.inf)
    order = np.argsort(shown)
    shown = np.take_along_axis(shown, order, -1)
    size = np.take_along_axis(mask_out(abs(values if size is None else size), mask), order, -1)
    margin = ROUNDING * np.maximum(size[..., 1:], size[..., :-1])
    apart = shown[..., 1:] > shown[..., :-1] + margin
    starts = np.where(apart, shown[..., 1:], -np.inf)
    lowest = np.maximum.accumulate(np.concatenate([shown[..., :1], starts], axis=-1), -1)
    merged = np.take_along_axis(lowest, np.argsort(order), -1)
    return np.where(mask & (merged != values), merged, values)  # a zero keeps its sign


def merge_ties_of_objectives(rewards: Array, mask: Array) -> Array:
    """Return (groups, points, objectives) rewards with :func:`merge_ties` in each objective."""
    return np.stack([*merge_ties(split_objectives(rewards), mask)], axis=-1)


def weighted_sum(vectors: Array, weights: np.ndarray, mask: Array) -> Array:
    """Return (groups, points) scalar rewards, by shared weights or by each group's."""

    def add(terms: Array, factors: Array) -> Array:
        return terms @ factors if factors.ndim == 1 else (terms @ factors[..., None])[..., 0]

    return merge_ties(add(vectors, weights), mask, add(abs(vectors), abs(weights)))


def split_objectives(rewards: Array) -> Array:
    """Return the rewards as (objectives, groups, points), contiguous."""
    return np.stack([rewards[..., objective] for objective in range(rewards.shape[-1])])


def along_objectives(weights: Array) -> Array:
    """Reshape weights to (objectives, 1 or groups, 1), for :func:`split_objectives`."""
    return weights[:, None, None] if weights.ndim == 1 else weights.T[:, :, None]


def mask_out(values: Array, mask: Array) -> Array:
    """Return the values, 0 where masked."""
    return np.where(mask, values, 0.0)


def extremes(values: Array, mask: Array) -> tuple[Array, Array]:
    """Return lowest and highest value of each group, (..., groups, 1); +inf and -inf if empty."""
    lowest = np.amin(np.where(mask, values, np.inf), axis=-1, keepdims=True)
    highest = np.amax(np.where(mask, values, -np.inf), axis=-1, keepdims=True)
    return lowest, highest


def deviation(values: Array, mask: Array) -> Array:
    """Return the values minus their group's mean; exactly 0 where all are equal."""
    count = mask.sum(axis=-1, keepdims=True).clip(1)
    mean = mask_out(values, mask).sum(axis=-1, keepdims=True) / count
    lowest, highest = extremes(values, mask)
    return mask_out(values - mean, mask & (highest > lowest))


def standardise(values: Array, mask: Array, epsilon: float = GRPO_EPSILON) -> Array:
    """Return ``(value - mean) / (std + epsilon)`` by group, std with n - 1; 0 in flat groups."""
    off = deviation(merge_ties(values, mask), mask)
    others = (mask.sum(axis=-1, keepdims=True) - 1).clip(1)
    variance = (off**2).sum(axis=-1, keepdims=True) / others
    spread = np.sqrt(variance)
    return off / np.where(spread > 0.0, spread + epsilon, 1.0)


def subtract_others(values: Array, mask: Array) -> Array:
    """Subtract the mean of the other rollouts; 0 for a rollout without others."""
    count = mask.sum(axis=-1, keepdims=True)
    return deviation(values, mask) * count / (count - 1).clip(1)


def centre_groups(values: Array, centre: Centre, mask: Array) -> Array:
    """Centre values as :func:`paretopo_core.pareto_advantage` does."""
    if centre == "none":
        return values
    if centre == "std":
        return standardise(values, mask)
    return deviation(values, mask) if centre == "mean" else subtract_others(values, mask)


def batch_moments(values: Array, mask: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation (n - 1) over all groups, (..., 1, 1)."""
    count = mask.sum()
    mean = mask_out(values, mask).sum(axis=(-2, -1), keepdims=True) / count.clip(1)
    squares = mask_out(values - mean, mask) ** 2
    variance = squares.sum(axis=(-2, -1), keepdims=True) / (count - 1).clip(1)
    return mean, np.sqrt(variance)


def whiten(values: Array, mask: Array) -> Array:
    """Return ``(value - mean) / sqrt(variance + 1e-8)`` over all rollouts of the batch."""
    mean, std = batch_moments(values, mask)
    return mask_out((values - mean) / np.sqrt(std**2 + WHITENING_EPSILON), mask)
