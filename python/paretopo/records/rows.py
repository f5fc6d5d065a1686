"""Numbers of rollouts in the rows of the records, by the names of objectives.

An objective counts over the rollouts to which it applies, and is None if there are none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from paretopo.config import SKIPPED
from paretopo.records.files import Row
from paretopo.rollout import Rollout

Means = dict[str, float | None]


def list_values(name: str, rollouts: Iterable[Rollout]) -> list[float]:
    """Return an objective's values, of the rollouts to which it applies."""
    values = (one.reward_components.get(name) for one in rollouts)
    return [value for value in values if value is not None]


def count_skipped(rollouts: Iterable[Rollout]) -> int:
    """Return the number of rewards that failed calls left out."""
    return int(sum(list_values(SKIPPED, rollouts)))


def average(values: Sequence[float]) -> float | None:
    """Return the mean; None of no values."""
    return float(np.mean(values)) if values else None


def average_measures(names: Iterable[str], rollouts: Sequence[Rollout]) -> Means:
    """Return the mean of each objective in its unit."""
    return {name: average(list_values(name, rollouts)) for name in names}


def average_outcomes(names: Sequence[str], rollouts: Sequence[Rollout]) -> Row:
    """Return the share of solved prompts, and each objective's mean, raw and as a reward.

    ``error`` has the standard errors of the raw means; None if fewer than two rollouts count.

    >>> both = [Rollout("q", {"calls": n}, rewards=(-n,), solved=True) for n in (1.0, 3.0)]
    >>> row = average_outcomes(["calls"], both)
    >>> row["solved"], row["measured"], row["error"], row["rewards"]
    (1.0, {'calls': 2.0}, {'calls': 1.0}, {'calls': -2.0})
    """
    values = {name: list_values(name, rollouts) for name in names}
    solved = [one.solved for one in rollouts]
    rewards = {
        name: [one.rewards[at] for one in rollouts if one.reward_components.get(name) is not None]
        for at, name in enumerate(names)
    }
    return {
        "rollouts": len(rollouts),
        # No objective may define success.
        "solved": None if None in solved else average([bool(one) for one in solved]),
        "measured": {name: average(one) for name, one in values.items()},
        "applies": {name: len(one) for name, one in values.items()},
        "error": {
            name: float(np.std(one, ddof=1) / math.sqrt(len(one))) if len(one) > 1 else None
            for name, one in values.items()
        },
        "rewards": {name: average(one) for name, one in rewards.items()},
    }


def average_answers(names: Sequence[str], rollouts: Sequence[Rollout]) -> Row:
    """Return :func:`average_outcomes`, and the means of the correct answers."""
    of_solved = average_measures(names, [one for one in rollouts if one.solved])
    return average_outcomes(names, rollouts) | {"measured_of_solved": of_solved}


def average_by_kind(names: Sequence[str], rollouts: Sequence[Rollout]) -> Row:
    """Return :func:`average_answers` of each kind."""
    return {
        kind: average_answers(names, [one for one in rollouts if one.kind == kind])
        for kind in sorted({one.kind for one in rollouts})
    }


def share_mixed(groups: Sequence[Sequence[Rollout]]) -> float | None:
    """Return the share of groups whose rollouts do not all call the same tool first.

    No call is a choice, too. None if the adapter does not name the tools.

    >>> asked = [Rollout("q", {}, first_tool=tool) for tool in ("shop", "shop", "")]
    >>> share_mixed([asked, asked[:2]])
    0.5
    """
    chosen = [{one.first_tool for one in group} for group in groups]
    if not chosen or any(None in tools for tools in chosen):
        return None
    return float(np.mean([len(tools) > 1 for tools in chosen]))


def tabulate_questions(names: Sequence[str], rollouts: Iterable[Rollout]) -> dict[str, Means]:
    """Return the values of the objectives by question, numbered if several share a name."""
    seen = Counter[str]()
    found = {}
    for one in rollouts:
        seen[one.prompt_id] += 1
        again = f" ({seen[one.prompt_id]})" if seen[one.prompt_id] > 1 else ""
        found[one.prompt_id + again] = {name: one.reward_components.get(name) for name in names}
    return found
