"""Which points of one set are not dominated: mostly dominated data, and fronts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

WORKLOADS = ("uniform", "concave")


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From 2 to 10 objectives, 1,000 to 100,000 points."""
    case = partial(Case, "filter", "is_nondominated")
    sizes = (300, 1_000) if quick else (1_000, 10_000, 100_000)
    objectives = (2, 3, 6) if quick else (2, 3, 4, 6, 8, 10)
    return [
        case(workload, points, m) for workload in WORKLOADS for m in objectives for points in sizes
    ]
