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
# A group whose scalar rewards differ by less holds only rounding noise: division by its standard
# deviation would scale that noise up to advantages of size 1.
GRPO_FLAT = 1e-12
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


def weighted_sum(rewards: Array, weights: np.ndarray) -> Array:
    """Return (groups, points) scalar rewards, by shared weights or by each group's."""
    factors = like(weights, rewards)
    return rewards @ factors if factors.ndim == 1 else (rewards @ factors[..., None])[..., 0]


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
    """Return the values minus their group's mean."""
    count = mask.sum(axis=-1, keepdims=True).clip(1)
    mean = mask_out(values, mask).sum(axis=-1, keepdims=True) / count
    return mask_out(values - mean, mask)


def standardise(values: Array, mask: Array, epsilon: float = GRPO_EPSILON) -> Array:
    """Return ``(value - mean) / (std + epsilon)`` by group, std with n - 1; 0 in flat groups."""
    library = get_library(values)
    off = deviation(values, mask)
    others = (mask.sum(axis=-1, keepdims=True) - 1).clip(1)
    variance = (off**2).sum(axis=-1, keepdims=True) / others
    lowest, highest = extremes(values, mask)
    flat = highest - lowest < GRPO_FLAT
    scale = library.where(flat, 1.0, library.sqrt(variance) + epsilon)
    return library.where(flat, 0.0, off / scale)


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
