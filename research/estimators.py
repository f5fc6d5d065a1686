"""Estimators of the studies, each chosen by ``stage2_estimator = "research.estimators:NAME"``.

docs/extending.md has their form; the package's test vectors hold their exact advantages.
"""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.decoupled import weigh, z_scores
from paretopo.controller.estimators.groups import (
    Array,
    Centre,
    batch_moments,
    deviation,
    extremes,
    split_objectives,
    whiten,
)
from paretopo.controller.estimators.ranked import pareto

_CV_EPSILON = 1e-8  # as in SAW's code
_D3PO_EPSILON = 1e-8  # as in the early code of D3PO's authors


def lexicographic(
    rewards: Array, weights: np.ndarray, mask: Array, *, centre: Centre = "mean"
) -> Array:
    """Rank by the first objective; break ties by the second, and so on.

    With F different vectors in the group, the best gets F, the next F - 1, and so on; then they are
    centred as Pareto ranks. This order has no trade-off between objectives, and no unit.

    Source: lexicographic multi-objective reinforcement learning, Gabor, Kalmar, Szepesvari (1998),
    ICML; on ranks of a group: here.
    """
    del weights
    better = rewards[:, :, None] > rewards[:, None, :]
    same = rewards[:, :, None] == rewards[:, None, :]
    wins, ties = better[..., 0], same[..., 0]
    for objective in range(1, rewards.shape[-1]):
        wins = wins | (ties & better[..., objective])
        ties = ties & same[..., objective]
    # The number of rollouts that one beats gives the same order, as one objective with its fronts.
    level = (wins & mask[:, None, :]).sum(axis=-1, dtype=np.float64)[..., None]
    return pareto(level, np.ones(1), mask, beta=0.0, centre=centre)


def d3po(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Sum of deviations from the group's mean, each objective in units of its spread in the batch.

    ``sum_k w_k (r_k - mean_k) / (std_k + 1e-8)``. The mean is that of the group. The standard
    deviation is that of these differences over the batch, with n - 1. The weights come last, so a
    preference for each group does not change the unit of any other group's advantages.

    Source: Ambadkar et al. (2026), "Preference conditioned multi-objective reinforcement learning",
    D3PO, arXiv 2602.07764. We read the loss on the authors' project page. An early version of their
    code (TanmayAmbadkar/reward-decomposition at 1ba24c5, ``ppo/ppo.py``) standardises each
    objective over the batch. There, a critic takes the place of the group's mean. On the page, each
    objective is clipped before it is weighted, and a second term makes the policies of two
    preferences differ: see docs/estimators.md.
    """
    off = deviation(split_objectives(rewards), mask)
    _, spread = batch_moments(off, mask)
    return weigh(off / (spread + _D3PO_EPSILON), weights).sum(axis=0)


def dvao(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Sum of z-scores, with weights that follow the spread of each objective in the group.

    ``sum_k v_k z_k`` with v_k = w_k s_k over the sum of all w_l s_l; z-scores and deviations s_k
    use n. This equals the weighted sum minus its mean, over ``sum_k w_k s_k``. It is GRPO with the
    sum of the deviations in place of the deviation of the sum, which is never larger. The more the
    objectives disagree, the smaller the advantages. A group without any spread gets 0.

    Source: Jiang et al. (2026), "DVAO", arXiv 2605.25604, equation 8. We read the formula in two
    accounts that agree and in another project's implementation, not in the paper; they use n, no
    epsilon, and rewards from 0 to 1.
    """
    values = split_objectives(rewards)
    lowest, highest = extremes(values, mask)
    spread = np.where(mask.any(-1)[..., None], highest - lowest, 0.0)
    # Use units of the spread: squares of very small or large rewards would under- or overflow.
    unit = np.where(spread > 0.0, spread, 1.0)
    off = deviation(values / unit, mask)
    count = mask.sum(axis=-1, keepdims=True).clip(1)
    deviations = np.sqrt((off**2).sum(axis=-1, keepdims=True) / count) * spread
    total = weigh(deviations, weights).sum(axis=0)
    off_sum = weigh(off * spread, weights).sum(axis=0)
    return off_sum / np.where(total > 0.0, total, 1.0)


def saw(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Compute GDPO's advantages with weights that follow each objective's spread in the batch.

    ``v_k`` is proportional to ``w_k cv_k``, the coefficient of variation ``std / |mean|`` of the
    objective over the batch. Rewards count from 0, their worst value; SAW's code shifts its rewards
    there first.

    Source: He et al. (2026), "SAW", arXiv 2606.07705; estimator "gdpo-h" of its code.
    """
    mean, std = batch_moments(split_objectives(rewards), mask)
    variation = weights * (std / (abs(mean) + _CV_EPSILON))[:, 0, 0]
    variation = variation.shape[-1] * variation / (variation.sum(-1)[..., None] + _CV_EPSILON)
    return whiten(weigh(z_scores(rewards, mask), variation).sum(axis=0), mask)


def constant(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Return 1 for every rollout: a control that shows a method's effect without any reward.

    Uncentred rank advantages are all positive. A policy trained on this control shows the part of
    their effect (shorter responses, fewer calls) that comes only from the sign.
    """
    del weights, mask
    return np.ones_like(rewards[..., 0])
