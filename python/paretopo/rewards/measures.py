"""Complete and check the measurements of rollouts, before rewards are computed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from paretopo.config import MEASURES, SKIPPED, Objective
from paretopo.config.keys import nearest
from paretopo.config.objectives import COUNTS, FROM_ZERO
from paretopo.controller.reward_vectors import check_number
from paretopo.rollout import BadRollout, Rollout

_OF_THE_GATE = "; the keys low and high of the objective set other bounds"


def complete_rollouts(
    rollouts: Sequence[Rollout], objectives: Sequence[Objective]
) -> list[Rollout]:
    """Return the rollouts with all derived measures and `solved`, checked.

    Tokens are those that the policy wrote. Dollars are the environment's spending; without a report
    it spent none. Each measure is multiplied by its objective's price, or becomes the rest of a
    budget.

    A prompt whose gate is None for all rollouts has no gate, and their `solved` is None.

    Args:
        rollouts: The rollouts of one batch.
        objectives: The objectives of the run, the gate first, if there is one.

    Raises:
        BadRollout: A value is not finite or is outside its bounds, a name is not an objective, the
            gate applies to some rollouts of a prompt only, or no rollout measures an objective.

    >>> one = Rollout("q", {"correct": 1}, tokens=500)
    >>> wanted = [Objective("correct", gate=True), Objective("tokens", price=0.01)]
    >>> complete_rollouts([one], wanted)[0].reward_components["tokens"]
    5.0
    """
    judged = find_judged_prompts(rollouts, objectives[0].name)
    completed = [_complete(one, objectives, one.prompt_id in judged) for one in rollouts]
    for objective in objectives:
        if completed and all(objective.name not in one.reward_components for one in completed):
            raise BadRollout(
                f"no rollout measures the objective {objective.name!r} (None says that it does not "
                f"apply); the first, of prompt {rollouts[0].prompt_id!r}, has "
                f"{sorted(rollouts[0].reward_components)}: correct the name, or add a function or "
                "a reward component of this name"
            )
    return completed


def find_judged_prompts(rollouts: Sequence[Rollout], gate: str) -> set[str]:
    """Return the prompts whose gate is not None for all rollouts; the others have no gate.

    >>> rollouts = [Rollout("q", {"right": 1.0}), Rollout("chat", {"right": None})]
    >>> find_judged_prompts(rollouts, "right")
    {'q'}
    """
    return {one.prompt_id for one in rollouts if not skips(one, gate)}


def skips(rollout: Rollout, gate: str) -> bool:
    """Return whether the gate returned None for a rollout."""
    return rollout.reward_components.get(gate, 0.0) is None


def _complete(rollout: Rollout, objectives: Sequence[Objective], judged: bool) -> Rollout:
    given = rollout.reward_components
    components: dict[str, float | None] = {
        name: check_number(
            rollout.prompt_id,
            name,
            value,
            (0.0 if name in COUNTS else -math.inf, math.inf),
            whole=name in COUNTS,
        )
        for name, value in given.items()
    }
    known = dict.fromkeys([*(one.name for one in objectives), *MEASURES, SKIPPED])
    for name in components:
        if name not in known:
            raise BadRollout(
                f"the rollout of prompt {rollout.prompt_id!r} has {name!r} = {given[name]!r} among "
                f"its measures, which is not an objective; {nearest(name, known)}"
            )
    wanted = {one.name for one in objectives}
    # Drop wall-clock time, which differs between equal runs, an unused grade, and unused failures.
    for name in {"seconds", "correct", "failed_calls"} - wanted:
        components.pop(name, None)
    if "tokens" in wanted:
        components.setdefault("tokens", float(rollout.tokens))
    if "dollars" in wanted:
        components["dollars"] = components.get("dollars") or 0.0
    for one in objectives:
        if one.name in components:
            amount = components[one.name]
            measure = None if amount is None else one.to_measure(amount)
            why = _OF_THE_GATE if one.gate and measure is not None else ""
            components[one.name] = check_number(
                rollout.prompt_id,
                one.name,
                measure,
                one.bounds,
                gate=bool(one.gate) and judged,
                why=FROM_ZERO if one.better == "fewer" and (measure or 0.0) < 0.0 else why,
            )
    if not objectives[0].gate or not judged:
        return replace(rollout, reward_components=components, solved=None)
    first = objectives[0].name
    decides = components.get(first)
    if decides is None:
        raise BadRollout(
            f"the rollout of prompt {rollout.prompt_id!r} has no {first!r} among its measures: the "
            "gate must measure every rollout, or be None for all of a prompt"
        )
    return replace(rollout, reward_components=components, solved=decides > objectives[0].threshold)
