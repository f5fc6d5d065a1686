"""Ranks, normalisation within fronts and centring in one pass over the rewards."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

LARGE = ((1_000_000, 8, 2), (500_000, 16, 3))


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From one training step's groups to a million."""
    case = partial(Case, "advantage", "pareto_advantage", "uniform")
    small = ((128, 8, 2), (1_024, 8, 2), (8_192, 8, 2), (128, 16, 3), (1_024, 16, 3))
    shapes = small[:3] if quick else (*small, *LARGE)
    return [case(points, m, groups, "float32") for groups, points, m in shapes]
