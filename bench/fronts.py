"""Non-dominated sorting of one large set."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

SIZES = (100, 1_000, 10_000, 100_000)
HARD = ("concave", "chain", "parallel", "equal", "discrete")


def cases(*, quick: bool = False) -> Sequence[Case]:
    """Uniform points of many sizes, and inputs with one front, with many, and with ties."""
    case = partial(Case, "fronts", "pareto_rank")
    sizes, many = (SIZES[:2], 1_000) if quick else (SIZES, 20_000)
    objectives = (2, 3, 5) if quick else (2, 3, 5, 8)
    return [
        *(case("uniform", points, m) for m in objectives for points in sizes),
        *(case(workload, many, m) for workload in HARD for m in (2, 3, 5)),
    ]
