"""Batches on one thread and on two, by the wall clock; peers have no threads to compare."""

from __future__ import annotations

from collections.abc import Sequence

from bench.case import Case

_BATCHES = (
    ("pareto_rank", "uniform", 100_000, 16, 3, "float32"),
    ("pareto_advantage", "uniform", 200_000, 16, 3, "float32"),
    ("hypervolume", "ragged", 10_000, 32, 3, "float64"),
)


def cases(*, quick: bool = False) -> Sequence[Case]:
    """Three operations, large enough to be divided."""
    smaller = 50 if quick else 1
    return [
        Case("threads", task, workload, points, m, groups // smaller, dtype, threads)
        for task, workload, groups, points, m, dtype in _BATCHES
        for threads in (1, 2)
    ]
