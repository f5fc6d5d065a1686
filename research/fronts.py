"""Whole fronts of tabular policies: one conditioned on the preference, or one per preference.

The logits of a conditioned policy are linear in the preference's weights, like those of the best
policies at a temperature. Training on one preference therefore also improves the others. Policies
with fixed weights are independent and share the number of steps.

>>> from research.tasks import TASKS
>>> steerable = {"paretopo.preference": "given"}
>>> rows = train_tabular_front(TASKS["tune_free"], steerable, 3, seed=0, steps=40, every=40)
>>> [row["step"] for row in rows], rows[0]["hypervolume"] < rows[1]["hypervolume"] <= 1.0
([0, 40], True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import RunConfig, from_table
from paretopo.preference import Preference, Preferences
from paretopo_lab.study.plan import with_economy
from research.agent import QUESTIONS, Adam, TabularRun, softmax
from research.diversity import measure_diversity
from research.front_scores import preference_grid, score_front
from research.tables import TabularTask

Floats = NDArray[np.float64]
_WEIGHTINGS = 1000  # whose best policies are the corners of the best front
D3PO = "research.estimators:d3po"
DIVERSITY = (0.01, 3.0)  # of D3PO: highest mean of six pairs on the tuning tasks


def train_tabular_front(
    task: TabularTask,
    overrides: Mapping[str, Any],
    preferences: int,
    *,
    seed: int,
    steps: int,
    every: int,
    diversity: tuple[float, float] = DIVERSITY,
) -> list[dict[str, Any]]:
    """Train for every preference, and evaluate the front along the way.

    Args:
        task: The questions; of one cost.
        overrides: The values that a method sets; with ``paretopo.preference`` "given" one policy is
            trained, else one for each preference, in turns.
        preferences: Weightings of the two objectives, in equal steps from one to the other.
        seed: Of everything random.
        steps: Policy-gradient steps in all.
        every: Steps in all between evaluations; a multiple of ``preferences``.
        diversity: Factor and scale of D3PO's regulariser, which a policy that is given preferences
            has with the estimator `D3PO`.

    Returns:
        A row per evaluation: step (in all), hypervolume of the front, and preference, the mean
        value under each policy's own preference. Both are shares of the best policies' scores.
        Accuracy, economy and cost are means over the preferences.
    """
    method = with_economy(overrides, "saving")
    given = preference_grid(preferences)
    grid = Preferences(from_table({}, given)).grid
    if method.get("paretopo.preference") == "given":
        config = from_table({}, {**method, **given})
        if config.paretopo.stage2_estimator != D3PO:
            diversity = (0.0, 0.0)
        runs: list[TabularRun] = [_SteerableRun(task, config, seed, steps, diversity)]
    else:
        runs = [_fixed_run(task, method, one, seed, steps // preferences) for one in grid]
    optimisers = [Adam(run.logits.shape) for run in runs]

    def evaluate(step: int) -> dict[str, Any]:
        policies = (
            [runs[0].policy(one.weights) for one in grid]
            if isinstance(runs[0], _SteerableRun)
            else [run.policy() for run in runs]
        )
        return {"step": step, **score_policies(task, policies, grid)}

    rows = [evaluate(0)]
    for step in range(1, steps + 1):
        # The only run takes every step; several runs each take one step in the same iteration.
        due = runs if step % len(runs) == 0 else []
        for run, optimiser in zip(due, optimisers if due else [], strict=True):
            run.logits += optimiser.step(run.step(step // len(runs)))
        if step % every == 0 or step == steps:
            rows.append(evaluate(step))
    return rows


def score_policies(
    task: TabularTask, policies: Sequence[Floats], preferences: Sequence[Preference]
) -> dict[str, float]:
    """Score the policies of a front together, and each under its own preference.

    The reference point of hypervolumes is the outcome of the uniform policy.

    Args:
        task: The questions.
        policies: (rows, ways) for each preference.
        preferences: Weights of a right answer, and of the savings of right answers.
    """
    weights = np.linspace(0.0, 1.0, _WEIGHTINGS + 1)
    best = np.array([_point(task, _best(task, (one, 1.0 - one))) for one in weights])
    start = _point(task, np.full_like(policies[0], 1.0 / policies[0].shape[1]))
    outcomes = np.array([task.outcome(policy) for policy in policies])
    accuracy, economy = outcomes.mean(axis=0)
    points = np.array([_point(task, policy) for policy in policies])
    return {
        "accuracy": float(accuracy),
        "economy": float(economy),
        "cost": float(np.mean([task.cost_of(policy) for policy in policies])),
        **score_front(points, best, start, [one.weights for one in preferences]),
    }


def _point(task: TabularTask, policy: Floats) -> Floats:
    chosen = policy[task.policy_rows] * task.success
    right = chosen.sum(axis=1).mean()
    return np.array([right, (chosen * task.saved[..., 0]).sum(axis=1).mean()])


def _best(task: TabularTask, weights: Sequence[float]) -> Floats:
    """Return the policy of the highest value, with shape (rows, ways)."""
    right, saved = weights
    worth = task.success * (right + saved * task.saved[..., 0])
    rows = int(task.policy_rows.max()) + 1
    total = np.zeros((rows, worth.shape[1]))
    np.add.at(total, task.policy_rows, worth)
    best: Floats = np.eye(worth.shape[1])[total.argmax(axis=1)]
    return best


def _fixed_run(
    task: TabularTask, method: Mapping[str, Any], given: Preference, seed: int, steps: int
) -> TabularRun:
    right, saved = given.weights
    weights = {"objectives.correct.weight": right, "objectives.calls.weight": saved}
    return TabularRun(task, from_table({}, {**method, **weights}), seed, max(steps, 1))


class _SteerableRun(TabularRun):
    """A policy with logits (rows, ways, objectives), summed with the weights of a preference.

    Args:
        task: The questions.
        config: With preferences; one is drawn for each question of each step.
        seed: Of everything random.
        steps: Of the run.
        diversity: Factor and scale of D3PO's regulariser; a factor of 0 leaves it out.
    """

    def __init__(
        self,
        task: TabularTask,
        config: RunConfig,
        seed: int,
        steps: int,
        diversity: tuple[float, float],
    ) -> None:
        super().__init__(task, config, seed, steps)
        self.logits = np.repeat(self.logits[..., None], 2, axis=-1)  # as fixed weights begin
        self._preferences = Preferences(config)
        self._drawn = steps * len(self._rows) * QUESTIONS  # in a run; later draws are the others
        self._diversity = diversity

    def policy(self, weights: Sequence[float] = (0.5, 0.5)) -> Floats:
        """(rows, ways) for a preference."""
        return softmax(self.logits @ np.array(weights))

    def step(self, number: int) -> Floats:
        """As with fixed weights, but each question has weights of its own."""
        kinds = len(self._rows)
        first = (number - 1) * kinds * QUESTIONS
        weights = self._draw(first, kinds)
        logits = np.einsum("kwo,kqo->kqw", self.logits[self._rows], weights)
        moves = self.answer(softmax(logits), number, weights).mean(axis=2)
        gradient = np.zeros_like(self.logits)
        np.add.at(gradient, self._rows, np.einsum("kqw,kqo->kwo", moves, weights) / QUESTIONS)
        factor, scale = self._diversity
        if factor > 0.0:
            others = self._draw(self._drawn + first, kinds)
            _, slope = measure_diversity(self.logits[self._rows], weights, others, scale)
            np.add.at(gradient, self._rows, -factor * slope)
        return gradient

    def _draw(self, first: int, kinds: int) -> Floats:
        """Return the preferences of a step's questions, (kinds, questions, objectives)."""
        drawn = [self._preferences.draw(first + at) for at in range(kinds * QUESTIONS)]
        return np.array([one.weights for one in drawn]).reshape(kinds, QUESTIONS, -1)
