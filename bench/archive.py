"""Points added to an archive of a thousand, each with its exact gain of hypervolume."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.case import Case


def cases(*, quick: bool = False) -> Sequence[Case]:
    """From 2 to 4 objectives; a run adds 50 points of the same front."""
    case = partial(Case, "archive", "archive_add", "concave")
    sizes = (100,) if quick else (100, 300, 1_000)
    return [case(points, m) for m in (2, 3, 4) for points in sizes]
