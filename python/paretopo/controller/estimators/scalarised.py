"""Methods that reduce each vector to one number, and a control without rewards."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    deviation,
    get_library,
    like,
    merge_ties,
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
    factors = _weights_by_group(weights, rewards)
    value = factors[..., 0] + (factors[..., 1:] * rewards[..., 1:]).sum(axis=-1)
    return subtract_others(rewards[..., 0] * value.clip(0.0), mask)


def tchebycheff(
    rewards: Array, weights: np.ndarray, mask: Array, *, smoothing: float = 0.0
) -> Array:
    """The worst weighted distance to the ideal, minus the mean of the others: per rollout.

    The ideal is 1 in every objective, as for correctness and for a saving. With d_m = w_m (1 - r_m)
    a rollout is worth ``-max_m d_m``, or smoothly ``-mu log sum_m exp(d_m / mu)``, mu =
    ``smoothing``. This is an unbiased policy gradient of its expectation. A compromise is worth
    more than an extreme.

    Source: Bowman (1976), weighted Tchebycheff; smooth: Lin et al. (2024), arXiv 2402.19078,
    equation 9. The baseline is that of :func:`rloo`.
    """
    distances = _distances(rewards, weights)
    library = get_library(rewards)
    worst = library.amax(distances, axis=-1)
    if smoothing > 0.0:
        parts = library.exp((distances - worst[..., None]) / smoothing)
        worst = worst + smoothing * library.log(parts.sum(axis=-1))
    return subtract_others(-worst, mask)


def expected_tchebycheff(
    rewards: Array, weights: np.ndarray, mask: Array, *, smoothing: float = 0.0
) -> Array:
    """Compute RLOO on a weighted sum whose weights follow the objective with the worst mean.

    This is the gradient of :func:`tchebycheff` of the batch's mean rewards J instead of each
    rollout's. With d_m = w_m (1 - J_m) the weights are w_m times the softmax of d / mu, mu =
    ``smoothing``. For 0 it is w_m for the largest d_m, in equal parts for several. A mixture of
    extremes counts as a compromise here. J is estimated from the same rollouts that it weights,
    which adds a small bias.

    Source: Bhatnagar et al. (2026), STOMP, arXiv 2604.13175, which scalarises the expectations, for
    offline preferences and on standardised rewards; we could read only its abstract. The smooth
    maximum: Lin et al. (2024), arXiv 2402.19078, equation 9.
    """
    library = get_library(rewards)
    inside = mask[..., None]
    means = library.where(inside, rewards, 0.0).sum(axis=(0, 1)) / inside.sum().clip(1)
    sizes = _weights_by_group(weights, rewards)
    distances = _distances(means[None, None], weights)
    every = library.isfinite(distances[0])  # no objective is padding
    distances = merge_ties(distances, every, sizes)
    behind = distances - library.amax(distances, axis=-1, keepdims=True)
    if smoothing > 0.0:
        shares = library.exp(behind / smoothing)
    else:
        shares = library.where(behind == 0.0, 1.0, 0.0 * behind)
    factors = shares / shares.sum(axis=-1, keepdims=True) * _weights_by_group(weights, rewards)
    return subtract_others((factors * rewards).sum(axis=-1), mask)


def _distances(rewards: Array, weights: np.ndarray) -> Array:
    """Return the weighted distances to 1, (groups, points, objectives)."""
    return _weights_by_group(weights, rewards) * (1.0 - rewards)


def _weights_by_group(weights: np.ndarray, rewards: Array) -> Array:
    """Return the weights as (1 or groups, 1, objectives)."""
    return like(weights.reshape(-1, 1, weights.shape[-1]), rewards)


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
    library = get_library(rewards)
    paid = (-rewards[..., 1:]).clip(0.0)
    right, dear = like(weights[..., :1], rewards), weighted_sum(paid, weights[..., 1:], mask)
    least = right + dear  # 0 if all weight is on costs and there are none
    values = rewards[..., 0] * right / library.where(least > 0.0, least, 1.0)
    return standardise(values, mask)


def constant(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Return 1 for every rollout: a control that shows a method's effect without any reward.

    Uncentred rank advantages are all positive. A policy trained on this control shows the part of
    their effect (shorter responses, fewer calls) that comes only from the sign.
    """
    del weights, mask
    return get_library(rewards).ones_like(rewards[..., 0])
