"""Warnings of a run that goes on without an error and goes wrong, whatever its trainer."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import OF_UNKNOWN_UNITS, ParetoPOConfig
from paretopo.controller.estimators.groups import merge_ties_of_objectives

_LOGGER = logging.getLogger("paretopo")
IDLE_STEPS = 20  # in a row, before the reason follows
MOVED = 10.0  # times a learnt price, before a warning names it


class Watch:
    """Warns of steps that teach nothing, and of learnt prices that move far.

    Attributes:
        speaks: False in all but one of several processes that take the same steps.
        updates: The steps of the trainer in each step that the controller takes.
    """

    def __init__(self) -> None:
        self.speaks, self.updates = True, 1
        self._idle, self._named_idle = 0, False  # steps in a row
        self._prices: dict[str, dict[str, float]] = {}  # first known, or last named

    def see_rewards(
        self,
        step: int,
        shares: Mapping[str, float],
        teach: Sequence[str],
        groups: int,
        unpriced: Sequence[str] = (),
    ) -> None:
        """After the first step, name the objectives that differ within no group.

        Args:
            step: Its number, from 1 on.
            shares: The share of the groups in which the rewards differ, by objective.
            teach: The objectives to learn from.
            groups: Number of groups of the step.
            unpriced: The objectives whose rewards wait for the price of a right answer.
        """
        equal = [name for name in teach if not shares[name]]
        if step == 1 and groups and equal:
            listed = ", ".join(f"{name} {100.0 * share:.0f} %" for name, share in shares.items())
            waiting = [name for name in equal if name in unpriced]
            why = f"; before the first right answer, {_join(waiting)} saves nothing"
            self._warn(
                f"in the first step, the rewards for {_join(equal)} are equal within every group "
                f"({groups}), so nothing is learnt from them; groups with different rewards: "
                f"{listed}{why if waiting else ''}"
            )

    def see_advantages(self, step: int, *, idle: bool, explain: Callable[[], str]) -> None:
        """Count a step; warn of the first whose advantages are all 0, and explain 20 in a row.

        Args:
            step: Its number, from 1 on.
            idle: True if all its advantages are 0.
            explain: Returns the reason.
        """
        self._idle = self._idle + 1 if idle else 0
        if idle and not self._named_idle:
            self._warn(
                f"every advantage of step {(step - 1) * self.updates + 1} is 0, so its rewards "
                f"teach nothing. This is normal now and then; {IDLE_STEPS * self.updates} such "
                "steps in a row bring the reason here"
            )
        self._named_idle |= idle
        if self._idle == IDLE_STEPS:
            self._warn(
                f"every advantage of the {IDLE_STEPS * self.updates} steps up to step "
                f"{step * self.updates} is 0: {explain()}"
            )

    def see_prices(self, step: int, prices: Mapping[str, Mapping[str, float]]) -> None:
        """Name the prices that moved by a factor of ten since they were known, or last named.

        Args:
            step: Its number, from 1 on.
            prices: objective → kind of question → price of a right answer.
        """
        for name, by_kind in prices.items():
            before = self._prices.setdefault(name, {})
            for kind, price in by_kind.items():
                first = before.setdefault(kind, price)
                if not first / MOVED < price < first * MOVED:
                    before[kind] = price
                    self._warn(
                        f"by step {step * self.updates}, the price of a right answer in {name!r} "
                        f"moved from {first:g} to {price:g} for questions of the kind {kind!r}: "
                        "savings count relative to it. Check that these questions need similar "
                        "costs, or give them different kinds"
                    )

    def state_dict(self) -> dict[str, Any]:
        """Return the counts, JSON-able."""
        return {
            "idle": [self._idle, self._named_idle],
            "prices": {name: dict(by_kind) for name, by_kind in self._prices.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`; a state of an earlier release starts the counts."""
        self._idle, self._named_idle = state.get("idle", (0, False))
        self._prices = {name: dict(known) for name, known in state.get("prices", {}).items()}

    def _warn(self, message: str) -> None:
        if self.speaks:
            _LOGGER.warning("%s", message)


def share_differing(
    names: Sequence[str], groups: Iterable[NDArray[np.float64]]
) -> dict[str, float]:
    """Return the share of groups, (points, objectives), in which an objective's rewards differ."""
    differ, by_size = np.zeros(len(names)), defaultdict[int, list[NDArray[np.float64]]](list)
    for group in groups:
        by_size[len(group)].append(group)
    for several in map(np.array, by_size.values()):
        merged = merge_ties_of_objectives(several, np.ones(several.shape[:2], np.bool_))
        differ += (merged != merged[:, :1]).any(axis=1).sum(axis=0)
    count = sum(map(len, by_size.values()))
    return dict(zip(names, (differ / max(count, 1)).tolist(), strict=True))


def explain_idle(
    groups: Sequence[NDArray[np.float64]],
    names: Sequence[str],
    teach: Sequence[str],
    config: ParetoPOConfig,
    *,
    estimator: str,
    dropped: bool,
) -> str:
    """Return the reason why a step has no advantage other than 0.

    Args:
        groups: (points, objectives) of each group, after the gate.
        names: Of the objectives.
        teach: The objectives to learn from.
        config: The switches.
        estimator: That of the step.
        dropped: True if `group_filter` drops every group.
    """
    rows = np.concatenate([np.zeros((0, len(names))), *groups])
    if len(rows) <= len(groups):
        return "no group has two rollouts to compare: rollouts of one prompt need one group id"
    ends = zip(names, rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
    ranges = ", ".join(f"{name} {low:g} to {high:g}" for name, low, high in ends)
    if config.gate == "success" and not (rows[:, 0] > config.threshold).any():
        return f"no rollout is above {config.threshold:g} in the gate {names[0]!r} ({ranges})"
    shares = share_differing(names, groups)
    if not any(shares[name] for name in teach):
        return f"the rewards that teach are equal within every group ({ranges})"
    if dropped:
        return f'paretopo.group_filter = "{config.group_filter}" drops every group ({ranges})'
    return (
        f"the estimator {estimator!r} gives the different rewards of a group one value ({ranges}): "
        f'check their units, or use stage2_estimator = "{OF_UNKNOWN_UNITS}"'
    )


def _join(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))
