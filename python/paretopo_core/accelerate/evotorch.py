"""EvoTorch's comparison of all pairs of solutions, on this core.

``SolutionBatch`` looks the function up in its module, for tournaments, the best solutions and
Pareto sorts. The crowding distances within a front, and their order, stay EvoTorch's own.
"""

from __future__ import annotations

import torch
from evotorch import core
from torch import Tensor

from paretopo_core.accelerate import Replacement
from paretopo_core.accelerate.tensor_ranks import can_rank, rank

_rank_any = core._compute_pareto_ranks


def replacements() -> list[Replacement]:
    """The ranks of a batch of solutions."""
    return [Replacement(core, "_compute_pareto_ranks", rank_and_crowd)]


def rank_and_crowd(utils: Tensor, crowdsort: bool) -> tuple[Tensor, Tensor | None]:
    """Rank solutions, (solutions, objectives), larger is better; then order each front, if asked.

    The second tensor holds, at the solutions of a front in their order, the positions in the front
    from the least crowded to the most crowded.
    """
    if not can_rank(utils):
        return _rank_any(utils, crowdsort)
    points = utils.clone()  # EvoTorch's read-only tensors are a class of their own
    ranks = rank(points, maximise=True).long()
    if not crowdsort:
        return ranks, None
    orders = torch.zeros_like(ranks)
    for front in range(int(ranks.max()) + 1):
        members = ranks == front
        distances = core._crowding_distance_assignment(points[members])
        orders[members] = distances.argsort(descending=True)
    return ranks, orders
