"""Methods that reduce each vector to one number, and a control without rewards."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    deviation,
    standardise,
    subtract_others,
    weighted_sum,
)


def grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum, standardised within the group: ``(s - mean) / (std + 1e-6)``.

    The standard deviation is the unbiased one; a group with equal sums gets 0.

    Source: Shao et al. (2024), "DeepSeekMath", section 4.1; epsilon as in verl.
    """
    return standardise(weighted_sum(rewards, weights, mask), mask)


def dr_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum minus its mean in the group, without a standard deviation.

    Source: Liu et al. (2025), "Understanding R1-Zero-Like training: a critical perspective", arXiv
    2503.20783, section 3.
    """
    return deviation(weighted_sum(rewards, weights, mask), mask)


def rloo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum minus the mean of the other rollouts: an unbiased policy gradient.

    Source: Ahmadian et al. (2024), "Back to basics", arXiv 2402.14740; Kool et al. (2019).
    """
    return subtract_others(weighted_sum(rewards, weights, mask), mask)


def worth(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Subtract the mean worth of the other answers from the worth of each answer.

    With c the first reward and s_m the others, the worth is ``c * max(w_0 + sum w_m s_m, 0)``. If c
    is 0 or 1 and s is an economy of "saving", a right answer gets w_0, plus w_m for the share that
    it saves of a cost, and never less than 0. A failure gets 0 whatever it saves, so no gate is
    needed. Savings end at -1: if w_0 is at least the sum of the others, no right answer is worth
    less than a wrong one, however expensive.

    The gradient is unbiased for fixed prices. The prices of "saving" are learnt, and rise: see
    docs/estimators.md.

    Source: here. The nearest prior method also multiplies by economy: :func:`gr3`. The baseline is
    that of :func:`rloo`.
    """
    factors = weights_by_group(weights)
    value = factors[..., 0] + (factors[..., 1:] * rewards[..., 1:]).sum(axis=-1)
    return subtract_others(rewards[..., 0] * value.clip(0.0), mask)


def tchebycheff(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """The worst weighted distance to the ideal, minus the mean of the others: per rollout.

    The ideal is 1 in every objective, as for correctness and for a saving. With d_m = w_m (1 - r_m)
    a rollout is worth ``-max_m d_m``. This is an unbiased policy gradient of its expectation. A
    compromise is worth more than an extreme.

    Source: Bowman (1976). The baseline is that of :func:`rloo`.
    """
    distances = weights_by_group(weights) * (1.0 - rewards)
    return subtract_others(-distances.max(axis=-1), mask)


def weights_by_group(weights: Array) -> Array:
    """Return the weights as (1 or groups, 1, objectives)."""
    return weights.reshape(-1, 1, weights.shape[-1])


def gr3(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Compute GRPO on the first reward, divided by 1 + alpha times the rollout's relative cost.

    With c the first reward and x_m a cost over its mean in the group, the reward is ``c / (1 +
    sum_m alpha_m x_m)``, alpha_m = w_m / w_0. The economy "gr3" is -x_m; a value above 0 counts as
    no cost. An answer with the mean cost gets w_0 / (w_0 + w_1) of one without cost. A failure is
    worth 0, whatever it pays; the first reward must not be negative.

    Source: Li et al. (2026), "Tackling length inflation without trade-offs: group relative reward
    rescaling", arXiv 2603.10535, equation 6: ``R / (1 + alpha length / mean length)``, of one cost.
    We read it, and an alpha of 0.33, in copies of an earlier prime-rl (``length_shaping = "gr3"``)
    and in reviews, not in the paper. That alpha needs weights of (0.75, 0.25). The sum over several
    costs is ours.
    """
    paid = (-rewards[..., 1:]).clip(0.0)
    right, dear = weights[..., :1], weighted_sum(paid, weights[..., 1:], mask)
    least = right + dear  # 0 if all weight is on costs and there are none
    values = rewards[..., 0] * right / np.where(least > 0.0, least, 1.0)
    return standardise(values, mask)
