"""Methods that normalise each objective separately before they add them up."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    along_objectives,
    batch_moments,
    deviation,
    extremes,
    get_library,
    like,
    mask_out,
    split_objectives,
    standardise,
    whiten,
)

_CV_EPSILON = 1e-8  # as in SAW's code
_D3PO_EPSILON = 1e-8  # as in the early code of D3PO's authors


def mo_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Sum of the objectives' z-scores in the group, unweighted, not normalised again.

    An objective that is constant in a group adds 0. There is no epsilon, so advantages do not
    change if an objective is scaled by a positive factor or shifted.

    Source: Ichihara et al. (2025), "MO-GRPO", arXiv 2509.22047, equation 5.
    """
    del weights
    library, values = get_library(rewards), split_objectives(rewards)
    lowest, highest = extremes(values, mask)
    varies = highest > lowest
    spread = library.where(varies, highest - lowest, 1.0)
    # Scale to 0..1 first: squares of very small or large rewards would under- or overflow.
    unit = library.where(varies, (values - lowest) / spread, 0.0)
    return standardise(mask_out(unit, mask), mask, epsilon=0.0).sum(axis=0)


def gdpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum of the objectives' z-scores in the group, whitened over the batch.

    Source: Liu et al. (2026), "GDPO", arXiv 2601.05242, with the epsilons of its code for verl:
    1e-6 on the standard deviation of a group, 1e-8 on the variance of the batch. Whitened over
    rollouts, as in TRL (whose epsilons are 1e-4 on both standard deviations); verl whitens over
    tokens, so long responses have more weight there.
    """
    return whiten(_weighted(_scores(rewards, mask), weights).sum(axis=0), mask)


def sa_mrpo(rewards: Array, weights: np.ndarray, mask: Array, *, saturation: float = 0.5) -> Array:
    """Compute GDPO's advantages with less weight on objectives that are nearly perfect.

    The weight of objective k is ``w_k (1 - s_k) ** saturation``, where s_k is its mean reward in
    the batch, at least 0 and at most 1. The best reward must be 1. With a saturation of 0, this is
    :func:`gdpo`.

    Source: Wang et al. (2026), "Saturation aware advantage reweighting for multi-reward policy
    optimization", SA-MRPO, arXiv 2608.16072. We did not read the paper. The formula, and 0.5 as the
    best exponent, come from three accounts that agree; one of them is a simulation. In the paper,
    s_k counts from the worst value of a reward, not from 0.
    """
    mean, _ = batch_moments(split_objectives(rewards), mask)
    left = (1.0 - mean.clip(0.0, 1.0)) ** saturation
    return whiten((_weighted(_scores(rewards, mask), weights) * left).sum(axis=0), mask)


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
    return _weighted(off / (spread + _D3PO_EPSILON), weights).sum(axis=0)


def gd2po(rewards: Array, weights: np.ndarray, mask: Array, *, conflict: float = 0.8) -> Array:
    """Compute GDPO's advantages without the rollouts whose objectives disagree.

    With parts p_k = w_k z_k, a rollout is left out if ``|sum p| < conflict * sum |p|``. 1 leaves
    out all rollouts whose signs differ ("hard"), 0 none. The sums of each group are scaled by the
    share of its rollouts that remain, and those are whitened.

    Source: Liu et al. (2026), "GD2PO", arXiv 2606.16771, and its code for verl, which scales before
    it whitens; its scripts use 0.8.
    """
    parts = _weighted(_scores(rewards, mask), weights)
    total, size = parts.sum(axis=0), abs(parts).sum(axis=0)
    stays = mask & ~(abs(total) < conflict * size)
    stayed, all_of_it = (inside.sum(axis=-1, keepdims=True) for inside in (stays, mask))
    return whiten(total * stayed / all_of_it.clip(1), stays)


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
    library, values = get_library(rewards), split_objectives(rewards)
    lowest, highest = extremes(values, mask)
    spread = library.where(mask.any(-1)[..., None], highest - lowest, 0.0)
    # Use units of the spread: squares of very small or large rewards would under- or overflow.
    unit = library.where(spread > 0.0, spread, 1.0)
    off = deviation(values / unit, mask)
    count = mask.sum(axis=-1, keepdims=True).clip(1)
    deviations = library.sqrt((off**2).sum(axis=-1, keepdims=True) / count) * spread
    total = _weighted(deviations, weights).sum(axis=0)
    off_sum = _weighted(off * spread, weights).sum(axis=0)
    return off_sum / library.where(total > 0.0, total, 1.0)


def saw(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Compute GDPO's advantages with weights that follow each objective's spread in the batch.

    ``v_k`` is proportional to ``w_k cv_k``, the coefficient of variation ``std / |mean|`` of the
    objective over the batch. Rewards count from 0, their worst value; SAW's code shifts its rewards
    there first.

    Source: He et al. (2026), "SAW", arXiv 2606.07705; estimator "gdpo-h" of its code.
    """
    parts = _weighted(_scores(rewards, mask), _weigh_by_variation(rewards, weights, mask))
    return whiten(parts.sum(axis=0), mask)


def saw_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Compute GRPO's advantages with the weights of :func:`saw`.

    Source: as :func:`saw`; estimator "grpo-h" of its code.
    """
    parts = _weighted(split_objectives(rewards), _weigh_by_variation(rewards, weights, mask))
    return standardise(parts.sum(axis=0), mask)


def _scores(rewards: Array, mask: Array) -> Array:
    """Return (objectives, groups, points) z-scores."""
    return standardise(split_objectives(rewards), mask)


def _weighted(values: Array, weights: Array) -> Array:
    return values * along_objectives(weights, values)


def _weigh_by_variation(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Return (objectives,) or (groups, objectives) weights that sum to their number."""
    values = split_objectives(rewards)
    mean, std = batch_moments(values, mask)
    variation = like(weights, rewards) * (std / (abs(mean) + _CV_EPSILON))[:, 0, 0]
    return variation.shape[-1] * variation / (variation.sum(-1)[..., None] + _CV_EPSILON)
