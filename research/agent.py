"""A training of a tabular policy: the real controller, the real rewards, exact evaluations.

A softmax over ways to answer replaces a language model that samples text. Everything from the
rewards on is the code that the other backends run.

>>> from paretopo.config import METHODS
>>> from research.tasks import TASKS
>>> gated = {**METHODS["grpo"], "paretopo.gate": "success"}
>>> rows = train_tabular(TASKS["tune_free"], gated, seed=0, steps=60, every=60)
>>> rows[0]["step"], rows[-1]["step"], rows[-1]["cost"] < rows[0]["cost"]
(0, 60, True)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import Objective, RunConfig, from_table
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.economy import laser_economy, saving
from paretopo.rewards.learnt_costs import CostMinimum, CostTargets, SuccessPrice
from paretopo.rewards.scoring import GROUP_ECONOMIES, make_economy, make_targets
from paretopo_lab.study.plan import with_economy
from research.tables import TabularTask, Unit

QUESTIONS = 4  # of each kind, per step
PER_KIND = 400  # different questions: one pass over them is the paper's stage 1
LEARNING_RATE = 0.05
Floats = NDArray[np.float64]


def train_tabular(
    task: TabularTask,
    overrides: Mapping[str, Any],
    *,
    seed: int,
    steps: int = 400,
    every: int = 50,
) -> list[dict[str, Any]]:
    """Train one policy and evaluate it along the way.

    Args:
        task: The questions.
        overrides: The values that a method sets, by dotted name: `paretopo.config.expand_method`.
        seed: Of everything random.
        steps: Policy-gradient steps.
        every: Steps between evaluations, which are exact expectations; the first is before the
            first step, the last after the last.

    Returns:
        A row per evaluation: step, accuracy, economy, cost, hypervolume, preference (see
        `TabularTask`), and fewest if the economy is relative to the fewest calls.
    """
    own: dict[str, Any] = {"optimiser.max_tool_calls": int(task.cost[..., 0].max())}
    if overrides.get("recipe") == "paper" or any("paretopo.stage" in one for one in overrides):
        # Every method but the recommended recipe has the paper's weights, unless it sets others.
        own |= {"objectives.correct.weight": 0.6, "objectives.calls.weight": 0.4}
    method = with_economy(overrides, "paretopo" if task.counted else "raw")
    run = TabularRun(task, from_table({}, own | method), seed, steps)
    optimiser = Adam(run.logits.shape)
    rows = [run.evaluate(0)]
    for step in range(1, steps + 1):
        run.logits += optimiser.step(run.step(step))
        if step % every == 0 or step == steps:
            rows.append(run.evaluate(step))
    return rows


def softmax(logits: Floats) -> Floats:
    """(..., ways) probabilities."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


