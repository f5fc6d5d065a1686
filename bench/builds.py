"""Compare the speed of two builds of paretopo_core on the same cases, in turns.

A busy machine slows down two consecutive measurements alike, so only their ratio counts: the
median over the rounds of the ratio of the fastest samples. A case that seems slower is measured
again in new processes, with data and code at different addresses, before it counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import rows
from bench.cases import Case
from bench.peers import OURS
from bench.rows import Measurement
from bench.runner import Runner

REPEATS = 3  # of a case that seems slower


@dataclass(frozen=True)
class Comparison:
    """A case in both builds.

    Attributes:
        speed: the other build's time over ours, below 1 if we are slower. 0 if only the other build
            answered, infinity if only we did, NaN if neither did.
        rounds: number of rounds that both answered.
        note: the failure, if there is one.
    """

    case: Case
    speed: float
    rounds: int
    note: str = ""

    def is_slower(self, tolerance: float) -> bool:
        """Return True if we take more than ``1 + tolerance`` of the other build's time."""
        return self.speed * (1 + tolerance) < 1


def compare(measured: Sequence[Measurement], label: str) -> list[Comparison]:
    """Compare the rows of this build with those of another; a case may have one per round."""
    by_case: dict[Case, dict[str, list[Measurement]]] = {}
    for row in measured:
        by_case.setdefault(row.case, {OURS: [], label: []}).setdefault(row.peer, []).append(row)
    return [_compare(case, found[OURS], found[label]) for case, found in by_case.items()]


def _compare(case: Case, ours: list[Measurement], theirs: list[Measurement]) -> Comparison:
    failed = [row for row in (*ours, *theirs) if not row.is_timed]
    note = f"{failed[0].peer}: {failed[0].status}, {failed[0].note}" if failed else ""
    we_answer, they_answer = (
        bool(side) and all(row.is_timed for row in side) for side in (ours, theirs)
    )
    if we_answer and they_answer:
        ratios = [
            other.least_milliseconds / our.least_milliseconds
            for our, other in zip(ours, theirs, strict=True)
        ]
        return Comparison(case, statistics.median(ratios), len(ratios))
    if we_answer or they_answer:
        return Comparison(case, math.inf if we_answer else 0.0, 0, note or "not offered")
    return Comparison(case, math.nan, 0, note)


def run(
    runner: Runner,
    cases: Sequence[Case],
    path: Path,
    label: str,
    tolerance: float,
    *,
    resume: bool = False,
) -> list[Comparison]:
    """Measure the cases of an operation in both builds; repeat cases that seem slower.

    The other build is in the runner's plan. The CSV file at ``path`` gets the rows of every round.
    """
    runner.run(cases, path, resume=resume)
    for _ in range(REPEATS):
        compared = compare(rows.read(path), label)
        again = [found.case for found in compared if found.rounds and found.is_slower(tolerance)]
        if not again:
            break
        print(f"{len(again)} of {len(cases)} seem slower; once more:", flush=True)
        runner.repeat(again, path)
    return compare(rows.read(path), label)


def render(compared: Sequence[Comparison], label: str, tolerance: float) -> str:
    """Render the ratios in Markdown: a line per operation, then every slower case."""
    lines = [
        f"Times of {label} over ours: above 1 this build is the faster.",
        "",
        "| operation | cases | geometric mean | worst | slower by more than "
        f"{tolerance:.0%} | only ours answers |",
        "|---|---|---|---|---|---|",
    ]
    operations = dict.fromkeys(found.case.operation for found in compared)
    for operation in (*operations, *(["all"] if len(operations) > 1 else [])):
        some = [found for found in compared if operation in (found.case.operation, "all")]
        both = [found for found in some if found.rounds]
        worst = min(both, key=lambda found: found.speed, default=None)
        mean = statistics.geometric_mean([found.speed for found in both]) if both else math.nan
        cells = (
            operation,
            f"{len(both)}",
            f"{mean:.3f}",
            "" if worst is None else f"{worst.speed:.3f} ({worst.case})",
            f"{sum(found.is_slower(tolerance) for found in some)}",
            f"{sum(found.speed == math.inf for found in some)}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    slower = sorted(
        (found for found in compared if found.is_slower(tolerance)), key=lambda found: found.speed
    )
    if slower:
        lines += ["", "| slower | speed | rounds | |", "|---|---|---|---|"]
        lines += [
            f"| {found.case} | {found.speed:.3f} | {found.rounds} | {found.note} |"
            for found in slower
        ]
    return "\n".join(lines) + "\n"
