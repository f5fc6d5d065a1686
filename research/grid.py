"""The tabular tasks, as a study trains them."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paretopo.config import from_table
from paretopo_lab.study.cells import SAVING
from paretopo_lab.study.plan import StudySection, with_economy
from research.agent import train_tabular
from research.fronts import D3PO, DIVERSITY, train_tabular_front
from research.tables import GROUP, TabularTask
from research.tasks import TASKS


@dataclass(frozen=True)
class StudiedTable:
    """A tabular task that ``paretopo_lab.study.plan`` takes for a table."""

    task: TabularTask

    @property
    def about(self) -> str:
        """The point of the task, in one line."""
        return self.task.about

    def train(
        self, overrides: Mapping[str, Any], seed: int, steps: int, study: StudySection
    ) -> list[dict[str, Any]]:
        """Train one policy, or a front of them; return a row for each evaluation."""
        every = study.every
        if study.preferences is None:
            return train_tabular(self.task, overrides, seed=seed, steps=steps, every=every)
        return train_tabular_front(
            self.task, overrides, study.preferences, seed=seed, steps=steps, every=every
        )

    def identify(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of the table, and the meaning of a saving if the method has one."""
        task = self.task
        parts = [task.success, task.cost, task.most, task.later, task.policy_rows]
        about: dict[str, Any] = {
            "units": [dataclasses.asdict(unit) for unit in task.units],
            "paid": [task.counted, task.budget, task.scaled],
            "table": [None if part is None else part.tolist() for part in parts],
        }
        if _saves(json.dumps(with_economy(overrides, "paretopo"))):
            about["saving"] = SAVING
        if overrides.get("paretopo.stage2_estimator") == D3PO:
            about["diversity"] = list(DIVERSITY)
        if task.start is not None or (task.group, task.parts) != (GROUP, 1):
            about["start"] = None if task.start is None else task.start.tolist()
            about["answers"] = [task.group, task.parts]
        return about


@functools.cache
def _saves(overrides: str) -> bool:
    return from_table({}, json.loads(overrides)).objective("calls").economy == "saving"


TABLES = {name: StudiedTable(task) for name, task in TASKS.items()}