class TabularRun:
    """A softmax policy over ways, its controller and its rewards.

    Args:
        task: The questions.
        config: Of the training.
        seed: Of everything random.
        steps: Of the run.
    """

    def __init__(self, task: TabularTask, config: RunConfig, seed: int, steps: int) -> None:
        self.task, self.controller = task, make_controller(task, config, steps)
        self.rewards, self._loss = TabularRewards(task, config, seed), config.optimiser.loss
        self._rng = np.random.default_rng([seed, *task.name.encode()])
        self._rows = task.policy_rows
        # Like a model after its warm-up: it calls, needlessly too, and sometimes guesses.
        self.logits = 0.3 * self._rng.standard_normal((self._rows.max() + 1, task.ways))
        if task.start is not None:
            self.logits += task.start

    def policy(self) -> Floats:
        """(rows, ways) probabilities."""
        return softmax(self.logits)

    def step(self, number: int) -> Floats:
        """The gradient of one step."""
        moves = self.answer(self.policy()[self._rows][:, None], number)
        gradient = np.zeros_like(self.logits)
        np.add.at(gradient, self._rows, moves.mean(axis=(1, 2)))
        return gradient

    def answer(self, policy: Floats, number: int, weights: Floats | None = None) -> Floats:
        """Answer the questions of a step, and say whereto each answer moves the logits.

        Args:
            policy: (kinds, 1 or questions, ways) probabilities.
            number: Of the step.
            weights: (kinds, questions, objectives), where each question has a preference.

        Returns:
            (kinds, questions, group, ways).
        """
        kinds, _, ways = policy.shape
        group, parts = self.task.group, self.task.parts
        draws = self._rng.random((kinds, QUESTIONS, group, 1))
        chosen = (draws > policy.cumsum(axis=-1)[:, :, None, :-1]).sum(axis=-1)
        success = self.task.success_at(number)[np.arange(kinds)[:, None, None], chosen]
        right = (self._rng.random((*chosen.shape, parts)) < success[..., None]).mean(axis=-1)
        vectors = self.rewards.draw(chosen, right, number - 1, self._rng)
        advantages = self.controller.step(
            vectors.reshape(kinds * QUESTIONS, group, -1),
            weights=None if weights is None else weights.reshape(kinds * QUESTIONS, -1),
        ).advantages.reshape(chosen.shape)
        advantages = advantages * _per_token(self._lengths(chosen), self._loss)
        moves: Floats = advantages[..., None] * (np.eye(ways)[chosen] - policy[:, :, None])
        return moves

    def _lengths(self, chosen: NDArray[np.int64]) -> Floats:
        """Return the lengths of answers: their costs plus one."""
        lengths: Floats = 1.0 + self.task.cost_of_answers(chosen).sum(axis=-1)
        return lengths

    def evaluate(self, step: int) -> dict[str, Any]:
        """Evaluate the policy for a report, and pass the outcome to the controller."""
        task, policy = self.task, self.policy()
        accuracy, economy = task.outcome(policy, step)
        saved = np.einsum("kw,kwc->c", policy[self._rows], task.saved) / len(self._rows)
        self.controller.observe(np.array([accuracy, *saved]))
        return {
            "step": step,
            "accuracy": float(accuracy),
            "economy": float(economy),
            "cost": task.cost_of(policy),
            "hypervolume": task.score(policy, "hypervolume", step),
            "preference": task.score(policy, "preference", step),
            **self.rewards.learnt(),
        }


@dataclass(frozen=True)
class _Answers:
    """The answers of a step, and one of their costs.

    Attributes:
        costs: (kinds, questions, group) charges.
        right: (kinds, questions, group) share of each answer that is right.
        step: From 0 on.
        budget: The reward is the rest of this budget; None: the negated cost.
    """

    costs: Floats
    right: Floats
    step: int
    budget: float | None


_Payment = Callable[[_Answers], Floats]


class TabularRewards:
    """Reward vectors of answers, economies as the method pays them."""

    def __init__(self, task: TabularTask, config: RunConfig, seed: int) -> None:
        self._task = task
        drawn = np.random.default_rng([seed, 1])
        self._unit: Unit = task.units[seed % len(task.units)]
        self._scale = float(10.0 ** drawn.uniform(-3.0, 3.0)) if task.scaled else 1.0
        self._payments = [_make_payment(task, config) for _ in range(task.objectives - 1)]

    def draw(
        self,
        chosen: NDArray[np.int64],
        right: Floats,
        step: int,
        rng: np.random.Generator,
    ) -> Floats:
        """(kinds, questions, group, objectives), larger is better."""
        costs = self._scale * self._unit.draw(self._task.cost_of_answers(chosen), rng)
        budget = None if self._task.budget is None else self._scale * self._task.budget
        paid = [
            pay(_Answers(costs[..., at], right, step, budget))
            for at, pay in enumerate(self._payments)
        ]
        return np.stack([right, *paid], axis=-1)

    def learnt(self) -> dict[str, float]:
        """Return the mean of the fewest calls known to solve a question, if the method uses it."""
        calls = self._payments[0]
        return {"fewest": calls.mean()} if isinstance(calls, _ByFewest) else {}


def _make_payment(task: TabularTask, config: RunConfig) -> _Payment:
    calls = config.objective("calls")
    if calls.economy == "raw":
        return _pay_raw
    if calls.economy == "share of the group":
        return _pay_share
    if calls.economy == "saving":
        return _Saving(len(task.success) if task.named else 1)
    if calls.economy in GROUP_ECONOMIES:
        economy = GROUP_ECONOMIES[calls.economy]
        return lambda answers: economy(answers.costs, answers.right)
    targets = make_targets(calls)
    if targets is not None:
        return _ToTarget(targets)
    return _ByFewest(task, calls, config.optimiser.max_tool_calls)


def _pay_raw(answers: _Answers) -> Floats:
    return (0.0 if answers.budget is None else answers.budget) - answers.costs


