"""The records of a run as its session makes them: steps, evaluations, trackers, and where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.config import SKIPPED
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo.records.measures import describe_evaluation
from paretopo.records.rows import count_points, count_skipped, tabulate_questions
from paretopo.records.start_checks import (
    MixedGroups,
    warn_of_absence,
    warn_of_gate,
    warn_of_questions,
    warn_of_reference,
)
from paretopo.records.sweeps import average_sweep
from paretopo.records.trackers import (
    Trackers,
    add_framework_numbers,
    numbers_of_evaluation,
    numbers_of_step,
)
from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout

_NO_STEP = -1  # before every record


class Recorder:
    """Writes the rows of a run, and counts them.

    Args:
        run: The run folder.
        writes: False in a process that only counts.

    Attributes:
        steps: Recorded steps.
        evaluations: Recorded evaluations; with preferences, one for each.
        evaluated: Step of the last evaluation; None before the first.
        latest: The means of the last evaluation, as text.
    """

    def __init__(self, run: RunFolder, *, writes: bool) -> None:
        self._writes = writes
        self.steps = self.evaluations = 0
        self.evaluated: int | None = None
        self.latest = "not evaluated yet"
        self._run, self._config, self._trackers = run, run.config, Trackers(run)
        self._mixed = MixedGroups()
        self._counts = Counter[str]()  # of groups since the last recorded step
        self._row: Row = {}  # of the current step, until its update
        self._groups: Sequence[Group] = ()

    def count_group(self, group: Sequence[Rollout], *, informative: bool) -> None:
        """Count a scored group for the row of the next step."""
        self._counts.update(scored=1, informative=int(informative), skipped=count_skipped(group))

    def begin_step(self, row: Row, groups: Sequence[Group]) -> None:
        """Keep the row and the texts of a step until :meth:`end_step`."""
        self._row, self._groups = row, groups

    def tracked(self, archive: paretopo_core.ParetoArchive | None) -> dict[str, float]:
        """Return the numbers of the step that has begun, for the framework's own trackers."""
        return _track_step(self._row | self._count_groups(), archive)

    def end_step(
        self,
        step: int,
        measured: Mapping[str, Any],
        other_measures: Mapping[str, Any] | None,
        archive: paretopo_core.ParetoArchive | None,
    ) -> dict[str, float]:
        """Write the row of a step, which may have begun; return the numbers for trackers.

        Args:
            step: Its number.
            measured: The framework's numbers for the row.
            other_measures: The framework's numbers for the trackers of the run.
            archive: The controller's.
        """
        row: Row = {"step": step}
        if self._row:
            row |= self._row | self._count_groups()
            self._counts.clear()
        row |= measured
        tracked = _track_step(row, archive)
        if self._writes:
            self._run.append_step(row)
            numbers = add_framework_numbers(tracked, measured, other_measures or {})
            self._trackers.log("train", step, numbers)
            for group in self._groups:
                self._run.append_trajectories(group)
            if "preferences" in row:
                self._mixed.check(step, row.get("mixed"))
        self._row, self._groups, self.steps = {}, (), step
        return tracked

    def warn(
        self,
        rollouts: Sequence[Rollout],
        outcome: NDArray[np.float64],
        reference: NDArray[np.float64],
    ) -> None:
        """Warn if the first evaluation shows that an objective cannot teach.

        Args:
            rollouts: Of the evaluation.
            outcome: (objectives,) of the evaluation.
            reference: (objectives,) of the hypervolume; NaN before it is known.
        """
        warn_of_reference(self._config.objectives, outcome, reference)
        warn_of_gate(self._config, rollouts)
        if self._writes:
            warn_of_absence(self._config.objectives, rollouts)

    def add_evaluation(
        self,
        row: Row,
        groups: Sequence[Group],
        rollouts: Sequence[Rollout],
        answers: Row | None,
        outcomes: Sequence[Sequence[float]] | None,
    ) -> None:
        """Write the answers to all questions, under one preference if there are preferences.

        Args:
            row: From :func:`~paretopo.records.rows.build_evaluation_row`.
            groups: Rollouts with their text.
            rollouts: All rollouts.
            answers: The answers that a later evaluation may score again; None for none.
            outcomes: All outcomes so far, if they were scored again.
        """
        if not self._writes:
            return
        names = [one.name for one in self._config.objectives]
        self._run.append_evaluation(row)
        if "preference" not in row:
            measured = tabulate_questions(names, rollouts)
            before = self._run.questions().get("last", {}).get("measured", measured)
            warn_of_questions(before, measured)
            self._run.write_questions(row["step"], measured)
        if answers is not None:
            self._run.append_answers({"step": row["step"]} | answers)
        if outcomes is not None:
            self._run.write_outcomes(names, outcomes)
        for group in groups:
            self._run.append_trajectories(group)

    def end_evaluation(self, step: int, rows: Sequence[Row]) -> dict[str, float]:
        """Track the means over the rows of one evaluation; return them for trackers."""
        row = rows[0] if len(rows) == 1 else average_sweep(rows)
        tracked = numbers_of_evaluation(row)
        if self._writes:
            self._trackers.log("eval", step, tracked)
        self.latest = describe_evaluation(row, self._config.objectives)
        self.evaluations += len(rows)
        self.evaluated = step
        return tracked

    def resume(
        self, state: Mapping[str, Any] | None, answers: int, outcomes: Sequence[Sequence[float]]
    ) -> None:
        """Drop the records after a session's state; drop all for None.

        Args:
            state: Of :meth:`~paretopo.session.Session.state`.
            answers: Number of evaluations whose answers stay.
            outcomes: All outcomes of the state.
        """
        done = _NO_STEP if state is None else int(state["recorded"])
        self.steps = max(done, 0)
        self.evaluations = 0 if state is None else int(state["evaluations"])
        if self._writes:
            self._run.truncate_after(done, self.evaluations)
            self._run.truncate_answers(answers)
            self._trackers.resume(done)
            self._run.write_outcomes([one.name for one in self._config.objectives], outcomes)
            self._run.resumed(self.steps)
        for row in self._run.evaluations()[: self.evaluations][-1:]:
            self.latest = describe_evaluation(row, self._config.objectives)
            self.evaluated = row["step"]

    def finish(self) -> None:
        """Mark the run as finished.

        Raises:
            RuntimeError: Steps are missing.
        """
        steps = self._config.optimiser.steps
        if self.steps < steps:
            raise RuntimeError(f"the training ended after {self.steps} of {steps} steps")
        if self._writes:
            self._trackers.close()
            self._run.finish()

    def _count_groups(self) -> Row:
        """Return the counts of the groups scored since the last recorded step."""
        scored = self._counts["scored"]
        kept = self._counts["informative"] / scored if scored else 1.0
        skips = self._config.rewards.failing == "skip"
        skipped = {SKIPPED: self._counts["skipped"]} if skips else {}
        return {"generated_groups": scored, "kept": kept} | skipped


def _track_step(row: Row, archive: paretopo_core.ParetoArchive | None) -> dict[str, float]:
    volume = 0.0 if archive is None else float(archive.hypervolume)
    return numbers_of_step(row | {"archive_size": count_points(archive), "hypervolume": volume})
