"""Compare the speed in the CSV files with the targets of this package.

Each target, called a promise, compares rows of one run. A row of the table has the measured
number, the target, and their ratio: 1 or more means that the target is met.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bench.cases import (
    BOUNDS,
    CANDIDATES,
    CELLS,
    FEW,
    FILTERED,
    HARD,
    REFERENCE_INDICATORS,
    REFERENCE_POINTS,
    RUNS,
    SAMPLES,
    VALID,
    WANTED,
    Case,
)
from bench.peers import OURS
from bench.rows import Measurement
from bench.workloads import FRONTS

_HEAD = ("promise", "measured", "target", "reached", "met", "what stands against it")
# Maps the beginning of a promise to the row in "Attempts" of README.md that explains the result.
_MEASURED = {
    "fused rank-advantage": "fused rank-advantage",
    "HV@4": "HV@4 advantages",
    "batched ranks": "ranks in float64",
    "10,000 ragged hypervolumes": "10,000 ragged hypervolumes",
    "pareto_rank of 10000 groups": "padding",
    "hypervolume of 10000 groups with": "padding",
    "pareto_rank of groups, both": "groups around each bound",
    "is_nondominated of groups, both": "groups around each bound",
    "pareto_advantage of groups, both": "groups around each bound",
    "crowding of groups, both": "groups around each bound",
    "pareto_rank of 200 groups": "ranks in float64",
    "is_nondominated of 200 groups": "ranks in float64",
    "filter 33 to 64 uniform": "filter of 33 to 64 points",
    "filter 1,000 and more uniform, 2": "filter of 1,000 x 2",
    "filter 1,000 and more concave, 2": "filter of a front",
    "filter 10,000 and more uniform, 3": "filter of 1,000,000 x 3",
    "sort 100,000 uniform, 5": "sort 100,000 x 5",
    "hypervolume, 5 shapes, 3": "hypervolume of 1,000 x 3",
    "hypervolume, 5 shapes, 4 and 5": "hypervolume x 4",
    "hypervolume, degenerate": "hypervolume x 4",
    "hypervolume, 5 shapes, from 6": "from 6 objectives",
    "contributions, 2 objectives": "filter of a front",
    "contributions, 4 objectives": "from 6 objectives",
    "gradient, 2 objectives, against": "hypervolume_gradient of 1,000 x 2",
    "gradient, 2 objectives, of": "hypervolume_gradient of 10 points",
    "gradient, 3 objectives, of": "hypervolume_gradient of 10 points",
    "exact R2": "exact R2",
    "attainment surfaces": "attainment surfaces",
    "where 5 of them attain": "differences of attainment",
    "hypervolume with 64 weights": "weighted hypervolume",
    "a quarter left of a front": "a quarter left of a front",
    "ranks of the first tenth": "first fronts",
    "one point in each box": "ε-boxes, scales",
    "scaled by the front": "ε-boxes, scales",
    "crowding of one front, against": "crowding of one front",
    "crowding of one front, known": "crowding of one front",
    "one call on one tiny": "one call on a tiny tensor",
    "pareto_rank of 100000 groups on 2": "batches over 2 threads",
    "pareto_advantage of 200000 groups on 2": "batches over 2 threads",
    "hypervolume of 10000 groups on 2": "batches over 2 threads",
    "is_nondominated of 10000000 points on 2": "one set of 10,000,000 x 2",
}
_ABOUT_EQUAL = 0.9  # "never more than 10 % slower"


@dataclass(frozen=True)
class Promise:
    """A line of the table.

    Attributes:
        what: the workload.
        measured: the number and where it was worst; None if rows are missing.
        target: the number promised.
        unit: of both; "x" means times faster than peers, where more is better; otherwise less is.
    """

    what: str
    measured: tuple[float, str] | None
    target: float
    unit: str = "x"

    @property
    def reached(self) -> float:
        """Measured over target, turned so that 1 or more is met; NaN if not measured."""
        if self.measured is None:
            return math.nan
        value, _ = self.measured
        return value / self.target if self.unit == "x" else self.target / value

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        if self.measured is None:
            return (self.what, "not measured", f"{self.target:g} {self.unit}", "", "", "")
        value, where = self.measured
        return (
            self.what,
            f"{value:.3g} {self.unit}{f' ({where})' if where else ''}",
            f"{'at least' if self.unit == 'x' else 'at most'} {self.target:g} {self.unit}",
            f"{self.reached:.2f}",
            "yes" if self.reached >= 1 else "NO",
            "" if self.reached >= 1 else self.shown,
        )

    @property
    def shown(self) -> str:
        """The row of "Attempts" that explains a missed target, if there is one."""
        rows = (row for begin, row in _MEASURED.items() if self.what.startswith(begin))
        return next(rows, "")


def check_promises(rows: Sequence[Measurement], isa: str) -> list[Promise]:
    """Hold every promise against the rows.

    Args:
        rows: of all operations that were run.
        isa: the instruction set they were run on.
    """
    table = _Table(rows)
    return [
        *_check_batches(table, isa == "avx512"),
        *_check_fronts(table),
        *_check_filters(table),
        *_check_hypervolumes(table),
        *_check_contributions(table),
        *_check_gradients(table),
        *_check_boxes(table),
        *_check_indicators(table),
        *_check_subsets(table),
        *_check_dominance(table),
        *_check_crowding(table),
        *_check_archives(table),
        *(
            Promise(f"one call on one tiny {form}, the slowest of five tasks", time, target, "us")
            for form, peer, target in (
                ("array", OURS, 1),
                ("list", "paretopo list", 4),
                ("tensor", "paretopo tensor", 4),
            )
            for time in [table.overhead(peer)]
        ),
        *_check_threads(table),
    ]


def render(table: Iterable[Promise]) -> str:
    """Write the table in Markdown, aligned so that it reads well in a terminal too."""
    lines = [_HEAD, *(promise.cells for promise in table)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rendered = [
        "| "
        + " | ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]
    rendered.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(rendered) + "\n"


def count_losses(rows: Sequence[Measurement]) -> str:
    """List the cases in which a peer is faster, out of all cases that a peer offers."""
    table = _Table(rows)
    operations = dict.fromkeys(row.operation for row in rows)
    compared = [
        (ratio, f"{case.task} {where}")
        for operation in operations
        for case in table.cases(operation)
        for ratio, where in table.speedups([case])
    ]
    losses = sorted(pair for pair in compared if pair[0] < 1)
    listed = ", ".join(f"{ratio:.2g} x {where}" for ratio, where in losses)
    return (
        f"A peer is faster in {len(losses)} of the {len(compared)} cases that a peer offers"
        f"{': ' * bool(losses)}{listed}.\n"
    )


class _Table:
    """Rows by case, and how many times faster we are on a case."""

    def __init__(self, rows: Iterable[Measurement]) -> None:
        self._cases: dict[Case, dict[str, Measurement]] = {}
        for row in rows:
            self._cases.setdefault(row.case, {})[row.peer] = row

    def cases(self, operation: str, keep: Callable[[Case], bool] = lambda _: True) -> list[Case]:
        return [case for case in self._cases if case.operation == operation and keep(case)]

    def time(self, case: Case, peer: str = OURS) -> float | None:
        row = self._cases.get(case, {}).get(peer)
        return row.milliseconds if row is not None and row.is_timed else None

    def wall(self, case: Case) -> float | None:
        row = self._cases.get(case, {}).get(OURS)
        return row.wall_median_ms if row is not None and row.is_timed else None

    def speedups(
        self, cases: Iterable[Case], *peers: str, ours: str = OURS
    ) -> list[tuple[float, str]]:
        """Best peer over ours, case by case; if none is named, against all but other calls of ours.

        A case that we did not do counts as 0; one that no peer did says nothing.
        """
        found = []
        for case in cases:
            mine = self.time(case, ours)
            names = peers or tuple(name for name in self._cases[case] if not name.startswith(OURS))
            theirs = {name: self.time(case, name) for name in names}
            timed = {name: time for name, time in theirs.items() if time is not None}
            if not timed:
                continue
            name = min(timed, key=timed.__getitem__)
            where = f"{case.workload} {case.points} x {case.objectives}, {name}"
            found.append((0.0 if mine is None else timed[name] / mine, where))
        return found

    def worst(
        self, cases: Iterable[Case], *peers: str, ours: str = OURS
    ) -> tuple[float, str] | None:
        return min(self.speedups(cases, *peers, ours=ours), default=None)

    def mean(self, cases: Iterable[Case], *peers: str) -> tuple[float, str] | None:
        """The geometric mean."""
        ratios = [ratio for ratio, _ in self.speedups(cases, *peers)]
        if not ratios or min(ratios) <= 0:
            return (0.0, "some not done") if ratios else None
        mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
        return mean, f"mean of {len(ratios)}"

    def overhead(self, peer: str) -> tuple[float, str] | None:
        times = [
            (time * 1e3, case.task)
            for case in self.cases("overhead", lambda case: case.points == 8)
            if (time := self.time(case, peer)) is not None
        ]
        return max(times, default=None)

    def cliff(self, cases: Iterable[Case]) -> tuple[float, str] | None:
        """How far two neighbouring sizes are from the trend, the number of pairs; 1 if they aren't.

        A jump down counts as one up: the smaller size is the slow one then.
        """
        found = []
        for small in cases:
            large = replace(small, points=small.points + 1)
            before, after = self.time(small), self.time(large)
            if before is None or after is None:
                continue
            ratio = after / before * (small.points / large.points) ** 2
            where = f"{small.points} to {large.points} x {small.objectives}"
            found.append((max(ratio, 1 / ratio), where))
        return max(found, default=None)

    def over(self, case: Case, other: Case) -> tuple[float, str] | None:
        """Our time on a case over our time on another one."""
        mine, base = self.time(case), self.time(other)
        return None if mine is None or base is None else (mine / base, "")


def _check_batches(table: _Table, has_avx512: bool) -> list[Promise]:
    found = []
    for (groups, points, m), target in (
        ((1_000_000, 8, 2), 10 if has_avx512 else 15),
        ((500_000, 16, 3), 30 if has_avx512 else 50),
    ):
        cases = [case for case in table.cases("advantage") if case.groups == groups]
        time = table.time(cases[0]) if cases else None
        measured = None if time is None else (time * 1e6 / groups, "")
        what = f"fused rank-advantage, {groups} groups of {points} x {m} float32, per group"
        found.append(Promise(what, measured, target, "ns"))
    shape = (1_000_000, 8, 2, "hypervolume_advantage", "float32")
    cases = [case for case in table.cases("expected_hypervolume") if _shape(case) == shape]
    time = table.time(cases[0]) if cases else None
    found.append(
        Promise(
            "HV@4 advantages, 1000000 groups of 8 x 2 float32, per group",
            None if time is None else (time, ""),  # milliseconds for a million
            40,
            "ns",
        )
    )
    for groups, points, m, target in ((100_000, 8, 2, 30), (4_096, 16, 3, 30), (4_096, 64, 2, 10)):
        shape = (groups, points, m, "pareto_rank", "float64")
        cases = [case for case in table.cases("batches") if _shape(case) == shape]
        what = f"batched ranks {groups} x {points} x {m}, against moocore's C"
        found.append(Promise(what, table.worst(cases, "moocore C"), target))
    for m in (2, 3, 4):
        shape = (10_000, 32, m, "hypervolume", "float64")
        cases = [case for case in table.cases("batches") if _shape(case) == shape]
        what = f"10,000 ragged hypervolumes of 8 to 32 points, {m} objectives, against moocore's C"
        found.append(Promise(what, table.worst(cases, "moocore C"), 10))
    padded = table.cases("batches", lambda case: case.workload == "padded")
    found += [
        Promise(
            f"{case.task} of {case.groups} groups with {VALID} of {case.points} points, against "
            "these points alone",
            table.over(case, replace(case, workload="uniform", points=VALID)),
            1.5,
            "x the time",
        )
        for case in padded
    ]
    for task in ("pareto_rank", "is_nondominated", "pareto_advantage"):
        cases = table.cases("bounds", _with(task=task))
        lower = [case for case in cases if case.points in BOUNDS[case.objectives]]
        what = f"{task} of groups, both sides of a bound, against the trend"
        found.append(Promise(what, table.cliff(lower), 1.5, "x the time"))
    for task in ("pareto_rank", "is_nondominated"):
        cases = [
            case for case in table.cases("bounds", _with(task=task)) if case.points in range(33, 65)
        ]
        what = f"{task} of 200 groups of 33 to 64 points, against a loop over moocore"
        found.append(Promise(what, table.worst(cases, "moocore"), 8))
    return found


def _check_fronts(table: _Table) -> list[Promise]:
    found = []
    for m, target in ((2, 3), (3, 4), (5, 7), (8, 7)):
        cases = [
            case
            for case in table.cases("fronts")
            if (case.workload, case.points, case.objectives) == ("uniform", 100_000, m)
        ]
        what = f"sort 100,000 uniform, {m} objectives, against moocore"
        found.append(Promise(what, table.worst(cases, "moocore"), target))
    for workload in HARD:
        cases = [
            case
            for case in table.cases("fronts")
            if (case.workload, case.points) == (workload, 20_000)
        ]
        what = f"sort 20,000 {workload}, 2 to 5 objectives, against every peer"
        found.append(Promise(what, table.worst(cases), 1))
    chains = table.cases(
        "fronts",
        lambda case: (case.workload, case.points) == ("chain", 20_000) and case.objectives > 2,
    )
    times = [
        (time, f"{case.objectives} objectives")
        for case in chains
        if (time := table.time(case)) is not None
    ]
    found.append(
        Promise("sort a chain of 20,000, 3 and 5 objectives", max(times, default=None), 20, "ms")
    )
    few = table.cases("fronts", lambda case: case.points in FEW)
    thousand = [
        case
        for case in table.cases("fronts", _with(workload="uniform", points=1_000))
        if case.objectives <= 3
    ]
    ties = [
        case
        for case in table.cases("fronts", _with(points=20_000))
        if case.workload in ("equal", "parallel", "discrete")
    ]
    return [
        *found,
        Promise("sort 33 to 64 uniform, 2 to 8 objectives, every peer", table.worst(few), 2),
        Promise("sort 1,000 uniform, 2 and 3 objectives, every peer", table.worst(thousand), 2.5),
        Promise("sort 20,000 equal, parallel and integers, every peer", table.worst(ties), 2.5),
    ]


def _check_filters(table: _Table) -> list[Promise]:
    found = []
    for workload in FILTERED:
        cases = [
            case
            for case in table.cases("filter")
            if case.workload == workload and 1_000 <= case.points <= 100_000
        ]
        what = f"filter 1,000 to 100,000 {workload}, 2 to 10 objectives, against every peer"
        found.append(Promise(what, table.worst(cases), 1))
    few = table.cases("filter", lambda case: case.points in FEW)
    found.append(
        Promise("filter 33 to 64 uniform, 2 to 10 objectives, every peer", table.worst(few), 2)
    )
    for workload, m, least, target in (
        ("uniform", 2, 1_000, 4),
        ("concave", 2, 1_000, 2),
        ("uniform", 3, 10_000, 3),
        ("concave", 3, 10_000, 3),
        ("equal", 2, 1_000, 2),
        ("equal", 3, 1_000, 2),
    ):
        cases = [
            case
            for case in table.cases("filter", _with(workload=workload, objectives=m))
            if case.points >= least
        ]
        what = f"filter {least:,} and more {workload}, {m} objectives, every peer"
        found.append(Promise(what, table.worst(cases), target))
    fronts = table.cases("filter", _with(workload="concave", objectives=2))
    what = "filter 1,000 and more concave, 2 objectives, against our own ranks"
    return [*found, Promise(what, table.worst(fronts, "paretopo ranks"), 2)]


def _check_hypervolumes(table: _Table) -> list[Promise]:
    def fronts_of(low: int, high: int, keep: Callable[[Case], bool]) -> list[Case]:
        return table.cases(
            "hypervolume", lambda case: low <= case.objectives <= high and keep(case)
        )

    shapes = f"hypervolume, {len(FRONTS)} shapes,"
    large = fronts_of(3, 3, lambda case: case.points >= 1_000)
    found = [
        Promise(f"{shapes} 3 objectives, from 1,000 points, against {peer}", worst, 3)
        for peer in ("moocore", "pygmo")
        for worst in [table.worst(large, peer)]
    ]
    for m in (4, 5):
        many = fronts_of(m, m, lambda case: case.points >= 1_000)
        few = fronts_of(m, m, lambda case: case.points < 1_000)
        what = f"{shapes} {m} objectives,"
        found += [
            Promise(f"{what} from 1,000 points, against every peer", table.worst(many), 1.5),
            Promise(f"{what} below, against every peer", table.worst(few), _ABOUT_EQUAL),
        ]
    small = fronts_of(4, 5, lambda case: case.points <= 200)
    found += [
        Promise(
            f"{shapes} 4 and 5 objectives, 33 to 200 points, every peer", table.worst(small), 2
        ),
        Promise(
            f"{shapes} 3 objectives, 1,000 points, every peer",
            table.worst(fronts_of(3, 3, lambda case: case.points == 1_000)),
            2,
        ),
        Promise(
            "hypervolume, degenerate, 3 to 5 objectives, every peer",
            table.worst(fronts_of(3, 5, lambda case: case.workload == "degenerate")),
            2,
        ),
    ]
    high = fronts_of(6, 99, lambda _: True)
    what = f"{shapes} from 6 objectives,"
    return [
        *found,
        Promise(f"{what} mean against hvwfg", table.mean(high, "hvwfg"), 1.5),
        Promise(f"{what} worst against hvwfg", table.worst(high, "hvwfg"), _ABOUT_EQUAL),
        Promise(f"{what} worst against pygmo", table.worst(high, "pygmo"), 2.5),
    ]


def _check_contributions(table: _Table) -> list[Promise]:
    sweeps = table.cases("contributions", lambda case: case.objectives <= 3)
    four = table.cases("contributions", lambda case: (case.points, case.objectives) == (1_000, 4))
    two = [case for case in sweeps if case.objectives == 2 and 200 <= case.points <= 1_000]
    three = [case for case in sweeps if case.objectives == 3 and 200 <= case.points <= 10_000]
    return [
        Promise(
            "contributions, 2 objectives, 200 to 1,000 points, every peer", table.worst(two), 3
        ),
        Promise(
            "contributions, 3 objectives, 200 to 10,000 points, every peer", table.worst(three), 3
        ),
        Promise(
            "contributions, 2 and 3 objectives, 100 to 100,000 points, against moocore",
            table.worst(sweeps, "moocore"),
            1,
        ),
        Promise(
            "contributions, 4 objectives, 1,000 points, against moocore",
            table.worst(four, "moocore"),
            1,
        ),
        Promise(
            "contributions, 4 objectives, 1,000 points, against pygmo",
            table.worst(four, "pygmo"),
            20,
        ),
    ]


def _check_gradients(table: _Table) -> list[Promise]:
    slopes = _with(task="hypervolume_gradient")
    two = table.cases("gradient", lambda case: slopes(case) and case.objectives == 2)
    three = table.cases(
        "gradient", lambda case: slopes(case) and (case.points, case.objectives) == (1_000, 3)
    )
    few = table.cases("gradient", _with(task="hypervolume_gradient_of_few", points=1_000))
    return [
        Promise("gradient, 2 objectives, against NumPy", table.worst(two, "numpy"), 5),
        Promise(
            "gradient, 3 objectives, 1,000 points, against our contributions",
            table.over(
                three[0],
                replace(three[0], operation="contributions", task="hv_contributions"),
            )
            if three
            else None,
            3,
            "x the time",
        ),
        *(
            Promise(
                f"gradient, {case.objectives} objectives, of {WANTED} points among 1,000, against "
                "that of all",
                table.over(case, replace(case, task="hypervolume_gradient")),
                1.2,
                "x the time",
            )
            for case in few
        ),
    ]


def _check_boxes(table: _Table) -> list[Promise]:
    found = []
    for task, what in (
        ("nondominated_boxes", "boxes of what 50 points leave"),
        ("dominated_boxes", "boxes of what 50 points dominate"),
    ):
        for m, target in ((3, 500), (4, 500), (5, 100)):
            cases = table.cases("boxes", _with(task=task, points=50, objectives=m))
            line = f"{what}, {m} objectives, every peer"
            found.append(Promise(line, table.worst(cases), target))
    gains = table.cases("boxes", _with(task="hypervolume_improvement"))
    what = f"improvements of {CANDIDATES:,} candidates in such boxes, against botorch"
    return [*found, Promise(what, table.worst(gains, "botorch"), 1)]


def _check_indicators(table: _Table) -> list[Promise]:
    found = []
    for task in REFERENCE_INDICATORS:
        cases = table.cases("indicators", _with(task=task))
        what = f"{task} of a front beside {REFERENCE_POINTS:,} points, every peer"
        if task.startswith("epsilon"):  # moocore compares few pairs, too
            found.append(Promise(what, table.mean(cases), 1))
        else:
            found.append(Promise(what, table.worst(cases), 2))
    for task, what, target in (
        ("r2", "exact R2 of two objectives, against moocore", 2),
        ("hypervolume_approx", f"hypervolume from {SAMPLES:,} directions, against moocore", 1),
        ("eaf", f"attainment surfaces of {RUNS} runs, against moocore", 1),
        ("eafdiff", "where 5 of them attain more than the others, against moocore", 1),
        ("weighted_hypervolume", f"hypervolume with {CELLS**2} weights, against moocore", 1),
    ):
        cases = table.cases("indicators", _with(task=task))
        found.append(Promise(what, table.worst(cases, "moocore"), target))
    return found


def _check_subsets(table: _Table) -> list[Promise]:
    found = []
    for task, what, peer, target in (
        ("greedy_subset", "a quarter of a front, greedily, against optuna", "optuna", 10),
        ("removal_subset", "a quarter left of a front, against moocore in a loop", "moocore", 7),
        ("exact_subset", "the best quarter of a front, against NumPy", "numpy", 10),
        ("select_crowding", "survivors by crowding, against pymoo", "pymoo", 10),
        ("select_crowding_removal", "survivors by pruning, against pymoo", "pymoo", 50),
        ("select_hypervolume", "survivors by hypervolume, against pymoo", "pymoo", 5),
    ):
        cases = table.cases("subsets", _with(task=task))
        found.append(Promise(what, table.worst(cases, peer), target))
    return found


def _check_dominance(table: _Table) -> list[Promise]:
    constrained = table.cases("dominance", _with(task="pareto_rank_constrained"))
    first = table.cases("dominance", _with(task="pareto_rank_first"))
    return [
        Promise("ranks under constraints, against Optuna", table.worst(constrained, "optuna"), 5),
        Promise(
            "ranks under constraints, against moocore and NumPy",
            table.worst(constrained, "moocore"),
            1,
        ),
        Promise("ranks of the first tenth, against Optuna", table.worst(first, "optuna"), 5),
        Promise(
            "ranks of the first tenth, against moocore's of all", table.worst(first, "moocore"), 1
        ),
        *(
            Promise(what, table.worst(table.cases("dominance", _with(task=task))), 1)
            for task, what in (
                ("is_nondominated_strict", "strict filter, against all pairs in NumPy"),
                ("epsilon_boxes", "one point in each box, against moocore and NumPy"),
                ("normalise", "scaled by the front, against moocore"),
                ("knee_points", "knees, against moocore and NumPy"),
            )
        ),
    ]


def _check_crowding(table: _Table) -> list[Promise]:
    one = table.cases("crowding", _with(groups=0))
    groups = table.cases("crowding", lambda case: case.groups > 0 and case.points == 64)
    return [
        Promise(
            "crowding of one front, against pygmo and NumPy, which take it to be one",
            table.worst(one, "pygmo", "numpy"),
            _ABOUT_EQUAL,
        ),
        Promise(
            "crowding of one front, known to be one, against pygmo and NumPy",
            table.worst(one, "pygmo", "numpy", ours="paretopo ranks"),
            5,
        ),
        Promise("crowding of groups of 64 points, against pygmo", table.worst(groups, "pygmo"), 5),
        Promise(
            "crowding of groups, both sides of a bound, against the trend",
            table.cliff(groups),
            1.5,
            "x the time",
        ),
    ]


def _check_archives(table: _Table) -> list[Promise]:
    large = table.cases("archive", _with(points=100_000))
    return [
        Promise("points added to an archive of 100,000, 2 objectives", table.worst(large), 2),
    ]


def _check_threads(table: _Table) -> list[Promise]:
    found = []
    for one in table.cases("threads", lambda case: case.threads == 1):
        two = Case(**{**one.as_dict(), "threads": 2})
        before, after = table.wall(one), table.wall(two)
        measured = None if before is None or after is None else (before / after, "")
        size = f"{one.groups} groups" if one.groups else f"{one.points} points"
        target = 1.7 if one.groups else 1.3  # of one set both threads share the memory
        found.append(Promise(f"{one.task} of {size} on 2 threads against 1", measured, target))
    return found


def _with(**fields: object) -> Callable[[Case], bool]:
    """Tell which cases have these fields."""
    return lambda case: all(getattr(case, name) == value for name, value in fields.items())


def _shape(case: Case) -> tuple[object, ...]:
    return case.groups, case.points, case.objectives, case.task, case.dtype
