"""The history of a run's training: each objective by name, in its own unit, over the steps.

The report, the plots and the page read a run only through this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.config import Objective
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder, find_start
from paretopo.records.measures import (
    RESPONSE_LENGTH,
    SOLVED,
    Measure,
    Series,
    _to_number,
    _write,
    measure_objective,
)
from paretopo.records.sweeps import average_sweep, split_sweeps

_Z95 = 1.96  # standard errors of a 95 % interval


@dataclass(frozen=True)
class History:
    """The records of one run.

    Attributes:
        run: Its folder.
        objectives: In the run's order.
        steps: The rows of its training steps.
        evaluations: The rows of its evaluations since the end of the warm-up: earlier ones would
            only stretch axes.
        outcomes: The rewards of these evaluations by objective, as scored at the time.
        sweeps: With preferences, the rows of each evaluation, one for each preference;
            ``evaluations`` and ``outcomes`` are then means over them. Otherwise empty.
        points: The outcomes of the last sweep.
    """

    run: RunFolder
    objectives: tuple[Measure, ...]
    steps: tuple[Row, ...]
    evaluations: tuple[Row, ...]
    outcomes: tuple[Mapping[str, float | None], ...]
    sweeps: tuple[tuple[Row, ...], ...] = ()
    points: tuple[Mapping[str, float | None], ...] = ()

    @property
    def moments(self) -> list[str]:
        """Names of the first and the last evaluation; one name if they are the same."""
        if len(self.evaluations) > 1:
            return [describe_moment(self.evaluations[at]) for at in (0, -1)]
        return ["result"] if self.is_evaluation else [describe_moment(self.evaluations[0])]

    @property
    def is_evaluation(self) -> bool:
        """True for the evaluation of a trained policy, False for a training."""
        return "evaluated" in self.run.manifest

    def measured(self, measures: Sequence[Measure]) -> Series:
        """Return (evaluations, measures), each in its unit, with NaN if the records lack it."""
        columns = [measure.read(self.evaluations) for measure in measures]
        return np.array(columns).reshape(len(columns), len(self.evaluations)).T

    def rewards(
        self, measures: Sequence[Measure], rows: Sequence[Mapping[str, float | None]] | None = None
    ) -> Series:
        """Return outcomes for the archive, larger is better, with shape (rows, measures).

        Args:
            measures: The measures.
            rows: Some outcomes; None for those of the evaluations.
        """
        rows = self.outcomes if rows is None else rows
        return np.array(
            [[_to_number(one.get(measure.key)) for measure in measures] for one in rows]
        ).reshape(len(rows), len(measures))

    def boundary(self) -> float | None:
        """Return the middle between the last step of stage 1 and the first of stage 2.

        It is None if the run lacks one of the stages.
        """
        later = [row["step"] for row in self.steps if row.get("stage") == 2]
        if not later or len(later) == len(self.steps):
            return None
        return float(later[0]) - 0.5

    @property
    def limited(self) -> dict[str, Objective]:
        """Return the objectives with a limit by their names."""
        return {one.name: one for one in self.run.config.objectives if one.limit is not None}

    @property
    def volume(self) -> str:
        """Return the description of its hypervolume; equal texts have comparable volumes."""
        config, reference = self.run.config, self.evaluations[-1].get("reference", {})
        gated = f"after the gate {config.objectives[0].name!r}" if config.gates_outcomes else ""
        corner = ", ".join(f"{name} {one:.4g}" for name, one in reference.items())
        above = f", above the reference {corner}" if corner else ""
        return f"mean rewards {gated or 'without a gate'}{above}"

    def other_measures(self) -> tuple[Measure, ...]:
        """Return the other measures of evaluations: the share solved, and the response length.

        Each is included only if no objective is the same number.
        """
        # Both as shares: only some objectives are shown in percent.
        solved, graded = (
            one.read(self.evaluations) / one.scale for one in (SOLVED, self.objectives[0])
        )
        same = not (np.abs(solved - graded) > 1e-9).any()  # False for NaN
        tokens = any(one.key == "tokens" for one in self.objectives)
        return (*(() if same else (SOLVED,)), *(() if tokens else (RESPONSE_LENGTH,)))


@dataclass(frozen=True)
class Change:
    """A measure before and after training.

    Attributes:
        measure: The measure.
        kind: The kind of question, "" for all.
        before: Its mean in the first evaluation; NaN if unknown.
        after: Its mean in the last evaluation; NaN if unknown.
        errors: Standard errors of both means; NaN if unknown.
        counts: Numbers of rollouts in both evaluations; None if unknown.
        is_single: True if the run has only one evaluation, so that nothing changes.
    """

    measure: Measure
    kind: str
    before: float
    after: float
    errors: tuple[float, float] = (math.nan, math.nan)
    counts: tuple[int | None, int | None] = (None, None)
    is_single: bool = False

    @property
    def count(self) -> str:
        """Both numbers of rollouts as text, or one if they are equal; "" if unknown."""
        before, after = self.counts
        if before == after or after is None or before is None:
            return str(after or before or "")
        return f"{before}, {after}"

    @property
    def ends(self) -> tuple[str, str]:
        """Both means with their standard errors, as text."""
        both = zip((self.before, self.after), self.errors, strict=True)
        return tuple(_write(self.measure, *one) for one in both)  # type: ignore[return-value]

    @property
    def change(self) -> str:
        """The change, from :meth:`Measure.describe_change`; "" for a single evaluation."""
        return "" if self.is_single else self.measure.describe_change(self.before, self.after)

    @property
    def verdict(self) -> str:
        """The verdict of :meth:`Measure.judge`; "" for a change within 1.96 standard errors."""
        if abs(self.after - self.before) <= _Z95 * math.hypot(*self.errors):  # False for NaN
            return ""
        return self.measure.judge(self.before, self.after)


def read_history(run: RunFolder) -> History:
    """Read the history of a run with at least one evaluation.

    Raises:
        ConfigError: A record is broken.
        ValueError: There is no evaluation.
    """
    rows = run.evaluations()
    if not rows:
        raise ValueError(
            f"{run.path} has no evaluations yet: there is nothing to report; paretopo show "
            "prints its rollouts"
        )
    objectives, steps = tuple(map(measure_objective, run.config.objectives)), tuple(run.steps())
    found = [row.get("outcome") for row in rows]
    outcomes = [one if isinstance(one, dict) else {} for one in found]  # old ones have no names
    if "preference" in rows[0]:
        sweeps = split_sweeps(rows)
        ends = np.cumsum([0, *map(len, sweeps)])
        parts = [outcomes[first:last] for first, last in pairwise(ends)]
        start = find_start([sweep[-1] for sweep in sweeps])
        return History(
            run,
            objectives,
            steps,
            tuple(map(average_sweep, sweeps[start:])),
            tuple(map(average_sweep, parts[start:])),
            tuple(map(tuple, sweeps[start:])),
            tuple(parts[-1]),
        )
    start = find_start(rows)
    return History(run, objectives, steps, tuple(rows[start:]), tuple(outcomes[start:]))


def read_histories(runs: Mapping[str, RunFolder]) -> dict[str, History]:
    """Read the histories of several runs, by label; an objective has one unit in all of them.

    An objective with bounds in some runs only is not shown in percent.

    Raises:
        ConfigError: A record is broken.
        ValueError: A run has no evaluation.
    """
    histories = {label: read_history(run) for label, run in runs.items()}
    plain = {one.key for own in histories.values() for one in own.objectives if not one.unit}
    return {
        label: replace(
            own,
            objectives=tuple(
                Measure(one.key, one.name, better=one.better) if one.key in plain else one
                for one in own.objectives
            ),
        )
        for label, own in histories.items()
    }


def compare_ends(history: History) -> list[Change]:
    """Compare each measure before and after training, for all questions and then for each kind.

    It leaves out measures missing at both ends, and a single kind, which covers all questions.
    """
    ends = history.evaluations[0], history.evaluations[-1]
    single = len(history.evaluations) == 1
    measures = (*history.objectives, *history.other_measures())
    kinds = sorted(ends[1].get("by_kind") or {})
    kinds = kinds if len(kinds) > 1 else []
    by_kind = [
        (kind, [(row.get("by_kind") or {}).get(kind) or {} for row in ends]) for kind in kinds
    ]
    compared = []
    for kind, rows in [("", list(ends)), *by_kind]:
        for measure in measures:
            (before, after), errors = measure.read(rows), measure.read_errors(rows).tolist()
            counts = measure.count(rows[0]), measure.count(rows[1])
            compared.append(
                Change(measure, kind, float(before), float(after), tuple(errors), counts, single)
            )
    return [one for one in compared if not (math.isnan(one.before) and math.isnan(one.after))]


def describe_moment(row: Row) -> str:
    """Return the moment of an evaluation, for a heading.

    >>> describe_moment({"step": 0, "phase": "warmup"})
    'after warm-up (step 0)'
    """
    named = {"pretrained": "before training", "warmup": "after warm-up", "final": "end"}
    return f"{named.get(str(row.get('phase')), 'evaluation')} (step {row['step']})"


def merge_objectives(histories: Iterable[History]) -> tuple[Measure, ...]:
    """Return the objectives of several runs, each once.

    Raises:
        ValueError: The runs disagree on the better direction of an objective.
    """
    merged: dict[str, Measure] = {}
    for history in histories:
        for one in history.objectives:
            if merged.setdefault(one.key, one).better != one.better:
                raise ValueError(
                    f"the runs disagree on {one.name!r}: {one.better} is better in "
                    f"{history.run.path}, {merged[one.key].better} in a run before it: write "
                    "separate reports"
                )
    return tuple(merged.values())


def find_front(values: Series, senses: Sequence[float]) -> NDArray[np.bool_]:
    """Mark the outcomes that no other one dominates.

    Args:
        values: (outcomes, objectives); an outcome with NaN is never on the front.
        senses: For each objective, 1 if larger is better, -1 if smaller is.

    >>> find_front(np.array([[1.0, 2.0], [1.0, 1.0], [0.5, np.nan]]), [1.0, -1.0]).tolist()
    [False, True, False]
    """
    front = np.zeros(len(values), bool)
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(known):
        maximise = [sense > 0.0 for sense in senses]
        front[known] = paretopo_core.is_nondominated(values[known], maximise=maximise)
    return front
