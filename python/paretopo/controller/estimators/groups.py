"""Statistics of groups of rollouts; the same lines serve NumPy arrays and torch tensors.

Values have shape (..., groups, points), so objectives can be leading axes. The mask, (groups,
points), is False for padding of ragged groups. torch accepts NumPy's ``axis`` and ``keepdims``.
"""

from __future__ import annotations

import sys
from typing import Any, Literal, TypeAlias

import numpy as np

Array: TypeAlias = Any  # numpy.ndarray or torch.Tensor
Centre: TypeAlias = Literal["mean", "none", "std", "loo"]

# The value of verl and of the paper's code base.
GRPO_EPSILON = 1e-6
# Values of a group that differ by a smaller share of their size differ only by rounding: ranks and
# divisions by a spread would turn that noise into advantages of size 1.
ROUNDING = 1e-12
# verl's epsilon on the variance of the batch, also used by the code of GDPO, GD2PO and SAW.
WHITENING_EPSILON = 1e-8


def get_library(values: Array) -> Any:
    """Return ``torch`` for a tensor, else ``numpy``; a tensor means that torch is imported."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(values, torch.Tensor) else np


def like(numbers: np.ndarray, values: Array) -> Array:
    """Convert numbers to the library, dtype and device of the values."""
    library = get_library(values)
    if library is np:
        return numbers
    return library.as_tensor(numbers, dtype=values.dtype, device=values.device)


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
    library = get_library(values)
    take = library.take_along_axis if library is np else library.take_along_dim
    shown = library.where(mask, values, np.inf)
    order = library.argsort(shown)
    shown = take(shown, order, -1)
    size = take(mask_out(abs(values if size is None else size), mask), order, -1)
    margin = ROUNDING * library.maximum(size[..., 1:], size[..., :-1])
    apart = shown[..., 1:] > shown[..., :-1] + margin
    starts = library.where(apart, shown[..., 1:], -np.inf)
    starts = library.concatenate([shown[..., :1], starts], axis=-1)
    lowest = np.maximum.accumulate(starts, -1) if library is np else starts.cummax(-1).values
    merged = take(lowest, library.argsort(order), -1)
    # Where nothing changes, torch's gradient is that of the value itself.
    return library.where(mask & (merged != values), merged, values)


def merge_ties_of_objectives(rewards: Array, mask: Array) -> Array:
    """Return (groups, points, objectives) rewards with :func:`merge_ties` in each objective."""
    return get_library(rewards).stack([*merge_ties(split_objectives(rewards), mask)], axis=-1)


def weighted_sum(vectors: Array, weights: np.ndarray, mask: Array) -> Array:
    """Return (groups, points) scalar rewards, by shared weights or by each group's."""

    def add(terms: Array, factors: Array) -> Array:
        return terms @ factors if factors.ndim == 1 else (terms @ factors[..., None])[..., 0]

    factors = like(weights, vectors)
    return merge_ties(add(vectors, factors), mask, add(abs(vectors), abs(factors)))


def split_objectives(rewards: Array) -> Array:
    """Return the rewards as (objectives, groups, points), contiguous."""
    objectives = range(rewards.shape[-1])
    return get_library(rewards).stack([rewards[..., objective] for objective in objectives])


def along_objectives(weights: Array, values: Array) -> Array:
    """Reshape weights to (objectives, 1 or groups, 1), for :func:`split_objectives`."""
    factors = like(weights, values)
    return factors[:, None, None] if factors.ndim == 1 else factors.T[:, :, None]


def mask_out(values: Array, mask: Array) -> Array:
    """Return the values, 0 where masked."""
    return get_library(values).where(mask, values, 0.0)


def extremes(values: Array, mask: Array) -> tuple[Array, Array]:
    """Return lowest and highest value of each group, (..., groups, 1); +inf and -inf if empty."""
    library = get_library(values)
    lowest = library.amin(library.where(mask, values, np.inf), axis=-1, keepdims=True)
    highest = library.amax(library.where(mask, values, -np.inf), axis=-1, keepdims=True)
    return lowest, highest


def deviation(values: Array, mask: Array) -> Array:
    """Return the values minus their group's mean; exactly 0 where all are equal."""
    count = mask.sum(axis=-1, keepdims=True).clip(1)
    mean = mask_out(values, mask).sum(axis=-1, keepdims=True) / count
    lowest, highest = extremes(values, mask)
    return mask_out(values - mean, mask & (highest > lowest))


def standardise(values: Array, mask: Array, epsilon: float = GRPO_EPSILON) -> Array:
    """Return ``(value - mean) / (std + epsilon)`` by group, std with n - 1; 0 in flat groups."""
    library = get_library(values)
    off = deviation(merge_ties(values, mask), mask)
    others = (mask.sum(axis=-1, keepdims=True) - 1).clip(1)
    variance = (off**2).sum(axis=-1, keepdims=True) / others
    spread = library.sqrt(variance)
    return off / library.where(spread > 0.0, spread + epsilon, 1.0)


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
    library = get_library(values)
    count = mask.sum()
    mean = mask_out(values, mask).sum(axis=(-2, -1), keepdims=True) / count.clip(1)
    squares = mask_out(values - mean, mask) ** 2
    variance = squares.sum(axis=(-2, -1), keepdims=True) / (count - 1).clip(1)
    return mean, library.sqrt(variance)


def whiten(values: Array, mask: Array) -> Array:
    """Return ``(value - mean) / sqrt(variance + 1e-8)`` over all rollouts of the batch."""
    mean, std = batch_moments(values, mask)
    scale = get_library(values).sqrt(std**2 + WHITENING_EPSILON)
    return mask_out((values - mean) / scale, mask)
