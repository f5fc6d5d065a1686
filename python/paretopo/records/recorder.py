"""The records of a run as its session makes them: steps, evaluations, trackers, and where it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import SKIPPED
from paretopo.controller.gain import Signal
from paretopo.controller.two_stages import ParetoPO, Step
from paretopo.preference import Preference
from paretopo.records.files import Row
from paretopo.records.folder import RunFolder
from paretopo.records.measures import describe_evaluation
from paretopo.records.rows import (
    average,
    average_answers,
    average_by_kind,
    average_outcomes,
    count_points,
    count_skipped,
    describe_shares,
    share_mixed,
    tabulate_questions,
)
from paretopo.records.sweeps import average_sweep
from paretopo.records.trackers import (
    Trackers,
    add_framework_numbers,
    numbers_of_evaluation,
    numbers_of_step,
)
from paretopo.records.trajectories import Group
from paretopo.records.warnings import (
    MixedGroups,
    warn_of_absence,
    warn_of_gate,
    warn_of_questions,
    warn_of_reference,
    warn_of_ungated,
)
from paretopo.rollout import Rollout

_NO_STEP = -1  # before every record


class Recorder:
    """Writes the rows of a run, and counts them.

    Args:
        run: The run folder.
        controller: Of the run.
        warmed_up: True if the policy was warmed up before its first evaluation.
        writes: False in a process that only counts.

    Attributes:
        steps: Recorded steps.
        evaluations: Recorded evaluations; with preferences, one for each.
        evaluated: Step of the last evaluation; None before the first.
        latest: The means of the last evaluation, as text.
    """

    def __init__(
        self, run: RunFolder, controller: ParetoPO, *, warmed_up: bool, writes: bool
    ) -> None:
        self._controller, self._warmed_up, self._writes = controller, warmed_up, writes
        self.steps = self.evaluations = 0
        self.evaluated: int | None = None
        self.latest = "not evaluated yet"
        self._run, self._config, self._trackers = run, run.config, Trackers(run)
        self._mixed, self._all_judged = MixedGroups(), True
        self._counts = Counter[str]()  # of groups since the last recorded step
        self._row: Row = {}  # of the current step, until its update
        self._shown: Sequence[Group] = ()

    def count_group(self, group: Sequence[Rollout], *, informative: bool) -> None:
        """Count a scored group for the row of the next step; warn of the first without a gate."""
        first, acts = self._config.objectives[0], self._config.paretopo.gate == "success"
        if acts and group[0].solved is None and self._all_judged and self._writes:
            self._all_judged = False
            warn_of_ungated(first.name, group[0].prompt_id)
        self._counts.update(scored=1, informative=int(informative), skipped=count_skipped(group))

    def begin_step(
        self,
        groups: Sequence[Sequence[Rollout]],
        step: Step,
        *,
        differs: Mapping[str, float],
        penalties: Sequence[float],
        weights: Sequence[float] | None,
        limits: Row,
        prices: Row,
        shown: Sequence[Group],
    ) -> None:
        """Keep the row and the texts of a step until :meth:`end_step`.

        Args:
            groups: The scored groups of the step.
            step: The controller's step.
            differs: Share of groups whose rewards differ, by objective.
            penalties: (rollouts,) subtracted from the advantages.
            weights: (objectives,) weights of the step, if they change; None omits them.
            limits: From :func:`~paretopo.records.rows.describe_limits`.
            prices: By objective and kind of question.
            shown: Groups with their text.
        """
        names, rollouts = self._controller.names, [one for group in groups for one in group]
        row = {
            "stage": step.stage,
            **average_outcomes(names, rollouts),
            "multiplier": step.multiplier,
            "informative": average(step.informative.tolist()),
            "differs": differs,
            "response_tokens": average([one.tokens for one in rollouts]),
            "truncated": average([one.truncated for one in rollouts]),
            "overlong": average(penalties),
            "rank_histogram": step.rank_histogram,
        }
        by_kind = bool({one.kind for one in rollouts} - {"all"})
        given = self._config.paretopo.preference == "given"
        further = {
            "by_kind": average_by_kind(names, rollouts) if by_kind else None,
            "weight": None if weights is None else dict(zip(names, weights, strict=True)),
            "limits": limits or None,
            "prices": prices or None,
            "mixed": share_mixed(groups),
            "preferences": [group[0].preference for group in groups] if given else None,
        }
        self._row = row | {name: value for name, value in further.items() if value is not None}
        self._shown = shown

    def tracked(self) -> dict[str, float]:
        """Return the numbers of the step that has begun, for the framework's own trackers."""
        return self._track_step(self._row | self._count_groups())

    def end_step(
        self, step: int, measured: Mapping[str, Any], other_measures: Mapping[str, Any] | None
    ) -> dict[str, float]:
        """Write the row of a step, which may have begun; return the numbers for trackers.

        Args:
            step: Its number.
            measured: The framework's numbers for the row.
            other_measures: The framework's numbers for the trackers of the run.
        """
        row: Row = {"step": step}
        if self._row:
            row |= self._row | self._count_groups()
            self._counts.clear()
        row |= measured
        tracked = self._track_step(row)
        if self._writes:
            self._run.append_step(row)
            numbers = add_framework_numbers(tracked, measured, other_measures or {})
            self._trackers.log("train", step, numbers)
            for group in self._shown:
                self._run.append_trajectories(group)
            if "preferences" in row:
                self._mixed.check(step, row.get("mixed"))
        self._row, self._shown, self.steps = {}, (), step
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
            reference: (objectives,) of the hypervolume.
        """
        warn_of_reference(self._config.objectives, outcome, reference)
        warn_of_gate(self._config, rollouts)
        if self._writes:
            warn_of_absence(self._config.objectives, rollouts)

    def add_evaluation(
        self,
        step: int,
        rollouts: Sequence[Rollout],
        outcome: NDArray[np.float64],
        signal: Signal,
        *,
        preference: Preference | None,
        seconds: float | None,
        shown: Sequence[Group],
    ) -> Row:
        """Write the answers to all questions, under one preference if there are preferences.

        Args:
            step: Of the evaluation.
            rollouts: All rollouts, scored.
            outcome: (objectives,) of the evaluation.
            signal: The controller's.
            preference: Of the rollouts; None if weights are fixed.
            seconds: Time that the evaluation took; None if it is unknown.
            shown: Rollouts with their text.

        Returns:
            The row.
        """
        config, controller = self._config, self._controller
        names = controller.names
        phase = "final" if step >= config.optimiser.steps else "train"
        if step == 0:
            phase = "warmup" if self._warmed_up else "pretrained"
        row: Row = {"step": step}
        if preference is not None:
            row |= {"preference": preference.text, "weights": list(preference.weights)}
        row |= {
            "phase": phase,
            "stage": controller.stage,
            **average_answers(names, rollouts),
            **describe_shares(config, rollouts),
            "outcome": dict(zip(names, outcome.tolist(), strict=True)),
            "response_tokens": float(np.mean([one.tokens for one in rollouts])),
            "truncated": float(np.mean([one.truncated for one in rollouts])),
            "gain": signal.gain,
            "smoothed_gain": signal.smoothed_gain,
            "multiplier": signal.multiplier,
            "archived": signal.archived,
            "archive_size": count_points(controller.archive),
            "hypervolume": signal.hypervolume,
            "reference": dict(zip(names, controller.reference.tolist(), strict=True)),
            "by_kind": average_by_kind(names, rollouts),
        }
        if config.rewards.failing == "skip":
            row[SKIPPED] = count_skipped(rollouts)
        if seconds is not None:
            row["seconds"] = seconds
        if self._writes:
            self._run.append_evaluation(row)
            if preference is None:
                measured = tabulate_questions(names, rollouts)
                before = self._run.questions().get("last", {}).get("measured", measured)
                warn_of_questions(before, measured)
                self._run.write_questions(step, measured)
            for group in shown:
                self._run.append_trajectories(group)
        return row

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

    def resume(self, state: Mapping[str, Any] | None) -> None:
        """Drop the records after a session's :meth:`~paretopo.session.Session.state`.

        None drops all.
        """
        done = _NO_STEP if state is None else int(state["recorded"])
        self.steps = max(done, 0)
        self.evaluations = 0 if state is None else int(state["evaluations"])
        if self._writes:
            self._run.truncate_after(done, self.evaluations)
            self._trackers.resume(done)
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

    def _track_step(self, row: Row) -> dict[str, float]:
        archive = self._controller.archive
        volume = 0.0 if archive is None else float(archive.hypervolume)
        return numbers_of_step(row | {"archive_size": count_points(archive), "hypervolume": volume})
