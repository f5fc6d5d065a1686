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
    weighted_sum,
)


def pareto(
    rewards: Array, weights: np.ndarray, mask: Array, *, beta: float = 0.5, centre: Centre = "mean"
) -> Array:
    """Advantages by Pareto rank: :func:`paretopo_core.pareto_advantage`.

    Source: the ParetoPO paper, arXiv 2606.16111, section 3.2.
    """
    return paretopo_core.pareto_advantage(
        rewards, weights, beta=beta, centre=centre, mask=None if bool(mask.all()) else mask
    )


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
    wins = paretopo_core.stochastic_dominance(rewards, sigma, margin)
    beaten = library.where(mask[..., None], wins, 0.0).sum(axis=-2)
    scalar = weighted_sum(rewards, weights)
    lowest, highest = extremes(scalar, mask)
    ties = ~(highest > lowest)
    scaled = (scalar - lowest) / library.where(ties, 1.0, highest - lowest)
    q = library.where(ties, 0.5, scaled)
    values = mask.sum(axis=-1, keepdims=True) - beaten + beta * (q - 0.5)
    return centre_groups(library.where(mask, values, 0.0), centre, mask)


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
