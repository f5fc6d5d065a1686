"""What each point of one front adds to its hypervolume."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

_SIZES = {
    2: (100, 1_000, 10_000, 100_000),
    3: (100, 1_000, 10_000, 100_000),
    4: (100, 300, 1_000),
    5: (50, 100, 200),
}
WORKLOADS = ("concave", "convex")


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From 2 to 5 objectives."""
    case = partial(Case, "contributions", "hv_contributions")
    sizes = {m: some[:1] for m, some in _SIZES.items()} if quick else _SIZES
    return [
        case(workload, points, m) for workload in WORKLOADS for m in sizes for points in sizes[m]
    ]
