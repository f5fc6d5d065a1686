"""Methods that rank the rollouts of a group; only the order of the rewards counts."""

from __future__ import annotations

import numpy as np

import paretopo_core
from paretopo.controller.estimators.groups import (
    Array,
    Centre,
    centre_groups,
    extremes,
    get_library,
    like,
    mask_out,
    weighted_sum,
)


def pareto(
    rewards: Array, weights: np.ndarray, mask: Array, *, beta: float = 0.5, centre: Centre = "mean"
) -> Array:
    """Advantages by Pareto rank, as :func:`paretopo_core.pareto_advantage`.

    Weighted sums that differ only by rounding are equal here, and the span is bounded.

    Source: the ParetoPO paper, arXiv 2606.16111, section 3.2.
    """
    inside = None if bool(mask.all()) else mask
    front: Array = paretopo_core.pareto_advantage(
        rewards, weights=weights, beta=0.0, centre="none", mask=inside
    )
    same = mask[:, None, :] & (front[:, :, None] == front[:, None, :])
    values = front + beta * (_share(weighted_sum(rewards, weights, mask), same) - 0.5)
    return _centre(values, centre, mask)


def soft_pareto(
    rewards: Array,
    weights: np.ndarray,
    mask: Array,
    *,
    beta: float = 0.5,
    centre: Centre = "mean",
    sigma: float = 0.1,
    margin: float = 0.0,
) -> Array:
    """Advantages by the smooth rank R: ``points + 1 - R + beta * (q - 0.5)``, then centred.

    R is :func:`paretopo_core.stochastic_pareto_rank`: one plus the expected number of dominating
    rollouts if every reward gets Gumbel noise of scale ``sigma``. There are no fronts, so q is the
    weighted sum scaled to 0..1 over the group. A rollout that dominates another has the larger
    value for every ``sigma``. The advantage is smooth in the rewards except where another rollout
    becomes an end of q's range.

    Source: the ParetoPO paper, section 3.3; closed form, margin and q: docs/paper_method.md.
    """
    library = get_library(rewards)
    wins = paretopo_core.stochastic_dominance(rewards, sigma=sigma, margin=margin)
    beaten = library.where(mask[..., None], wins, 0.0).sum(axis=-2)
    q = _share(weighted_sum(rewards, weights, mask), mask[:, None, :])
    values = mask.sum(axis=-1, keepdims=True) - beaten + beta * (q - 0.5)
    return _centre(values, centre, mask)


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
    level = (wins & mask[:, None, :]).sum(axis=-1)[..., None]
    level = level * like(np.ones(1), rewards)
    return pareto(level, np.ones(1), mask, beta=0.0, centre=centre)


# Advantages of the paper's groups of 8 span at most this.
_WIDEST = 8.0


def _share(scalar: Array, among: Array) -> Array:
    """Return (groups, points) the place of a number from the lowest, 0, to the highest, 1.

    Args:
        scalar: (groups, points).
        among: (groups, 1 or points, points), the rollouts to compare each one with.
    """
    lowest, highest = (one[..., 0] for one in extremes(scalar[:, None, :], among))
    ties = ~(highest > lowest)
    where = get_library(scalar).where
    return where(ties, 0.5, (scalar - lowest) / where(ties, 1.0, highest - lowest))


def _centre(values: Array, centre: Centre, mask: Array) -> Array:
    """Centre the ranks of each group, and divide those of a group that span more than 8.

    Ranks grow with the group, and the size of a step must not.
    """
    centred = centre_groups(mask_out(values, mask), centre, mask)
    lowest, highest = extremes(centred, mask)
    return centred * (_WIDEST / (highest - lowest).clip(_WIDEST))
