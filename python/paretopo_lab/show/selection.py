"""Select groups to show, and order their rollouts."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from paretopo.records.trajectories import Group
from paretopo.rollout import Rollout

Only: TypeAlias = Literal["wrong", "right", "held-out", "training"]
ADVANTAGE, STEP = "advantage", "step"


@dataclass(frozen=True)
class Selection:
    """The groups to show, and the order of their rollouts.

    Attributes:
        step: The groups of this step; None for all.
        group: The groups of this prompt, by its id; None for all.
        only: Groups with a wrong or a right rollout, and those rollouts of them; or held-out
            questions, or training prompts. None for all.
        sort: Rollouts by "advantage", largest first; as the "step" sampled them; or by the reward
            for an objective, named, largest first.
        most: At most so many groups, the newest.

    >>> right = Rollout("q", {"calls": 0.0}, solved=True, rewards=(1.0, 1.0))
    >>> wrong = Rollout("q", {"calls": 2.0}, rewards=(0.0, 0.2))
    >>> mixed = Group((wrong, right), step=3, objectives=("correct", "calls"))
    >>> [group.step for group in Selection(only="right").select([mixed])[0]]
    [3]
    >>> [number for number, _ in Selection(sort="calls").select_rollouts(mixed)]
    [2, 1]
    """

    step: int | None = None
    group: str | None = None
    only: Only | None = None
    sort: str = ADVANTAGE
    most: int = 200

    def select(self, groups: Iterable[Group]) -> tuple[list[Group], int]:
        """Return the newest selected groups, oldest first, and the number of all selected ones."""
        newest: deque[Group] = deque(maxlen=self.most)
        wanted = 0
        for group in groups:
            if self._wants(group):
                newest.append(group)
                wanted += 1
        return list(newest), wanted

    def select_rollouts(self, group: Group) -> list[tuple[int, Rollout]]:
        """Return the selected rollouts of a group, each with its number, from 1."""
        numbered = [
            (number, one)
            for number, one in enumerate(group.rollouts, start=1)
            if self._wants_rollout(one)
        ]
        if self.sort != STEP:
            numbered.sort(key=lambda pair: -self._worth(pair[1], group))
        return numbered

    def _wants(self, group: Group) -> bool:
        if self.step is not None and group.step != self.step:
            return False
        if self.group is not None and group.id != self.group:
            return False
        if self.only in ("held-out", "training"):
            return group.held_out == (self.only == "held-out")
        return self.only is None or any(self._wants_rollout(one) for one in group.rollouts)

    def _wants_rollout(self, rollout: Rollout) -> bool:
        if self.only in ("wrong", "right"):
            return rollout.solved == (self.only == "right")
        return True

    def _worth(self, rollout: Rollout, group: Group) -> float:
        """Return the sort key of a rollout; rollouts without one come last."""
        if self.sort == ADVANTAGE:
            worth = rollout.advantage
        else:
            worth = dict(zip(group.objectives, rollout.rewards, strict=False)).get(self.sort)
        return -math.inf if worth is None or math.isnan(worth) else worth
