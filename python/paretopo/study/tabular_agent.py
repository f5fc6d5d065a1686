"""A training of a tabular policy: the real controller, the real rewards, exact evaluations.

What a language model would do by sampling text, a softmax over ways to answer does here; from the
rewards on, everything is what the other backends run.

>>> from paretopo.config import METHODS
>>> from paretopo.study.tabular import TASKS
>>> gated = {**METHODS["grpo"], "paretopo.gate": "success"}
>>> rows = train_tabular(TASKS["free"], gated, seed=0, steps=60)
>>> rows[0]["step"], rows[-1]["step"], rows[-1]["calls"] < rows[0]["calls"]
(0, 60, True)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import OptimiserConfig, RunConfig, from_table
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.economy import CostMinimum
from paretopo.rewards.scoring import make_economy
from paretopo.study.tabular import TabularTask, Unit

GROUP = 8  # answers per question, as in the paper
QUESTIONS = 4  # of each kind, per step
PER_KIND = 400  # different questions: one pass over them is the paper's stage 1
LEARNING_RATE = 0.05
NOISE = 0.03  # of an economy that is paid as it is
Floats = NDArray[np.float64]


def train_tabular(
    task: TabularTask,
    overrides: Mapping[str, Any],
    *,
    seed: int,
    steps: int = 400,
    evaluations: int = 20,
) -> list[dict[str, Any]]:
    """Train one policy and evaluate it along the way.

    Args:
        task: The questions.
        overrides: The values that a method sets, by dotted name: `paretopo.config.expand_method`.
        seed: Of everything random.
        steps: Policy-gradient steps.
        evaluations: Evaluations after the first, evenly spread; exact expectations.

    Returns:
        A row per evaluation: step, accuracy, economy, calls, hypervolume (see `TabularTask`).
    """
    rng = np.random.default_rng([seed, *task.name.encode()])
    config = from_table({}, {"objectives.calls.most": int(task.calls.max())} | dict(overrides))
    rewards = _make_rewards(task, config, seed)
    run = _Run(task, _make_controller(task, config, steps), rewards, config.optimiser, rng)
    optimiser = _Ascent() if config.optimiser.method == "sgd" else _Adam(run.logits.shape)
    at = {round(step) for step in np.linspace(0, steps, evaluations + 1)}
    rows = [run.evaluate(0)]
    for step in range(1, steps + 1):
        factor, gradient = run.step()
        run.logits += factor * optimiser.step(gradient)
        if step in at:
            rows.append(run.evaluate(step))
    return rows


class _Run:
    def __init__(
        self,
        task: TabularTask,
        controller: ParetoPO,
        rewards: _Rewards,
        settings: OptimiserConfig,
        rng: np.random.Generator,
    ) -> None:
        self.task, self.controller, self.rewards = task, controller, rewards
        self.settings, self._rng = settings, rng
        # Like a model after its warm-up: it calls, needlessly too, and sometimes guesses.
        self.logits = 0.3 * rng.standard_normal(task.success.shape)
        self._steps = 0

    def policy(self) -> Floats:
        weights = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        policy: Floats = weights / weights.sum(axis=1, keepdims=True)
        return policy

    def step(self) -> tuple[float, Floats]:
        """The factor on the learning rate and the gradient of one step."""
        policy = self.policy()
        kinds, ways = policy.shape
        draws = self._rng.random((kinds, QUESTIONS, GROUP, 1))
        chosen = (draws > policy.cumsum(axis=1)[:, None, None, :-1]).sum(axis=-1)
        right = (
            self._rng.random(chosen.shape)
            < self.task.success[np.arange(kinds)[:, None, None], chosen]
        )
        vectors = self.rewards.draw(chosen, right, self._steps, self._rng)
        self._steps += 1
        advantages = self.controller.step(
            vectors.reshape(kinds * QUESTIONS, GROUP, -1)
        ).advantages.reshape(chosen.shape)
        advantages = advantages * _per_token(1 + self.task.calls[chosen], self.settings.loss)
        taken = np.eye(ways)[chosen]
        gradient = (advantages[..., None] * (taken - policy[:, None, None])).mean(axis=(1, 2))
        return self.controller.learning_rate_factor, gradient

    def evaluate(self, step: int) -> dict[str, Any]:
        policy = self.policy()
        outcome = self.task.outcome(policy)
        self.controller.observe(self._mean_rewards(policy, outcome))
        return {
            "step": step,
            "accuracy": float(outcome[0]),
            "economy": float(outcome[1]),
            "calls": self.task.calls_of(policy),
            "hypervolume": self.task.hypervolume(outcome),
        }

    def _mean_rewards(self, policy: Floats, outcome: Floats) -> Floats:
        if self.task.saved is None:
            return outcome
        return np.concatenate([outcome[:1], (policy @ self.task.saved).mean(axis=0)])


class _Rewards:
    """Reward vectors of answers, economy in the task's unit."""

    def __init__(self, task: TabularTask, config: RunConfig, unit: Unit, scale: float) -> None:
        self._task, self._unit, self._scale = task, unit, scale
        economy, rewards = make_economy(config.objective("calls")), config.rewards
        assert economy is not None  # of no method is calls raw
        self._economy = economy
        self._minima = CostMinimum(scope=rewards.n_opt_scope, min_support=rewards.n_opt_min_support)

    def draw(
        self,
        chosen: NDArray[np.int64],
        right: NDArray[np.bool_],
        step: int,
        rng: np.random.Generator,
    ) -> Floats:
        """(kinds, questions, group, objectives), larger is better."""
        if self._task.saved is not None:
            noise = NOISE * rng.standard_normal((*chosen.shape, self._task.saved.shape[1]))
            return np.concatenate([right[..., None], self._task.saved[chosen] + noise], axis=-1)
        calls = self._task.calls[chosen]
        if self._unit == "calls":
            economy = self._by_calls(calls, right, step)
        else:
            economy = -self._scale * draw_cost(self._unit, calls, rng)
        return np.stack([right, economy], axis=-1)

    def _by_calls(self, calls: NDArray[np.int64], right: NDArray[np.bool_], step: int) -> Floats:
        economy = np.empty(calls.shape)
        for kind, question in np.ndindex(calls.shape[:2]):
            name = f"{kind}-{(step * QUESTIONS + question) % PER_KIND}"
            group = kind, question
            self._minima.update(name, calls[group], right[group])
            economy[group] = self._economy(calls[group], self._minima.n_opt(name))
        return economy


