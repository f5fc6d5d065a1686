"""Methods that rank the rollouts of a group; only the order of the rewards counts."""

from __future__ import annotations

import numpy as np

import paretopo_core
from paretopo.controller.estimators.groups import (
    Array,
    Centre,
    centre_groups,
    extremes,
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
    values = front + beta * (place_in_range(weighted_sum(rewards, weights, mask), same) - 0.5)
    return centre_ranks(values, centre, mask)


# Advantages of the paper's groups of 8 span at most this.
_WIDEST = 8.0


def place_in_range(scalar: Array, among: Array) -> Array:
    """Return (groups, points) the place of a number from the lowest, 0, to the highest, 1.

    Args:
        scalar: (groups, points).
        among: (groups, 1 or points, points), the rollouts to compare each one with.
    """
    lowest, highest = (one[..., 0] for one in extremes(scalar[:, None, :], among))
    ties = ~(highest > lowest)
    return np.where(ties, 0.5, (scalar - lowest) / np.where(ties, 1.0, highest - lowest))


def centre_ranks(values: Array, centre: Centre, mask: Array) -> Array:
    """Centre the ranks of each group, and divide those of a group that span more than 8.

    Ranks grow with the group, and the size of a step must not.
    """
    centred = centre_groups(mask_out(values, mask), centre, mask)
    lowest, highest = extremes(centred, mask)
    return centred * (_WIDEST / (highest - lowest).clip(_WIDEST))
