"""Many small groups in one call: ranks, filters, and hypervolumes of ragged groups."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case

RANKED = ((100_000, 8, 2), (4_096, 16, 3), (4_096, 64, 2))
RAGGED = 10_000


def cases(*, quick: bool = False) -> Sequence[Case]:
    """The shapes of rollout groups; ragged groups have 8 to 32 points."""
    many = 100 if quick else 1
    rank = partial(Case, "batches", "pareto_rank", "uniform")
    chosen = partial(Case, "batches", "is_nondominated", "uniform")
    volume = partial(Case, "batches", "hypervolume", "ragged")
    return [
        *(
            rank(points, m, groups // (many if groups > RAGGED else 1 + many // 10), dtype)
            for groups, points, m in RANKED
            for dtype in ("float64", "float32")
        ),
        chosen(16, 3, 4_096 // (1 + many // 10)),
        *(volume(32, m, RAGGED // many) for m in (2, 3, 4)),
    ]
