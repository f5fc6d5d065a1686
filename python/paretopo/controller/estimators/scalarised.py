"""Methods that see the weighted sum alone."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    deviation,
    less_the_others,
    standardised,
    weighted_sum,
)


def grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum, standardised within the group: ``(s - mean) / (std + 1e-6)``.

    The standard deviation is the unbiased one; a group with equal sums gets 0.

    Source: Shao et al. (2024), "DeepSeekMath", section 4.1; epsilon as in verl.
    """
    return standardised(weighted_sum(rewards, weights), mask)


def dr_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum less its mean in the group, without a standard deviation.

    Source: Liu et al. (2025), "Understanding R1-Zero-like training", section 3.
    """
    return deviation(weighted_sum(rewards, weights), mask)


def rloo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum less the mean of the other rollouts: an unbiased policy gradient.

    Source: Ahmadian et al. (2024), "Back to basics", arXiv 2402.14740; Kool et al. (2019).
    """
    return less_the_others(weighted_sum(rewards, weights), mask)