def draw_cost(unit: Unit, calls: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    """Draw the cost of answers with so many calls: hundredths of a second, tokens, dollars."""
    noise = rng.standard_normal(calls.shape)
    if unit == "seconds":
        spent: Floats = 0.01 + 0.02 * calls + 0.002 * noise
    elif unit == "tokens":
        spent = (150.0 + 250.0 * calls) * np.exp(noise - 0.5)
    elif unit == "dollars":
        spent = 1e-4 * (1.0 + calls) * np.exp(0.3 * noise)
    else:
        raise ValueError(f'unit must be "seconds", "tokens" or "dollars", got {unit!r}')
    return spent


def _per_token(lengths: NDArray[np.int64], loss: str) -> Floats:
    """Factors by the loss's divisor: a mean over tokens weighs an answer by its length's inverse.

    An answer is as long as its calls and one more; the choice that the policy learns is one token.
    """
    if loss == "grpo":
        weights: Floats = 1.0 / lengths
    elif loss in ("dapo", "bnpo"):
        weights = np.full(lengths.shape, 1.0 / lengths.mean())
    else:  # a constant
        weights = np.ones(lengths.shape)
    return weights


def _make_rewards(task: TabularTask, config: RunConfig, seed: int) -> _Rewards:
    unit, scale = task.unit, 1.0
    if unit == "any":
        rng = np.random.default_rng([seed, 1])
        unit = ("seconds", "tokens", "dollars")[seed % 3]
        scale = float(10.0 ** rng.uniform(-3.0, 3.0))
    return _Rewards(task, config, unit, scale)


def _make_controller(task: TabularTask, config: RunConfig, steps: int) -> ParetoPO:
    """Each of several economies has the floor and reference of calls, and a part of its weight."""
    economies = task.objectives - 1
    told = config.paretopo
    first, calls = told.weights
    switches = replace(
        told,
        weights=(first, *[calls / economies] * economies),
        floors=told.gated_floors * economies,
        references=(told.reference_point[0], *[told.reference_point[1]] * economies),
    )
    return ParetoPO(switches, steps_per_epoch=PER_KIND // QUESTIONS, steps=steps)


class _Adam:
    """Kingma & Ba (2015)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._mean, self._square, self._steps = np.zeros(shape), np.zeros(shape), 0

    def step(self, gradient: Floats) -> Floats:
        self._steps += 1
        self._mean = 0.9 * self._mean + 0.1 * gradient
        self._square = 0.999 * self._square + 0.001 * gradient**2
        mean = self._mean / (1 - 0.9**self._steps)
        square = self._square / (1 - 0.999**self._steps)
        move: Floats = LEARNING_RATE * mean / (np.sqrt(square) + 1e-8)
        return move


class _Ascent:
    """The gradient itself."""

    def step(self, gradient: Floats) -> Floats:
        return 40.0 * LEARNING_RATE * gradient
