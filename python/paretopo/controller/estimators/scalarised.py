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

    Source: Liu et al. (2025), "Understanding R1-Zero-Like training: a critical perspective", arXiv
    2503.20783, section 3.
    """
    return deviation(weighted_sum(rewards, weights), mask)


def rloo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum less the mean of the other rollouts: an unbiased policy gradient.

    Source: Ahmadian et al. (2024), "Back to basics", arXiv 2402.14740; Kool et al. (2019).
    """
    return subtract_others(weighted_sum(rewards, weights), mask)


def worth(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """What an answer is worth, less the mean of the others.

    With c the first reward and s_m the others, it is worth ``c * max(w_0 + sum w_m s_m, 0)``. With
    c 0 or 1 and s an economy of "saving": w_0 if it is right, and w_m more for the share that it
    saves of a cost, never less than nothing. A failure is worth 0 whatever it saves, so no gate is
    needed. Savings end at -1: with w_0 at least the sum of the others, no right answer is worth
    less than a wrong one, however dear.

    The gradient is unbiased for fixed prices. Those of "saving" are learnt, and rise: see
    docs/estimators.md.

    Source: here. The nearest prior multiplies by economy, too: :func:`gr3`. The baseline as
    :func:`rloo`.
    """
    factors = _by_group(weights, rewards)
    value = factors[..., 0] + (factors[..., 1:] * rewards[..., 1:]).sum(axis=-1)
    return subtract_others(rewards[..., 0] * value.clip(0.0), mask)


def tchebycheff(
    rewards: Array, weights: np.ndarray, mask: Array, *, smoothing: float = 0.0
) -> Array:
    """The worst weighted distance to the ideal, less the mean of the others: per rollout.

    The ideal is 1 in every objective, as for being right and for a saving. With d_m = w_m (1 - r_m)
    a rollout is worth ``-max_m d_m``, or smoothly ``-mu log sum_m exp(d_m / mu)``, mu =
    ``smoothing``: an unbiased policy gradient of the expectation of that. A compromise is worth
    more than an extreme.

    Source: Bowman (1976), weighted Tchebycheff; smooth: Lin et al. (2024), arXiv 2402.19078,
    equation 9. The baseline as :func:`rloo`.
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
    """RLOO on a weighted sum whose weights follow the objective that is worst off on average.

    The gradient of :func:`tchebycheff` of the batch's mean rewards J, not of each rollout's: with
    d_m = w_m (1 - J_m) the weights are w_m times the softmax of d / mu, mu = ``smoothing``; for 0,
    w_m for the largest d_m, in equal parts for several. A mixture of extremes counts as a
    compromise here. J is estimated from the rollouts that it weighs, which biases it a little.

    Source: Bhatnagar et al. (2026), STOMP, arXiv 2604.13175, which scalarises the expectations, for
    offline preferences and on standardised rewards; we could read its abstract only. The smooth
    maximum: Lin et al. (2024), arXiv 2402.19078, equation 9.
    """
    library = get_library(rewards)
    inside = mask[..., None]
    means = library.where(inside, rewards, 0.0).sum(axis=(0, 1)) / inside.sum().clip(1)
    distances = _distances(means[None, None], weights)
    behind = distances - library.amax(distances, axis=-1, keepdims=True)
    if smoothing > 0.0:
        shares = library.exp(behind / smoothing)
    else:
        shares = library.where(behind == 0.0, 1.0, 0.0 * behind)
    factors = shares / shares.sum(axis=-1, keepdims=True) * _by_group(weights, rewards)
    return subtract_others((factors * rewards).sum(axis=-1), mask)


def _distances(rewards: Array, weights: np.ndarray) -> Array:
    """(groups, points, objectives), weighted, to 1."""
    return _by_group(weights, rewards) * (1.0 - rewards)


def _by_group(weights: np.ndarray, rewards: Array) -> Array:
    """(1 or groups, 1, objectives)."""
    return like(weights.reshape(-1, 1, weights.shape[-1]), rewards)


def gr3(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """GRPO on the first reward, divided by one plus alpha times what the rollout pays.

    With c the first reward and x_m a cost over its mean in the group (an economy of "gr3", which is
    -x_m; one above 0 counts as no cost) the reward is ``c / (1 + sum_m alpha_m x_m)``, alpha_m =
    w_m / w_0. An answer of the mean cost has w_0 / (w_0 + w_1) of one that costs nothing. A failure
    is worth 0, whatever it pays; the first reward must not be negative.

    Source: Li et al. (2026), "Tackling length inflation without trade-offs: group relative reward
    rescaling", arXiv 2603.10535, equation 6: ``R / (1 + alpha length / mean length)``, of one cost.
    We read it, and an alpha of 0.33, in copies of an earlier prime-rl (``length_shaping = "gr3"``)
    and in reviews, not in the paper. That takes weights of (0.75, 0.25). The sum over several costs
    is ours.
    """
    library = get_library(rewards)
    paid = (-rewards[..., 1:]).clip(0.0)
    right, dear = like(weights[..., :1], rewards), weighted_sum(paid, weights[..., 1:])
    least = right + dear  # 0 where all the weight is on costs, and there are none
    values = rewards[..., 0] * right / library.where(least > 0.0, least, 1.0)
    return standardise(values, mask)


def constant(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """1 for every rollout: the control that shows what a method does without any reward.

    Uncentred rank advantages are all positive; a policy trained on this control shows how much of
    their effect (shorter responses, fewer calls) comes from the sign alone.
    """
    del weights, mask
    return get_library(rewards).ones_like(rewards[..., 0])
