"""EvoX's comparison of all pairs of solutions, on this core.

EvoX's modules import ``non_dominate_rank`` by name, so each of them gets ours. Its crowding
distances and its selection sort, and stay EvoX's own: a run with a seed is the same run.
"""

from __future__ import annotations

import importlib

from evox.operators.selection import non_dominate
from torch import Tensor

from paretopo_core.accelerate import Replacement
from paretopo_core.accelerate.tensor_ranks import can_rank, rank

_rank_any = non_dominate.non_dominate_rank
_IMPORTERS = (
    "evox.operators.selection.non_dominate",  # nd_environmental_selection: NSGA-II
    "evox.operators.selection",
    "evox.operators",
    "evox.algorithms.mo.hype",
    "evox.algorithms.mo.nsga3",
    "evox.algorithms.mo.rveaa",
    "evox.workflows.eval_monitor",
)


def replacements() -> list[Replacement]:
    """The ranks in every module of EvoX that calls or offers them."""
    modules = map(importlib.import_module, _IMPORTERS)
    return [Replacement(module, "non_dominate_rank", non_dominate_rank) for module in modules]


def non_dominate_rank(x: Tensor) -> Tensor:
    """Rank solutions, (solutions, objectives); smaller is better."""
    return rank(x, maximise=False) if can_rank(x) else _rank_any(x)
