"""Numbers of rollouts in the rows of the records, by the names of objectives.

An objective counts over the rollouts to which it applies, and is None if there are none.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

import paretopo_core
from paretopo.config import SKIPPED, RunConfig
from paretopo.controller.limits import judge_measures
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


def estimate_error(values: Sequence[float], rollouts: Sequence[Rollout]) -> float | None:
    """Return the standard error of the mean over questions; None of fewer than two values.

    Rollouts of one question depend on each other, so their deviations are added first. If all are
    of one question, the error is that over its rollouts.

    >>> asked = [Rollout(name, {}) for name in ("a", "a", "b", "b")]
    >>> estimate_error([1.0, 1.0, 3.0, 3.0], asked)
    1.0
    """
    if len(values) < 2:
        return None
    _, place = np.unique([one.prompt_id for one in rollouts], return_inverse=True)
    if not place.any():
        place = np.arange(len(values))
    totals = np.bincount(place, np.subtract(values, np.mean(values)))
    count = len(totals)
    return math.sqrt(totals @ totals * count / (count - 1)) / len(values)


def average_outcomes(names: Sequence[str], rollouts: Sequence[Rollout]) -> Row:
    """Return the share of solved prompts, and each objective's mean, raw and as a reward.

    The share is over rollouts with a gate; None without any.

    ``error`` has the standard errors of the raw means, ``solved_error`` that of the share.

    >>> both = [Rollout(f"q{n}", {"calls": n}, rewards=(-n,), solved=True) for n in (1.0, 3.0)]
    >>> row = average_outcomes(["calls"], both)
    >>> row["solved"], row["measured"], row["error"], row["rewards"]
    (1.0, {'calls': 2.0}, {'calls': 1.0}, {'calls': -2.0})
    """
    applying = {
        name: [one for one in rollouts if one.reward_components.get(name) is not None]
        for name in names
    }
    values = {name: list_values(name, own) for name, own in applying.items()}
    judged = [one for one in rollouts if one.solved is not None]
    solved = [float(bool(one.solved)) for one in judged]
    rewards = {name: [one.rewards[at] for one in applying[name]] for at, name in enumerate(names)}
    return {
        "rollouts": len(rollouts),
        "solved": average(solved),
        "solved_error": estimate_error(solved, judged),
        "measured": {name: average(one) for name, one in values.items()},
        "applies": {name: len(one) for name, one in values.items()},
        "error": {name: estimate_error(one, applying[name]) for name, one in values.items()},
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
    """Return each question's means of the objectives over its answers, by name."""
    answers = defaultdict[str, list[Rollout]](list)
    for one in rollouts:
        answers[one.prompt_id].append(one)
    return {question: average_measures(names, own) for question, own in answers.items()}


def count_points(archive: paretopo_core.ParetoArchive | None) -> int:
    """Return the number of outcomes on the front."""
    return 0 if archive is None else len(archive.points)


def describe_limits(
    config: RunConfig, values: Mapping[int, Sequence[float]], multipliers: Sequence[float]
) -> tuple[Row, list[float | None], list[float | None]]:
    """Return the entry ``limits`` of a step, and the numbers that update the multipliers.

    Args:
        config: Of the run.
        values: The measures of all rollouts since the last step, by place of the objective.
        multipliers: (limits,) of the step.

    Returns:
        The entry; the means and standard deviations, (limits,) each, of the judged rewards. None
        for an objective that applied to no rollout.
    """
    row: Row = {}
    means, deviations = [], []
    for limit, multiplier in zip(config.paretopo.limits, multipliers, strict=True):
        own = values[limit.objective]
        judged = judge_measures(limit, config.objectives, own)
        means.append(average(judged))
        deviations.append(float(np.std(judged)) if judged else None)
        shown = {"deviation": deviations[-1]} if limit.share is None else {"share": means[-1]}
        name = config.objectives[limit.objective].name
        row[name] = {"mean": average(own), **shown, "multiplier": multiplier}
    return row, means, deviations


def describe_shares(config: RunConfig, rollouts: Sequence[Rollout]) -> Row:
    """Return the entry ``limits`` of an evaluation: the share of rollouts within each limit."""
    limits: Row = {}
    for limit in config.paretopo.limits:
        name = config.objectives[limit.objective].name
        if limit.share is not None:
            judged = judge_measures(limit, config.objectives, list_values(name, rollouts))
            limits[name] = {"share": average(judged)}
    return {"limits": limits} if limits else {}
