"""The outcome of a held-out evaluation: the mean of its gated reward vectors."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.config import RunConfig
from paretopo.controller.gate import apply_gate
from paretopo.controller.reward_vectors import fill_missing

Floats = NDArray[np.float64]


class Outcomes:
    """Turns the reward vectors of an evaluation into its outcome, as a run's configuration says.

    ``reference`` is the controller's, (objectives,) with NaN before it is known. An objective that
    applies to no question has its value, which is no gain.

    >>> from paretopo.config import loads
    >>> outcomes = Outcomes(loads(""))
    >>> vectors = np.array([[1.0, 0.5], [0.0, 1.0]])  # a wrong answer saves nothing
    >>> outcomes.average(vectors, np.zeros(2)).tolist()
    [0.5, 0.25]
    """

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    def average(self, vectors: Floats, reference: Floats) -> Floats:
        """Return (objectives,) means of (rollouts, objectives) rewards after the gate."""
        judged = ~np.isnan(vectors[:, 0])
        gated = self.gate(self.fill(vectors, reference), reference, judged)
        means: Floats = gated.mean(axis=0)
        return means

    def fill(self, vectors: Floats, reference: Floats) -> Floats:
        """Return (rollouts, objectives) rewards without NaN."""
        return fill_missing(vectors, np.nan_to_num(reference))

    def fill_group(self, vectors: Floats, reference: Floats) -> Floats:
        """Return the rewards of a training group without NaN: the best reward is neutral."""
        best = np.array([one.best for one in self._config.objectives], np.float64)  # None is NaN
        neutral = np.nan_to_num(reference)
        if self._config.paretopo.gate == "success":  # a group without a gate counts as right
            neutral[0] = self._config.paretopo.threshold + 1.0
        return fill_missing(vectors, np.where(np.isnan(best), neutral, best))

    def gate(self, vectors: ArrayLike, reference: Floats, judged: ArrayLike = True) -> Floats:
        """Return (rollouts, objectives) rewards after the gate, which applies to `judged` ones.

        The floor "worst" is the reference: the worst answer of an evaluation depends on the policy,
        so a policy that never pays would gain by its wrong answers. If the first outcome is the
        reference, "worst" is that of all answers.
        """
        switches = self._config.paretopo
        gate: Literal["success", "none"] = "success" if self._config.gates_outcomes else "none"
        is_fixed = switches.reference != "initial"
        floors = [
            float(least) if floor == "worst" and is_fixed else floor
            for floor, least in zip(switches.gated_floors, reference[1:], strict=True)
        ]
        rewards = np.array(vectors, np.float64)
        gated = apply_gate(rewards, gate, floors, threshold=switches.threshold)
        return np.where(np.asarray(judged)[..., None], gated, rewards)

    def find_bounds(self, vectors: Floats) -> Floats | None:
        """Return (objectives,) worst rewards of an evaluation, NaN for those with a bound.

        None for an evaluation without rollouts, or if the first outcome is the reference.
        """
        if self._config.paretopo.reference == "initial" or not len(vectors):
            return None
        learnt = [one.learns_bound for one in self._config.objectives]
        return np.where(learnt, np.fmin.reduce(vectors, axis=0), np.nan)
