"""Hypervolume of one front, in five shapes: which algorithm wins depends on the shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case
from bench.workloads import FRONTS

# by objectives; the last is what the slower half of the field still does within seconds
_SIZES = {
    2: (100, 10_000),
    3: (100, 1_000, 10_000, 100_000),
    4: (30, 100, 300, 1_000, 3_000),
    5: (30, 100, 300, 1_000),
    6: (50, 100, 200, 400),
    7: (50, 100, 200),
    8: (50, 80, 120),
    9: (30, 60),
    10: (15, 30, 60),
}


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From 2 to 10 objectives; fewer points where there are more objectives."""
    case = partial(Case, "hypervolume", "hypervolume")
    sizes = {m: some[:2] for m, some in _SIZES.items() if m in (3, 4, 6)} if quick else _SIZES
    workloads = ("concave", "convex") if quick else FRONTS
    return [
        case(workload, points, m) for workload in workloads for m in sizes for points in sizes[m]
    ]
