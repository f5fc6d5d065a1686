"""The operations of the benchmark, in the order they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench import (
    advantage,
    archive,
    batches,
    contributions,
    expected_hypervolume,
    filter,
    fronts,
    hypervolume,
    overhead,
    threads,
)
from bench.case import Case

# Called as cases(quick=False).
OPERATIONS: dict[str, Callable[..., Sequence[Case]]] = {
    "fronts": fronts.cases,
    "filter": filter.cases,
    "hypervolume": hypervolume.cases,
    "contributions": contributions.cases,
    "batches": batches.cases,
    "advantage": advantage.cases,
    "expected_hypervolume": expected_hypervolume.cases,
    "archive": archive.cases,
    "overhead": overhead.cases,
    "threads": threads.cases,
}
