"""One call on one tiny array: what the way in from Python costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

TASKS = ("pareto_rank", "is_nondominated", "hypervolume", "hv_contributions", "pareto_advantage")


def cases(*, quick: bool = False) -> Sequence[Case]:
    """8 points with 2 objectives; and a set that peers do in 40 µs, where the way in shows."""
    case = partial(Case, "overhead", points=8, objectives=2)
    tiny = [case(task, "concave" if task.startswith("h") else "uniform") for task in TASKS]
    quick_set = Case("overhead", "hypervolume", "degenerate", 50, 8)
    return tiny if quick else [*tiny, quick_set]
