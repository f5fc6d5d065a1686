"""Warnings that need the rollouts of a run; ``controller.watch`` needs only the rewards.

The first evaluation shows objectives that cannot teach, a later one other questions. A steerable
policy can lose the choice between its tools at any step.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from paretopo.config import Objective, RunConfig
from paretopo.config.notes import warn_caller
from paretopo.records.rows import list_values
from paretopo.rollout import Rollout

_LOGGER = logging.getLogger("paretopo")
FEWEST_MIXED = 0.1  # share of a step's groups
STEPS_UNMIXED = 10  # in a row, before a warning


def warn_of_reference(
    objectives: Sequence[Objective], outcome: NDArray[np.float64], reference: NDArray[np.float64]
) -> None:
    """Warn if a reward of the first evaluation gains no hypervolume, which nothing else would show.

    Args:
        objectives: Of the run.
        outcome: (objectives,) of the first evaluation.
        reference: (objectives,) of the hypervolume.
    """
    behind = {
        at: f"{outcome[at]:g} against {reference[at]:g}"
        # Before the first right answer, the outcome is the reference, but for rounding.
        for at in np.flatnonzero(outcome < reference - 1e-9 * np.abs(reference))
    }
    # The reference of a saving is the price of a right answer: a file does not set it.
    settable = {at for at in behind if {objectives[at].worst, objectives[at].reference} != {None}}
    for at in settable:
        behind[at] += f": set reference = {objectives[at].to_reference(outcome[at]):g}"
    listed = ", ".join(f"{objectives[at].name!r} ({text})" for at, text in behind.items())
    if behind:
        (warn_caller if settable else _LOGGER.warning)(
            "the held-out outcome does not reach the reference of the hypervolume, as rewards, in "
            f"{listed}: the hypervolume is 0, and nothing is gained, until it does",
        )


def warn_of_questions(before: Collection[str], now: Collection[str]) -> None:
    """Warn of an evaluation on other held-out questions than the evaluation before it.

    Args:
        before: The names of the questions of the earlier evaluation.
        now: Those of this evaluation.
    """
    if set(before) != set(now):
        _LOGGER.warning(
            "%d of %d held-out questions are new since the last evaluation, and %d are gone: its "
            "means and hypervolume are not comparable with earlier ones; start a new run folder",
            len(set(now) - set(before)),
            len(now),
            len(set(before) - set(now)),
        )


def warn_of_gate(config: RunConfig, rollouts: Sequence[Rollout]) -> None:
    """Warn of a gate that no held-out rollout passes, such as a penalty."""
    first = config.objectives[0]
    judged = [one for one in rollouts if one.solved is not None]
    if not judged or any(one.solved for one in judged):
        return
    known = list_values(first.name, judged)
    # Rewards of all 0 come from a hard task; a reward below the threshold may be a penalty.
    if config.paretopo.gate == "none" or min(known, default=first.threshold) >= first.threshold:
        return
    warn_caller(
        f"no held-out rollout passes the gate {first.name!r}, which is above "
        f"{first.threshold:g} if a rollout solved its prompt: values are from "
        f"{min(known):g} to {max(known):g}. A penalty cannot be a gate: choose another, or a "
        "threshold in its range",
    )


def warn_of_ungated(gate: str, prompt: str) -> None:
    """Warn of the first training prompt to which the gate does not apply."""
    _LOGGER.warning(
        "the gate %r is None for all rollouts of prompt %r: such prompts train on the other "
        "rewards, without a gate",
        gate,
        prompt,
    )


def warn_of_absence(objectives: Sequence[Objective], rollouts: Sequence[Rollout]) -> None:
    """Warn of objectives that apply to no held-out question, and so never gain."""
    names = [one.name for one in objectives if one.teaches]
    absent = [name for name in names if not list_values(name, rollouts)]
    if absent and rollouts:
        _LOGGER.warning(
            "%s: applies to none of the %d held-out questions, so that no evaluation measures it",
            " and ".join(map(repr, absent)),
            len(rollouts),
        )


class MixedGroups:
    """Warns once if a steerable policy answers nearly every group with one tool.

    Such groups do not teach which tool a preference asks for.
    """

    def __init__(self) -> None:
        self._below = 0  # steps in a row

    def check(self, step: int, share: float | None) -> None:
        """Count a step; warn if the share of mixed groups was low in several steps in a row.

        Args:
            step: Its number.
            share: From :func:`~paretopo.records.rows.share_mixed`.
        """
        if share is None:
            return
        self._below = self._below + 1 if share < FEWEST_MIXED else 0
        if self._below == STEPS_UNMIXED:
            _LOGGER.warning(
                "in the %d steps up to step %d, fewer than %.0f %% of the groups used more than "
                "one tool. The choice between tools is hardly learnt any more. Look at the results "
                "for each preference; if they do not differ as you want, raise "
                "optimiser.decision_entropy or prompts_per_step, or lower the learning rate",
                STEPS_UNMIXED,
                step,
                100.0 * FEWEST_MIXED,
            )
