"""The statistics of a study's records: means, deviations, paired comparisons, the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo.evaluation.statistics import holm, sign_flips
from paretopo.run.files import Row
from paretopo.study.plan import Cell, Plan
from paretopo.study.tabular import TASKS

Floats = NDArray[np.float64]
SIGNIFICANT = 0.05
MEASURES = ("hypervolume", "accuracy", "economy", "calls")


@dataclass(frozen=True)
class Comparison:
    """Our method against another, seed by seed.

    Attributes:
        other: The other method.
        difference: Mean of ours less theirs, in hypervolume.
        deviation: Standard deviation of the differences.
        seeds: How many pairs.
        p: Two-sided, corrected for all methods of the table.
    """

    other: str
    difference: float
    deviation: float
    seeds: int
    p: float

    @property
    def verdict(self) -> str:
        """`better` or `worse` where the difference is significant, else `equal`."""
        if self.p >= SIGNIFICANT:
            return "equal"
        return "better" if self.difference > 0 else "worse"


class Results:
    """The end of every training of a study.

    Args:
        plan: The study.
        records: The trainings that have ended, by `read_records`.
    """

    def __init__(self, plan: Plan, records: Mapping[Cell, Row]) -> None:
        self.plan = plan
        self._records = dict(records)
        self.tasks = [
            task for task in plan.tasks if all(self.seeds(task, m) for m in plan.methods_of(task))
        ]

    def seeds(self, task: str, method: str) -> list[int]:
        """Seeds whose trainings have ended."""
        return [
            seed for seed in self.plan.seeds_of(task) if Cell(task, method, seed) in self._records
        ]

    def curve(self, task: str, method: str, measure: str) -> Floats:
        """(seeds, evaluations) a measure over a training: one of `MEASURES`, or "step"."""
        cells = [Cell(task, method, seed) for seed in self.seeds(task, method)]
        return np.array([self._records[cell]["evaluations"][measure] for cell in cells])

    def at_end(self, task: str, method: str, measure: str) -> Floats:
        """(seeds,) a measure of the last evaluations: one of `MEASURES`."""
        return self.curve(task, method, measure)[:, -1]

    def hypervolume_of_run(self, task: str, method: str) -> Floats:
        """(seeds,) hypervolume of all evaluations of a training together, from (0, 0)."""
        outcomes = [self.curve(task, method, measure) for measure in ("accuracy", "economy")]
        return np.asarray(paretopo_core.hypervolume(np.stack(outcomes, axis=-1), 0.0))

    @property
    def tables(self) -> list[str]:
        """Tasks that are tables."""
        return [task for task in self.tasks if self.plan.tasks[task].config is None]

    def methods(self, task: str) -> list[str]:
        """The methods of a task that are no ablations."""
        named = self.plan.tasks[task].methods or self.plan.study.methods
        return [method for method in self.plan.methods_of(task) if method in named]

    def worst(self, method: str, where: str | None = None) -> Floats:
        """(seeds,) the least hypervolume over tables, seed by seed.

        Args:
            method: The method.
            where: A method on whose tables it counts; on its own if not given.
        """
        tried = [task for task in self.tables if (where or method) in self.methods(task)]
        seeds = min(len(self.seeds(task, method)) for task in tried)
        ends = [self.at_end(task, method, "hypervolume")[:seeds] for task in tried]
        worst: Floats = np.min(ends, axis=0)
        return worst

    def compare_pair(self, task: str, one: str, other: str, measure: str) -> tuple[float, float]:
        """Mean difference of a measure, one less the other, and its p, not corrected."""
        difference = self.at_end(task, one, measure) - self.at_end(task, other, measure)
        return float(difference.mean()), sign_flips(difference)

    # ---- comparisons -------------------------------------------------------------------------

    def compare(self, task: str) -> list[Comparison]:
        """Our method against each other one on a task."""
        ours = self.at_end(task, self.plan.ours, "hypervolume")
        return _test_differences(
            {m: ours - self.at_end(task, m, "hypervolume") for m in self._others(task)}
        )

    def compare_worst(self) -> list[Comparison]:
        """The worst case of our method against that of each other one."""
        ours, methods = self.plan.ours, self.plan.study.methods
        return _test_differences(
            {m: self.worst(ours, m) - self.worst(m) for m in methods if m != ours}
        )

    def find_dominating(self, task: str) -> list[str]:
        """Methods on average as accurate and as lean as ours, one of both significantly more."""
        compared = []
        for measure in ("accuracy", "economy"):
            ours = self.at_end(task, self.plan.ours, measure)
            compared.append(
                _test_differences(
                    {m: ours - self.at_end(task, m, measure) for m in self._others(task)}
                )
            )
        return [
            accuracy.other
            for accuracy, economy in zip(*compared, strict=True)
            if accuracy.difference <= 0
            and economy.difference <= 0
            and "worse" in (accuracy.verdict, economy.verdict)
        ]

    def _others(self, task: str) -> list[str]:
        return [method for method in self.methods(task) if method != self.plan.ours]


def _test_differences(differences: Mapping[str, Floats]) -> list[Comparison]:
    corrected = holm([sign_flips(values) for values in differences.values()])
    return [
        Comparison(
            name,
            float(values.mean()),
            float(values.std(ddof=1)) if len(values) > 1 else 0.0,
            len(values),
            p,
        )
        for (name, values), p in zip(differences.items(), corrected, strict=True)
    ]


def describe(task: str) -> str:
    """The point of a task, in one line."""
    return TASKS[task].about if task in TASKS else "a language model"
