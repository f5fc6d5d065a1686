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

# Advantages of the paper's groups of 8 span at most this.
_WIDEST = 8.0


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
    # The place in the front, from the lowest weighted sum, 0, to the highest, 1.
    same = mask[:, None, :] & (front[:, :, None] == front[:, None, :])
    scalar = weighted_sum(rewards, weights, mask)
    lowest, highest = (one[..., 0] for one in extremes(scalar[:, None, :], same))
    ties = ~(highest > lowest)
    place = np.where(ties, 0.5, (scalar - lowest) / np.where(ties, 1.0, highest - lowest))
    centred = centre_groups(mask_out(front + beta * (place - 0.5), mask), centre, mask)
    # Ranks grow with the group, and the size of a step must not.
    lowest, highest = extremes(centred, mask)
    return centred * (_WIDEST / (highest - lowest).clip(_WIDEST))
