"""Tabular tasks: the probability that each way to answer is right, and its costs.

A policy for such a task is a table, too. Its score is therefore an exact expectation, and a
training takes a second.

>>> task = make_calling_task("sums", "", needed=[0, 2], right=[0.9, 0.8], guess=[0.0, 0.3])
>>> corner = task.best_policy("hypervolume")
>>> task.outcome(corner).round(3)  # accuracy, economy
array([0.85, 0.8 ])
>>> task.score(corner, "hypervolume"), task.score(corner, "preference")
(1.0, 1.0)
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Measure = Literal["hypervolume", "preference"]
RIGHT, SAVED = 0.6, 0.4  # the preference that every method gets
CHANGE = 200  # the last step before the change of a task that changes
_MOST_POLICIES = 10**6  # limit of the exhaustive search for the best
GROUP = 8  # answers to a question, as in the paper


@dataclass(frozen=True)
class Unit:
    """Converts a cost of the table to the charge of an answer.

    Attributes:
        base: Charged for every answer.
        slope: Charged for each unit of the table; one number, or one for each cost.
        noise: "normal" in units of the table, or "lognormal" around the charge. Both keep the mean,
            except that charges below 0 become 0.
        sigma: Standard deviation of the noise.
    """

    base: float = 0.0
    slope: float | tuple[float, ...] = 1.0
    noise: Literal["none", "normal", "lognormal"] = "none"
    sigma: float = 0.0

    def draw(self, cost: Floats, rng: np.random.Generator) -> Floats:
        """Draw the charges of answers, (..., costs)."""
        noise = 0.0 if self.noise == "none" else self.sigma * rng.standard_normal(cost.shape)
        if self.noise == "lognormal":
            charged = (self.base + np.array(self.slope) * cost) * np.exp(noise - self.sigma**2 / 2)
        else:
            charged = self.base + np.array(self.slope) * (cost + noise)
        drawn: Floats = np.maximum(charged, 0.0)
        return drawn


@dataclass(frozen=True, eq=False)
class TabularTask:
    """Kinds of questions, answered in one of several ways.

    Attributes:
        name: Its key among the tasks.
        about: The effect that it isolates, in one line.
        success: (kinds, ways) probability that an answer of that way is right.
        cost: (ways, costs) of an answer of that way, or (kinds, ways, costs) where kinds differ.
        most: (costs,) or (kinds, costs), the cost at which nothing is saved. Default: the greatest
            cost of the table, or of the kind.
        units: Units of the charges; the seed chooses one if there are several.
        counted: True if costs are counts: the reward is then the paper's economy unless a method
            sets another. Otherwise it is the negated charge.
        budget: The reward is the rest of this budget instead of the negated charge.
        scaled: Charges are times a power of ten, from a thousandth to a thousand, that the seed
            draws.
        later: (kinds, ways) the success after step `CHANGE`, if it changes.
        rows: (kinds,) the row of the policy that answers a kind, if kinds share rows.
        start: (ways,) logits that the policy starts from, before the seed's noise.
        group: Answers to each question.
        parts: Number of parts of an answer. Each is right with the probability of the table; the
            reward is the share of right parts.
        named: True if questions name their kind, so that each kind has a price of its own.
    """

    name: str
    about: str
    success: Floats
    cost: Floats
    most: Floats
    units: tuple[Unit, ...] = (Unit(),)
    counted: bool = False
    budget: float | None = None
    scaled: bool = False
    later: Floats | None = None
    rows: NDArray[np.int64] | None = None
    start: Floats | None = None
    group: int = GROUP
    parts: int = 1
    named: bool = False

    @property
    def objectives(self) -> int:
        """Numbers in a reward vector: correctness and the economies."""
        return 1 + int(self.cost.shape[-1])

    @property
    def ways(self) -> int:
        """Number of ways to answer a question."""
        return int(self.cost.shape[-2])

    @property
    def costs(self) -> Floats:
        """(kinds, ways, costs) of an answer of that way."""
        return np.broadcast_to(self.cost, (len(self.success), *self.cost.shape[-2:]))

    @property
    def policy_rows(self) -> NDArray[np.int64]:
        """(kinds,) the row of the policy that answers a kind."""
        return np.arange(len(self.success)) if self.rows is None else self.rows

    @property
    def saved(self) -> Floats:
        """(kinds, ways, costs) share of each cost that an answer of that way saves."""
        share: Floats = 1.0 - self.costs / np.atleast_2d(self.most)[:, None]
        return share

    def success_at(self, step: int) -> Floats:
        """Return the success of answers in a step, with shape (kinds, ways)."""
        return self.success if self.later is None or step <= CHANGE else self.later

    def outcome(self, policy: ArrayLike, step: int = 0) -> Floats:
        """Return the expected accuracy and economy, whatever unit the rewards had.

        Args:
            policy: (rows, ways) probabilities.
            step: Of the training, for tasks that change.

        Returns:
            Economy is the share of the cost that is saved; with several costs, the expected volume
            of one answer, ``E[right * product of the shares]``: each answer counts for itself, as a
            mixture of extremes is no compromise.
        """
        chosen = np.asarray(policy, np.float64)[self.policy_rows]
        success = self.success_at(step)
        right = (chosen * success).sum(axis=1).mean()
        if self.objectives > 2:
            economy = (chosen * success * self.saved.prod(axis=-1)).sum(axis=1).mean()
        else:
            economy = (chosen * self.saved[..., 0]).sum(axis=1).mean()
        return np.array([right, economy])

    def cost_of_answers(self, chosen: NDArray[np.int64]) -> Floats:
        """Return the costs of answers in the ways `chosen`, (kinds, ...), with shape (kinds, ...,
        costs).
        """
        kinds = np.arange(len(chosen)).reshape(-1, *(1 for _ in chosen.shape[1:]))
        paid: Floats = self.costs[kinds, chosen]
        return paid

    def cost_of(self, policy: ArrayLike) -> float:
        """Expected first cost per question, as the table has it."""
        chosen = np.asarray(policy, np.float64)[self.policy_rows]
        return float((chosen * self.costs[..., 0]).sum(axis=1).mean())

    def score(self, policy: ArrayLike, measure: Measure, step: int = 0) -> float:
        """Return the score of a policy as a share of the best policy's.

        Args:
            policy: (rows, ways) probabilities.
            measure: "hypervolume": the volume between the outcome and a reference, with the
                accuracy of the cheapest way and no economy. With several costs it is the expected
                volume of one answer. "preference": ``E[right * (0.6 + 0.4 * share saved)]``, the
                preference that every method gets; the mean over several costs.
            step: Training step, for tasks that change.
        """
        chosen = np.asarray(policy, np.float64)
        return self._value(chosen, measure, step) / self._best(measure, self._is_later(step))[1]

    def best_policy(self, measure: Measure, step: int = 0) -> Floats:
        """(rows, ways) the policy of the highest score, one way for each row."""
        return self._best(measure, self._is_later(step))[0].copy()

    def _is_later(self, step: int) -> bool:
        return self.later is not None and step > CHANGE

    def _value(self, policy: Floats, measure: Measure, step: int) -> float:
        if measure == "preference":
            worth = self.success_at(step) * (RIGHT + SAVED * self.saved.mean(axis=-1))
            return float((policy[self.policy_rows] * worth).sum(axis=1).mean())
        right, economy = self.outcome(policy, step)
        if self.objectives > 2:
            return float(economy)
        return float(max(right - self._cheapest(step), 0.0) * economy)

    def _cheapest(self, step: int) -> float:
        """Accuracy of a policy that always answers the cheapest way."""
        way = self.costs[..., 0].argmin(axis=1)
        return float(self.success_at(step)[np.arange(len(way)), way].mean())

    @functools.cache  # noqa: B019 - tasks live as long as the program
    def _best(self, measure: Measure, later: bool) -> tuple[Floats, float]:
        rows, ways = int(self.policy_rows.max()) + 1, self.ways
        step = CHANGE + 1 if later else 0
        each = np.eye(ways)
        best = each[np.zeros(rows, np.int64)]
        if measure == "preference" or self.objectives > 2:
            # A sum over rows: each has a best way of its own.
            for row, way in itertools.product(range(rows), range(ways)):
                tried = best.copy()
                tried[row] = each[way]
                if self._value(tried, measure, step) > self._value(best, measure, step):
                    best = tried
            return best, self._value(best, measure, step)
        assert ways**rows <= _MOST_POLICIES
        chosen = np.array(list(itertools.product(range(ways), repeat=rows)))[:, self.policy_rows]
        success, kinds = self.success_at(step), np.arange(len(self.success))
        right = success[kinds, chosen].mean(axis=1)
        economy = self.saved[kinds, chosen, 0].mean(axis=1)
        found = chosen[(np.maximum(right - self._cheapest(step), 0.0) * economy).argmax()]
        for kind, row in enumerate(self.policy_rows):
            best[row] = each[found[kind]]
        return best, self._value(best, measure, step)


def make_calling_task(
    name: str,
    about: str,
    *,
    needed: Sequence[int],
    right: Sequence[float],
    guess: Sequence[float],
    later: Sequence[int] | None = None,
    harm: float = 0.0,
    unit: Unit | Sequence[Unit] | None = None,
    **more: Any,
) -> TabularTask:
    """Make a task whose kinds need given numbers of calls, five at most.

    Args:
        name: Its key.
        about: The effect that it isolates.
        needed: (kinds,) calls that an answer needs.
        right: (kinds,) probability of being right with them.
        guess: (kinds,) probability of being right with fewer.
        later: (kinds,) calls that an answer needs after the change of the task.
        harm: Share of the probability that each needless call takes away.
        unit: Unit of the charges, or units to choose from; None charges the number of calls.
        more: See `TabularTask`.
    """
    calls = np.arange(6)

    def succeed(needed: Sequence[int]) -> Floats:
        spare = calls - np.array(needed)[:, None]
        enough = np.array(right)[:, None] * (1.0 - harm) ** np.maximum(spare, 0)
        return np.where(spare >= 0, enough, np.array(guess)[:, None])

    units = (unit,) if isinstance(unit, Unit) else (Unit(),) if unit is None else tuple(unit)
    changed = None if later is None else succeed(later)
    own: dict[str, Any] = {"units": units, "counted": unit is None, "later": changed}
    return make_task(name, about, succeed(needed), calls[:, None], **own, **more)


def make_task(
    name: str,
    about: str,
    success: ArrayLike,
    cost: ArrayLike,
    most: ArrayLike | None = None,
    **more: Any,
) -> TabularTask:
    """Make a task from array-likes; see `TabularTask`."""
    costs = np.array(cost, np.float64)
    whole = costs.max(axis=-2) if most is None else np.array(most, np.float64)
    return TabularTask(name, about, np.array(success, np.float64), costs, whole, **more)


def redraw(task: TabularTask, name: str, seed: int, *, named: bool) -> TabularTask:
    """Return a task of the same kind with other numbers.

    Every kind gets another factor on its odds of a right answer, and every way another factor on
    its costs above the cheapest.

    Args:
        task: The task to start from.
        name: Name of the new task.
        seed: Seed of the factors.
        named: See `TabularTask`.
    """
    rng = np.random.default_rng([seed, *task.name.encode()])
    factors = np.exp(0.3 * rng.standard_normal((len(task.success), 1)))
    spread = np.exp(0.2 * rng.standard_normal((task.ways, 1)))

    def change(success: Floats) -> Floats:
        odds: Floats = factors * success / (1.0 - success)
        return odds / (1.0 + odds)

    least = task.cost.min(axis=-2, keepdims=True)
    cost = least + spread * (task.cost - least)
    return replace(
        task,
        name=name,
        success=change(task.success),
        later=None if task.later is None else change(task.later),
        cost=cost,
        most=np.maximum(task.most, cost.max(axis=-2)),
        counted=False,
        named=named,
    )


def make_tools_or_text_task(
    name: str, about: str, saved: Sequence[Sequence[float]], right: float, lazy: float
) -> TabularTask:
    """Answers that spend calls, or text, and one way that spends neither and is mostly wrong."""
    shares = np.array([*saved, [1.0] * len(saved[0])])
    return make_task(
        name,
        about,
        [[right] * len(saved) + [lazy]] * 4,
        1.0 - shares,
        np.ones(shares.shape[1]),
        units=(Unit(noise="normal", sigma=0.03),),
        budget=1.0,
    )
