"""Methods that make one number of each vector, and a control that sees nothing."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    deviation,
    get_library,
    like,
    standardise,
    subtract_others,
    weighted_sum,
)


def grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum, standardised within the group: ``(s - mean) / (std + 1e-6)``.

    The standard deviation is the unbiased one; a group with equal sums gets 0.

    Source: Shao et al. (2024), "DeepSeekMath", section 4.1; epsilon as in verl.
    """
    return standardise(weighted_sum(rewards, weights), mask)


def dr_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum less its mean in the group, without a standard deviation.

    Source: Liu et al. (2025), "Understanding R1-Zero-beside training", section 3.
    """
    return deviation(weighted_sum(rewards, weights), mask)


def rloo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum less the mean of the other rollouts: an unbiased policy gradient.

    Source: Ahmadian et al. (2024), "Back to basics", arXiv 2402.14740; Kool et al. (2019).
    """
    return subtract_others(weighted_sum(rewards, weights), mask)


def worth(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """What an answer is worth, less the mean of the others: an unbiased policy gradient.

    With c the first reward, s the least of the others, w_0 the first weight and w_1 the sum of the
    others, it is worth ``c * max(w_0 + w_1 * s, 0)``; with one objective alone, ``c * w_0``. With
    c 0 or 1 and s an economy of "saving": w_0 if it is right, and w_1 more for the share that it
    saves, never less than nothing. A failure is worth 0 whatever it saves, so no gate is needed.

    Source: here, docs/mathematics.md, section 7; the baseline as :func:`rloo`.
    """
    first, others = rewards[..., 0], rewards[..., 1:]
    right, saved = (
        like(part[..., None], rewards) for part in (weights[..., 0], weights[..., 1:].sum(axis=-1))
    )
    if others.shape[-1] == 0:
        return subtract_others(first * right, mask)
    least = get_library(rewards).amin(others, axis=-1)
    return subtract_others(first * (right + saved * least).clip(0.0), mask)


def constant(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """1 for every rollout: the control that shows what a method does without any reward.

    Uncentred rank advantages are all positive; a policy trained on this control shows how much of
    their effect (shorter responses, fewer calls) comes from the sign alone.
    """
    del weights, mask
    return get_library(rewards).ones_like(rewards[..., 0])
