"""What the records of a study say: means, spreads, paired comparisons, the worst case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import paretopo_core
from paretopo_core.training.jsonl import Row
from paretopo_core.training.study.paired import holm, sign_flip_p
from paretopo_core.training.study.plan import Cell, Plan
from paretopo_core.training.study.tabular import TASKS

Floats = NDArray[np.float64]
SIGNIFICANT = 0.05
MEASURES = ("hypervolume", "accuracy", "economy", "calls")


@dataclass(frozen=True)
class Comparison:
    """Our method against another, seed by seed.

    Attributes:
        other: The other method.
        difference: Mean of ours less theirs, in hypervolume.
        spread: Standard deviation of the differences.
        seeds: How many pairs.
        p: Two-sided, corrected for all methods of the table.
    """

    other: str
    difference: float
    spread: float
    seeds: int
    p: float

    @property
    def verdict(self) -> str:
        """`better`, `worse` or `equal`: what is significant."""
        if self.p >= SIGNIFICANT:
            return "equal"
        return "better" if self.difference > 0 else "worse"


class Results:
    """The end of every training of a study.

    Args:
        plan: The study.
        records: What is done, by `grid.records`.
    """

    def __init__(self, plan: Plan, records: Mapping[Cell, Row]) -> None:
        self.plan = plan
        self._records = dict(records)
        self.tasks = [
            task for task in plan.tasks if all(self.seeds(task, m) for m in plan.methods_of(task))
        ]

    def seeds(self, task: str, method: str) -> list[int]:
        """Seeds that are done."""
        return [
            seed for seed in self.plan.seeds_of(task) if Cell(task, method, seed) in self._records
        ]

    def evaluations(self, task: str, method: str, seed: int) -> list[Row]:
        """Every evaluation of one training."""
        rows: list[Row] = self._records[Cell(task, method, seed)]["evaluations"]
        return rows

    def at_end(self, task: str, method: str, measure: str) -> Floats:
        """(seeds,) a measure of the last evaluations: one of `MEASURES`."""
        return np.array(
            [self.evaluations(task, method, seed)[-1][measure] for seed in self.seeds(task, method)]
        )

    def of_all_evaluations(self, task: str, method: str) -> Floats:
        """(seeds,) hypervolume of all evaluations of a training together, from (0, 0)."""
        volumes = []
        for seed in self.seeds(task, method):
            rows = self.evaluations(task, method, seed)
            points = np.array([[row["accuracy"], row["economy"]] for row in rows])
            volumes.append(float(paretopo_core.hypervolume(points, np.zeros(2))))
        return np.array(volumes)

    @property
    def tables(self) -> list[str]:
        """Tasks that are tables."""
        return [task for task in self.tasks if self.plan.tasks[task].config is None]

    def methods(self, task: str) -> list[str]:
        """The methods of a task that are no ablations."""
        named = self.plan.tasks[task].methods or self.plan.study.methods
        return [method for method in self.plan.methods_of(task) if method in named]

    def worst(self, method: str) -> Floats:
        """(seeds,) the least hypervolume over the tables on which it was tried, seed by seed."""
        tried = [task for task in self.tables if method in self.methods(task)]
        seeds = min(len(self.seeds(task, method)) for task in tried)
        ends = [self.at_end(task, method, "hypervolume")[:seeds] for task in tried]
        worst: Floats = np.min(ends, axis=0)
        return worst

    def paired(self, task: str, one: str, other: str, measure: str) -> tuple[float, float]:
        """Mean difference of a measure, one less the other, and its p, not corrected."""
        difference = self.at_end(task, one, measure) - self.at_end(task, other, measure)
        return float(difference.mean()), sign_flip_p(difference)

    # ---- comparisons -------------------------------------------------------------------------

    def against(self, task: str) -> list[Comparison]:
        """Our method against each other one on a task."""
        names = [method for method in self.methods(task) if method != self.plan.ours]
        ours = self.at_end(task, self.plan.ours, "hypervolume")
        return _compared(ours, {m: self.at_end(task, m, "hypervolume") for m in names})

    def worst_against(self) -> list[Comparison]:
        """The worst case of our method against that of each other one."""
        ours = self.worst(self.plan.ours)
        others = [method for method in self.plan.study.methods if method != self.plan.ours]
        return _compared(ours, {method: self.worst(method) for method in others})

    def dominated_by(self, task: str) -> list[str]:
        """Methods on average as accurate and as lean as ours, one of both significantly more."""
        names = [method for method in self.methods(task) if method != self.plan.ours]
        by = []
        for measure in ("accuracy", "economy"):
            ours = self.at_end(task, self.plan.ours, measure)
            by.append(_compared(ours, {m: self.at_end(task, m, measure) for m in names}))
        return [
            accuracy.other
            for accuracy, economy in zip(*by, strict=True)
            if accuracy.difference <= 0
            and economy.difference <= 0
            and "worse" in (accuracy.verdict, economy.verdict)
        ]


def _compared(ours: Floats, theirs: Mapping[str, Floats]) -> list[Comparison]:
    differences = {name: ours - values for name, values in theirs.items()}
    corrected = holm([sign_flip_p(values) for values in differences.values()])
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


def about(task: str) -> str:
    """What a task isolates, in one line."""
    return TASKS[task].about if task in TASKS else "a language model"
