"""Methods that normalise each objective separately before they add them up."""

from __future__ import annotations

import numpy as np

from paretopo.controller.estimators.groups import (
    Array,
    along_objectives,
    extremes,
    mask_out,
    split_objectives,
    standardise,
    whiten,
)


def mo_grpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Sum of the objectives' z-scores in the group, unweighted, not normalised again.

    An objective that is constant in a group adds 0. There is no epsilon, so advantages do not
    change if an objective is scaled by a positive factor or shifted.

    Source: Ichihara et al. (2025), "MO-GRPO", arXiv 2509.22047, equation 5.
    """
    del weights
    values = split_objectives(rewards)
    lowest, highest = extremes(values, mask)
    varies = highest > lowest
    spread = np.where(varies, highest - lowest, 1.0)
    # Scale to 0..1 first: squares of very small or large rewards would under- or overflow.
    unit = np.where(varies, (values - lowest) / spread, 0.0)
    return standardise(mask_out(unit, mask), mask, epsilon=0.0).sum(axis=0)


def gdpo(rewards: Array, weights: np.ndarray, mask: Array) -> Array:
    """Weighted sum of the objectives' z-scores in the group, whitened over the batch.

    Source: Liu et al. (2026), "GDPO", arXiv 2601.05242, with the epsilons of its code for verl:
    1e-6 on the standard deviation of a group, 1e-8 on the variance of the batch. Whitened over
    rollouts, as in TRL (whose epsilons are 1e-4 on both standard deviations); verl whitens over
    tokens, so long responses have more weight there.
    """
    return whiten(weigh(z_scores(rewards, mask), weights).sum(axis=0), mask)


def gd2po(rewards: Array, weights: np.ndarray, mask: Array, *, conflict: float = 0.8) -> Array:
    """Compute GDPO's advantages without the rollouts whose objectives disagree.

    With parts p_k = w_k z_k, a rollout is left out if ``|sum p| < conflict * sum |p|``. 1 leaves
    out all rollouts whose signs differ ("hard"), 0 none. The sums of each group are scaled by the
    share of its rollouts that remain, and those are whitened.

    Source: Liu et al. (2026), "GD2PO", arXiv 2606.16771, and its code for verl, which scales before
    it whitens; its scripts use 0.8.
    """
    parts = weigh(z_scores(rewards, mask), weights)
    total, size = parts.sum(axis=0), abs(parts).sum(axis=0)
    stays = mask & ~(abs(total) < conflict * size)
    stayed, all_of_it = (inside.sum(axis=-1, keepdims=True) for inside in (stays, mask))
    return whiten(total * stayed / all_of_it.clip(1), stays)


def z_scores(rewards: Array, mask: Array) -> Array:
    """Return (objectives, groups, points) z-scores."""
    return standardise(split_objectives(rewards), mask)


def weigh(values: Array, weights: Array) -> Array:
    """Return (objectives, groups, points) values times the weights."""
    return values * along_objectives(weights)