def _pay_share(answers: _Answers) -> Floats:
    low, high = (end(answers.costs, axis=-1, keepdims=True) for end in (np.min, np.max))
    alike = high == low
    share: Floats = np.where(alike, 1.0, (high - answers.costs) / np.where(alike, 1.0, high - low))
    return share


class _Saving:
    """The share that is saved of the going price of a right answer, one price for each name."""

    def __init__(self, names: int) -> None:
        self._prices = [SuccessPrice() for _ in range(names)]

    def __call__(self, answers: _Answers) -> Floats:
        parts = [np.split(part, len(self._prices)) for part in (answers.costs, answers.right)]
        saved = []
        for price, costs, right in zip(self._prices, *parts, strict=True):
            price.update(costs, right)
            saved.append(saving(costs, price.of_groups(costs, right)[..., None]))
        return np.concatenate(saved)


class _ToTarget:
    """LASER-D's step, at most the target of the group's difficulty."""

    def __init__(self, targets: CostTargets) -> None:
        self._targets = targets

    def __call__(self, answers: _Answers) -> Floats:
        groups = list(np.ndindex(answers.costs.shape[:2]))
        for group in groups:
            self._targets.update(answers.costs[group], answers.right[group])
        limits = [self._targets.target(answers.right[group]) for group in groups]
        return laser_economy(
            answers.costs, answers.right, np.reshape(limits, answers.costs.shape[:2])
        )


class _ByFewest:
    """The paper's economy, or OTC's, by the fewest calls that solved a question."""

    def __init__(self, task: TabularTask, objective: Objective, max_calls: int) -> None:
        if not task.counted:
            raise ValueError(
                f'economy = "{objective.economy}" goes by the fewest calls, and {task.name} is '
                "paid in another unit: leave the method out there"
            )
        economy = make_economy(objective, max_calls)
        assert economy is not None
        self._economy = economy
        # Per question; a question that was never solved counts with the most calls.
        self._fewest = np.full((len(task.policy_rows), PER_KIND), float(task.cost[..., 0].max()))
        self._minima = CostMinimum()

    def __call__(self, answers: _Answers) -> Floats:
        fewest = np.empty(answers.costs.shape[:2])
        for kind, question in np.ndindex(fewest.shape):
            number = (answers.step * QUESTIONS + question) % PER_KIND
            name = f"{kind}-{number}"
            group = kind, question
            self._minima.update(name, answers.costs[group], answers.right[group])
            known = self._minima.n_opt(name)
            fewest[group] = np.nan if known is None else known
            if known is not None:
                self._fewest[kind, number] = known
        paid = self._economy(answers.costs, None)
        for known in np.unique(fewest[~np.isnan(fewest)]).tolist():
            groups = fewest == known
            paid[groups] = self._economy(answers.costs[groups], known)
        return paid

    def mean(self) -> float:
        """Over all questions."""
        return float(self._fewest.mean())


def _per_token(lengths: Floats, loss: str) -> Floats:
    """Factors by the loss's divisor: a mean over tokens weighs an answer by its length's inverse.

    The choice that the policy learns is one token.
    """
    if loss == "grpo":
        weights: Floats = 1.0 / lengths
    elif loss in ("dapo", "bnpo"):
        weights = np.full(lengths.shape, 1.0 / lengths.mean())
    else:  # a constant
        weights = np.ones(lengths.shape)
    return weights


def make_controller(task: TabularTask, config: RunConfig, steps: int) -> ParetoPO:
    """Give each economy the floor and reference of calls, and an equal share of its weight."""
    economies = task.objectives - 1
    given = config.paretopo
    first, calls = given.weights
    switches = replace(
        given,
        weights=(first, *[calls / economies] * economies),
        floors=given.gated_floors * economies,
        references=(given.reference_point[0], *[given.reference_point[1]] * economies),
    )
    return ParetoPO(switches, steps_per_epoch=PER_KIND // QUESTIONS, steps=steps)


class Adam:
    """Kingma & Ba (2015), at the learning rate of all trainings here."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._square, self._steps = np.zeros(shape), np.zeros(shape), 0

    def step(self, gradient: Floats) -> Floats:
        """By how much the logits move."""
        self._steps += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._steps)
        square = self._square / (1 - 0.999**self._steps)
        move: Floats = LEARNING_RATE * mean / (np.sqrt(square) + 1e-8)
        return move
