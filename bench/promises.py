"""Compare the speed in the CSV files with the targets of ``promises.toml``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from bench.cases import Case
from bench.peers import OURS
from bench.rows import Measurement

FILE = Path(__file__).with_name("promises.toml")
_HEAD = ("promise", "measured", "target", "reached", "met")
_AT_LEAST = ("worst", "mean", "speedup")  # measures that are better if larger
_FIELDS = {field.name for field in fields(Case)}
_FACTORS = {"ms": 1.0, "us": 1e3, "ns": 1e6}  # times a millisecond


@dataclass(frozen=True)
class Promise:
    """A line of the table.

    Attributes:
        name: the workload.
        measured: the number and the case in which it is worst; None if rows are missing.
        target: the promised number.
        unit: of both.
        is_at_least: True if more is better.
    """

    name: str
    measured: tuple[float, str] | None
    target: float
    unit: str
    is_at_least: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as text. "reached" is 1 or more if the target is met."""
        target = f"{'at least' if self.is_at_least else 'at most'} {self.target:g} {self.unit}"
        if self.measured is None:
            return self.name, "not measured", target, "", ""
        value, where = self.measured
        reached = value / self.target if self.is_at_least else self.target / value
        number = f"{value:.3g} {self.unit} ({where})"
        return self.name, number, target, f"{reached:.2f}", "yes" if reached >= 1 else "NO"


def check_promises(rows: Sequence[Measurement], isa: str) -> list[Promise]:
    """Compare every promise with the rows.

    Args:
        rows: of all operations that were run.
        isa: the instruction set they were run on.
    """
    table = _Table(rows)
    promises = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return [
        _check(table, name, {"operation": operation} | promise, isa)
        for operation, lines in promises.items()
        for name, promise in lines.items()
    ]


def render(table: Sequence[Promise]) -> str:
    """Write the table in Markdown, aligned so that it reads well in a terminal too."""
    lines = [_HEAD, *(promise.cells for promise in table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, tuple("-" * width for width in widths))
    padded = [[f"{c:<{w}}" for c, w in zip(line, widths, strict=True)] for line in lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in padded)


def count_losses(rows: Sequence[Measurement]) -> str:
    """List the cases in which a peer is faster, out of all cases that a peer offers."""
    table = _Table(rows)
    compared = [
        (ratio, f"{case.task} {where}")
        for case in table.cases
        for ratio, where in table.compare(case)
    ]
    losses = sorted(pair for pair in compared if pair[0] < 1)
    listed = ", ".join(f"{ratio:.2g} x {where}" for ratio, where in losses)
    return (
        f"A peer is faster in {len(losses)} of the {len(compared)} cases that a peer offers"
        f"{': ' * bool(losses)}{listed}.\n"
    )


def _check(table: _Table, name: str, promise: Mapping[str, Any], isa: str) -> Promise:
    measure, ours = promise.get("measure", "worst"), promise.get("ours", OURS)
    wanted = {key: value for key, value in promise.items() if key in _FIELDS}
    cases = [
        case
        for case in table.cases
        if all(_matches(value, getattr(case, key)) for key, value in wanted.items())
    ]
    target = promise.get("avx2", promise["target"]) if isa != "avx512" else promise["target"]
    unit = promise.get("unit", "x" if measure in _AT_LEAST else "x the time")
    found: list[tuple[float, str]] = []
    if measure in ("worst", "mean"):
        peers = promise.get("peer", ())
        peers = (peers,) if isinstance(peers, str) else tuple(peers)
        found = [pair for case in cases for pair in table.compare(case, peers, ours)]
    elif measure == "time":
        found = [
            (time * _FACTORS[unit] / (case.groups or 1 if unit == "ns" else 1), _place(case))
            for case in cases
            if (time := table.time(case, ours)) is not None
        ]
    else:
        found = [
            pair for case in cases for pair in table.relate(case, measure, promise.get("against"))
        ]
    if not found:
        measured = None
    elif measure == "mean":
        logs = [math.log(ratio) if ratio > 0 else -math.inf for ratio, _ in found]
        measured = math.exp(sum(logs) / len(logs)), f"mean of {len(found)}"
    else:
        measured = min(found) if measure in _AT_LEAST else max(found)
    return Promise(name, measured, target, unit, measure in _AT_LEAST)


def _matches(wanted: Any, value: object) -> bool:
    """Compare a field with a value, a list of values, or a range "low-high" of numbers."""
    if isinstance(value, int) and isinstance(wanted, str):
        low, _, high = wanted.partition("-")
        return int(low or 0) <= value <= float(high or math.inf)
    return value in wanted if isinstance(wanted, list) else value == wanted


def _place(case: Case) -> str:
    return f"{case.task} {case.workload} {case.points} x {case.objectives}"


class _Table:
    """Rows by case, and how many times faster we are on a case."""

    def __init__(self, rows: Sequence[Measurement]) -> None:
        self.cases: dict[Case, dict[str, Measurement]] = {}
        for row in rows:
            self.cases.setdefault(row.case, {})[row.peer] = row

    def time(self, case: Case, peer: str = OURS, *, by_wall: bool = False) -> float | None:
        row = self.cases.get(case, {}).get(peer)
        if row is None or not row.is_timed:
            return None
        return row.wall_median_ms if by_wall else row.milliseconds

    def compare(
        self, case: Case, peers: Sequence[str] = (), ours: str = OURS
    ) -> Iterator[tuple[float, str]]:
        """Yield the time of the best peer over ours, at most once; 0 if we have no time.

        Without ``peers``, all count but other calls of this package.
        """
        names = peers or [name for name in self.cases[case] if not name.startswith(OURS)]
        timed = {name: time for name in names if (time := self.time(case, name)) is not None}
        if timed:
            name, mine = min(timed, key=timed.__getitem__), self.time(case, ours)
            ratio = 0.0 if mine is None else timed[name] / mine
            yield ratio, f"{case.workload} {case.points} x {case.objectives}, {name}"

    def relate(
        self, case: Case, measure: str, against: Mapping[str, Any] | None
    ) -> Iterator[tuple[float, str]]:
        """Yield the ratio of two of our times, at most once."""
        larger = {"points": case.points + 1}
        other = replace(case, **(larger if against is None else against))
        times = [self.time(one, by_wall=measure == "speedup") for one in (case, other)]
        if times[0] is None or times[1] is None:
            return
        ratio, place = times[0] / times[1], _place(case)
        if measure == "speedup":
            ratio = 1 / ratio
        elif measure == "trend":  # a jump down counts, too: the smaller size is the slow one then
            trend = ratio * (other.points / case.points) ** 2
            ratio, place = (
                max(trend, 1 / trend),
                f"{case.points} to {other.points} x {case.objectives}",
            )
        yield ratio, place
