"""The statistics of a study's records: means, deviations, paired comparisons, the worst case."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.records.files import Row
from paretopo_lab.statistics.pairs import SIGNIFICANT, Comparison, compare
from paretopo_lab.study.plan import Cell, Plan

Floats = NDArray[np.float64]


class Results:
    """The trainings of a study.

    Args:
        plan: The study.
        records: The trainings that have ended, by `read_records`.
    """

    def __init__(self, plan: Plan, records: Mapping[Cell, Row]) -> None:
        self.plan = plan
        # Pairs are of the same seed: one counts when every method of its task has ended, an
        # ablation when it has ended on all of these.
        self._seeds = {
            task: [
                seed
                for seed in plan.seeds_of(task)
                if all(Cell(task, method, seed) in records for method in self.methods(task))
            ]
            for task in plan.tasks
        }
        self._records = {
            cell: records[cell]
            for task, seeds in self._seeds.items()
            for method in plan.methods_of(task)
            for cells in [[Cell(task, method, seed) for seed in seeds]]
            if all(cell in records for cell in cells)
            for cell in cells
        }
        self.tasks = [task for task in plan.tasks if self._seeds[task]]

    @property
    def hours(self) -> float:
        """Return the hours of all compared trainings, by their clocks."""
        return sum(float(row.get("seconds", 0.0)) for row in self._records.values()) / 3600.0

    @property
    def trainings(self) -> int:
        """Return the number of compared trainings."""
        return len(self._records)

    def seeds(self, task: str, method: str) -> list[int]:
        """Return the seeds on which all methods of a task have ended; none if the method is not
        among them.
        """
        seeds = self._seeds[task]
        return seeds if all(Cell(task, method, seed) in self._records for seed in seeds) else []

    def curve(self, task: str, method: str, measure: str) -> Floats:
        """Return a measure over the course of the trainings, with shape (seeds, evaluations).

        Args:
            task: The task.
            method: The method.
            measure: "step", "accuracy", "economy", "cost", "hypervolume" or "preference"; of some
                "fewest" (calls known to solve a question) or "response" (tokens).
        """
        return np.array([row["evaluations"][measure] for row in self._rows(task, method)])

    def read(self, task: str, method: str, measure: str, step: int | None = None) -> Floats:
        """Return a measure after a number of steps, or after the last step, with shape (seeds,)."""
        curve = self.curve(task, method, measure)
        if step is None:
            return curve[:, -1]
        at = self.curve(task, method, "step")[0].tolist().index(step)
        return curve[:, at]

    def test(self, task: str, method: str, measure: str) -> Floats:
        """Return a measure of the trained policies on a task's test questions, (seeds,)."""
        return np.array([row["test"][measure][-1] for row in self._rows(task, method)])

    def hypervolume_of_run(self, task: str, method: str) -> Floats:
        """Return the hypervolume of all evaluations of each training, from (0, 0), with shape
        (seeds,).
        """
        outcomes = [self.curve(task, method, measure) for measure in ("accuracy", "economy")]
        return np.asarray(paretopo_core.hypervolume(np.stack(outcomes, axis=-1), 0.0))

    def is_trained(self, task: str) -> bool:
        """Return whether a task trains language models; the others are tables."""
        return self.plan.tasks[task].config is not None

    def is_measured(self, task: str, method: str, measure: str) -> bool:
        """Return whether all trainings of a method have an optional measure."""
        return all(measure in row["evaluations"] for row in self._rows(task, method))

    def unit(self, task: str) -> str:
        """Return the unit of an answer's cost."""
        return self.plan.tasks[task].cost

    def methods(self, task: str) -> list[str]:
        """Return the methods of a task, without the ablations."""
        named = self.plan.tasks[task].methods or self.plan.study.methods
        return [method for method in self.plan.methods_of(task) if method in named]

    def variations(self) -> list[str]:
        """Return the ablations that have ended on all tasks."""
        named = self.plan.study.ablations or ()
        return [m for m in named if all(self.seeds(task, m) for task in self.tasks)]

    def worst(self, method: str, measure: str | None = None, step: int | None = None) -> Floats:
        """Return the smallest value of a measure over the tasks, (seeds,); see `over_tasks`."""
        worst: Floats = self.over_tasks(method, measure, step).min(axis=0)
        return worst

    def over_tasks(
        self,
        method: str,
        measure: str | None = None,
        step: int | None = None,
        where: str | None = None,
    ) -> Floats:
        """Return a measure on each task, (tasks, seeds), for the seeds that all of them have.

        Args:
            method: The method.
            measure: The study's if not given.
            step: See `read`.
            where: A method on whose tasks it counts; on its own if not given.
        """
        tried = [task for task in self.tasks if (where or method) in self.plan.methods_of(task)]
        shared = set.intersection(*(set(self.seeds(task, method)) for task in tried))
        measure = measure or self.plan.study.measure
        ends = [
            self.read(task, method, measure, step)[np.isin(self.seeds(task, method), list(shared))]
            for task in tried
        ]
        return np.array(ends)

    def rank_by_worst(self) -> list[str]:
        """Return the methods in the order of their worst cases, the best first."""
        methods = self.plan.study.methods
        return sorted(methods, key=lambda method: -float(self.worst(method).mean()))

    # ---- comparisons -------------------------------------------------------------------------

    @functools.cache  # noqa: B019 - a command reads one study
    def compare(self, task: str, measure: str | None = None) -> list[Comparison]:
        """Our method against each other one on a task."""
        measure = measure or self.plan.study.measure
        ours = self.read(task, self.plan.ours, measure)
        return self._test({m: ours - self.read(task, m, measure) for m in self._others(task)})

    def compare_early(self, step: int) -> list[Comparison]:
        """Our method after so many steps against each other one at the end, on all tasks at once.

        They are named TASK/METHOD.
        """
        ours, measure = self.plan.ours, self.plan.study.measure
        return self._test(
            {
                f"{task}/{m}": self.read(task, ours, measure, step) - self.read(task, m, measure)
                for task in self.tasks
                for m in self._others(task)
            }
        )

    def compare_tests(self, task: str) -> list[Comparison]:
        """Our method against each other one on the test questions of a task."""
        measure = self.plan.study.measure
        ours = self.test(task, self.plan.ours, measure)
        return self._test({m: ours - self.test(task, m, measure) for m in self._others(task)})

    def compare_questions(self, task: str, part: str, measure: str) -> list[Comparison]:
        """Compare our method with each other one, question by question, at the end.

        A difference is the mean over the seeds whose records have each question.

        Args:
            task: The task.
            part: "evaluations" for the held-out questions, or "test".
            measure: "accuracy" or "cost".
        """
        differences = {}
        for method in self._others(task):
            pairs = [
                [self._records[cell].get("by_question", {}).get(part) for cell in cells]
                for seed in self._seeds[task]
                for cells in [[Cell(task, one, seed) for one in (self.plan.ours, method)]]
            ]
            known = [(ours[measure], theirs[measure]) for ours, theirs in pairs if ours and theirs]
            if known:
                by_seed = np.array(known, np.float64)  # (seeds, 2, questions); NaN: does not apply
                mean = (by_seed[:, 0] - by_seed[:, 1]).mean(axis=0)
                differences[method] = mean[~np.isnan(mean)]
        return self._test(differences)

    def compare_worst(
        self,
        measure: str | None = None,
        step: int | None = None,
        *,
        mean: bool = False,
        others: Sequence[str] | None = None,
    ) -> list[Comparison]:
        """Compare the worst case of our method with those of the others, on their common tasks.

        Args:
            measure: See `over_tasks`.
            step: See `read`.
            mean: Compare the means over the tasks instead.
            others: Ablations; by default the study's methods.
        """
        ours, over = self.plan.ours, np.mean if mean else np.min
        others = others or [method for method in self.plan.study.methods if method != ours]
        ends = {
            m: [over(self.over_tasks(one, measure, step, m), axis=0) for one in (ours, m)]
            for m in others
        }
        return self._test({m: mine - theirs for m, (mine, theirs) in ends.items()})

    def find_losses(self) -> list[tuple[str, Comparison]]:
        """Return (task, comparison) for each method that is better than ours, the largest loss
        first.
        """
        every = [(task, one) for task in self.tasks for one in self.compare(task)]
        lost = [(task, one) for task, one in every if one.verdict == "less"]
        return sorted(lost, key=lambda pair: pair[1].mean)

    def find_dominating(self, task: str) -> list[str]:
        """Methods on average as accurate and as lean as ours, one of both significantly more."""
        accuracy, economy = (self.compare(task, measure) for measure in ("accuracy", "economy"))
        return [
            right.other
            for right, lean in zip(accuracy, economy, strict=True)
            if right.mean <= 0.0
            and lean.mean <= 0.0
            and any(one.mean < 0.0 and one.p < SIGNIFICANT for one in (right, lean))
        ]

    def _rows(self, task: str, method: str) -> list[Row]:
        return [self._records[Cell(task, method, seed)] for seed in self.seeds(task, method)]

    def _others(self, task: str) -> list[str]:
        return [method for method in self.methods(task) if method != self.plan.ours]

    def _test(self, differences: Mapping[str, Floats]) -> list[Comparison]:
        return compare(differences, dict.fromkeys(differences, self.plan.study.margin))
