"""The whole brain on a policy small enough to train in a second: rewards, controller, archive."""

from __future__ import annotations

import numpy as np
import pytest

from paretopo.config import ParetoPOConfig
from paretopo.controller.two_stages import ParetoPO
from paretopo.rewards.economy import tool_economy
from paretopo.rewards.learnt_costs import CostMinimum

NEEDED = np.array([0, 1, 2])  # calls each kind of question needs
CALLS = np.arange(5)
SOLVES = np.where(NEEDED[:, None] <= CALLS, 0.95, 0.1)  # (kinds, calls)
GROUPS, POINTS = 12, 8


class Toy:
    """A softmax over 0 to 4 calls per kind of question, warmed up to call needlessly."""

    def __init__(self, seed: int, **switches: object) -> None:
        self.logits = np.tile(np.array([0.0, 0.5, 1.0, 1.0, 0.5]), (3, 1))
        self.rng = np.random.default_rng(seed)
        self.controller = ParetoPO(ParetoPOConfig(**({"stage1_steps": 40} | switches)))
        self.calls, self.held_out = CostMinimum(), CostMinimum()
        self.controller.observe(self.outcome())

    @property
    def policy(self) -> np.ndarray:
        weights = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def accuracy(self) -> float:
        return float((self.policy * SOLVES).sum(axis=1).mean())

    @property
    def calls_per_question(self) -> float:
        return float((self.policy @ CALLS).mean())

    def outcome(self) -> np.ndarray:
        """Mean gated reward vector of a few answers to held-out questions."""
        kinds = np.arange(24) % 3
        chosen = np.array([self.rng.choice(5, p=self.policy[kind]) for kind in kinds])
        solved = self.rng.random(24) < SOLVES[kinds, chosen]
        vectors = []
        for question in range(24):
            name, own = f"held-out {question}", slice(question, question + 1)
            self.held_out.update(name, chosen[own], solved[own])
            economy = tool_economy(chosen[own], self.held_out.n_opt(name))[0]
            vectors.append([float(solved[question]), economy])
        return self.controller.gate(vectors).mean(axis=0)

    def step(self) -> None:
        kinds = self.rng.integers(0, 3, GROUPS)
        chosen = np.array([self.rng.choice(5, POINTS, p=self.policy[kind]) for kind in kinds])
        solved = self.rng.random((GROUPS, POINTS)) < SOLVES[kinds[:, None], chosen]
        economy = np.empty((GROUPS, POINTS))
        for group, kind in enumerate(kinds):
            self.calls.update(f"kind {kind}", chosen[group], solved[group])
            economy[group] = tool_economy(chosen[group], self.calls.n_opt(f"kind {kind}"))
        rewards = np.stack([solved.astype(float), economy], axis=-1)
        advantages = self.controller.step(rewards).advantages
        gradient = np.zeros_like(self.logits)
        for group, kind in enumerate(kinds):
            scores = np.eye(5)[chosen[group]] - self.policy[kind]
            gradient[kind] += advantages[group] @ scores
        factor = self.controller.learning_rate_factor
        self.logits += 1.5 * factor * gradient / (GROUPS * POINTS)
        self.controller.observe(self.outcome())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("multiplier_on", ["advantage", "learning_rate"])
def test_it_learns_to_be_right_with_fewer_calls(seed, multiplier_on):
    toy = Toy(seed, multiplier_on=multiplier_on)
    accuracy, calls = toy.accuracy, toy.calls_per_question
    for _ in range(150):
        toy.step()
    assert toy.controller.stage == 2
    assert toy.accuracy >= accuracy + 0.09
    assert toy.calls_per_question <= 0.75 * calls
    assert len(toy.controller.archive.points) >= 1
