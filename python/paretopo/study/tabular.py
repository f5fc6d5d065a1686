"""Tasks that are tables: how often an answer with so many calls is right, and what it costs.

A policy for such a task is a table too, so what it is worth is an exact expectation, and a training
takes a fraction of a second. Each task isolates one thing that decides between methods.

>>> task = TASKS["lucky"]
>>> corner = task.best()
>>> task.outcome(corner).round(3)  # accuracy, economy
array([0.7  , 0.767])
>>> task.hypervolume(task.outcome(corner))
1.0
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Unit = Literal["calls", "seconds", "tokens", "dollars", "any", "volume"]


@dataclass(frozen=True, eq=False)
class TabularTask:
    """Kinds of questions, answered in one of several ways.

    Attributes:
        name: Its key in `TASKS`.
        about: What it isolates, in one line.
        success: (kinds, ways) probability that an answer of that way is right.
        calls: (ways,) tool calls of an answer of that way.
        unit: In what the policy is paid for economy. "calls": the paper's ``exp(-alpha d)``;
            "seconds", "tokens" (heavy-tailed) and "dollars": the raw cost, negated, with noise;
            "any": one of these and a power of ten as the seed has it; "volume": the two economies
            of ``saved``, with noise.
        saved: (ways, economies) what an answer of that way saves, from 0 to 1, where there are
            several economies; else None.
    """

    name: str
    about: str
    success: Floats
    calls: NDArray[np.int64]
    unit: Unit
    saved: Floats | None = None

    @property
    def objectives(self) -> int:
        """Numbers in a reward vector: correctness and the economies."""
        return 2 if self.saved is None else 1 + self.saved.shape[1]

    def outcome(self, policy: ArrayLike) -> Floats:
        """(accuracy, economy) in expectation, whatever the unit that was paid.

        Args:
            policy: (kinds, ways) probabilities.

        Returns:
            Economy is ``1 - calls / most calls``; with several economies, the expected volume of
            one answer, ``E[right * product of what it saves]``: each answer counts for itself, as
            a mixture of extremes is no compromise.
        """
        chosen = np.asarray(policy, np.float64)
        right = (chosen * self.success).sum(axis=1).mean()
        if self.saved is not None:
            volume = (chosen * self.success) @ self.saved.prod(axis=1)
            return np.array([right, volume.mean()])
        calls = (chosen @ self.calls).mean()
        return np.array([right, 1.0 - calls / self.calls.max()])

    def calls_of(self, policy: ArrayLike) -> float:
        """Expected calls per question."""
        return float((np.asarray(policy, np.float64) @ self.calls).mean())

    def hypervolume(self, outcome: ArrayLike) -> float:
        """The hypervolume of a policy, as a share of the best.

        The volume between the outcome and (accuracy of a policy that never calls, no economy): what
        the tool adds. With several economies, the expected volume of one answer.

        Args:
            outcome: (2,) as `outcome` gives it.
        """
        accuracy, economy = (float(value) for value in np.asarray(outcome))
        if self.saved is not None:
            return economy / float(self.outcome(self.best())[1])
        return max(accuracy - self._without_calls(), 0.0) * economy / self._best_volume()

    def best(self) -> Floats:
        """(kinds, ways) the policy of the greatest hypervolume, one way for each kind."""
        return self._best()[0].copy()

    def _without_calls(self) -> float:
        return float(self.success[:, np.argmin(self.calls)].mean())

    def _best_volume(self) -> float:
        return self._best()[1]

    @functools.cache  # noqa: B019 - tasks live as long as the program
    def _best(self) -> tuple[Floats, float]:
        kinds, ways = self.success.shape
        if self.saved is not None:
            volume = self.success * self.saved.prod(axis=1)
            return np.eye(ways)[volume.argmax(axis=1)], float(volume.max(axis=1).mean())
        chosen = np.array(list(itertools.product(range(ways), repeat=kinds)))
        right = self.success[np.arange(kinds), chosen].mean(axis=1)
        economy = 1.0 - self.calls[chosen].mean(axis=1) / self.calls.max()
        volume = np.maximum(right - self._without_calls(), 0.0) * economy
        best = int(volume.argmax())
        return np.eye(ways)[chosen[best]], float(volume[best])


def make_calling_task(
    name: str,
    about: str,
    *,
    needed: Sequence[int],
    right: Sequence[float],
    guess: Sequence[float],
    harm: float = 0.0,
    unit: Unit = "calls",
    most: int = 5,
) -> TabularTask:
    """A task whose kinds need so many calls.

    Args:
        name: Its key.
        about: What it isolates.
        needed: (kinds,) calls that an answer needs.
        right: (kinds,) probability of being right with them.
        guess: (kinds,) probability of being right with fewer.
        harm: Share of the probability that each needless call takes away.
        unit: See `TabularTask`.
        most: Most calls of an answer.
    """
    calls = np.arange(most + 1)
    spare = calls - np.array(needed)[:, None]
    enough = np.array(right)[:, None] * (1.0 - harm) ** np.maximum(spare, 0)
    success = np.where(spare >= 0, enough, np.array(guess)[:, None])
    return TabularTask(name, about, success, calls, unit)


def make_tools_or_text_task(name: str, about: str, saved: Sequence[Sequence[float]]) -> TabularTask:
    """Answers that spend calls, or text, and one way that spends neither and is mostly wrong."""
    economies = np.array([*saved, [1.0] * len(saved[0])])
    success = np.array([[0.8] * len(saved) + [0.05]] * 4)
    calls = np.arange(len(economies))[::-1].copy()
    return TabularTask(name, about, success, calls, "volume", economies)


# ---- the tasks that are reported ----------------------------------------------------------------

_NEEDED = (0, 1, 1, 2, 3, 0)
_RIGHT = (0.9, 0.85, 0.8, 0.75, 0.7, 0.2)
_SURE = (0.0, 0.02, 0.02, 0.02, 0.02, 0.0)
_LUCKY = (0.0, 0.4, 0.45, 0.3, 0.3, 0.0)


def _reported_tasks() -> list[TabularTask]:
    task = functools.partial(make_calling_task, needed=_NEEDED, right=_RIGHT)
    return [
        task("free", "leanness costs no accuracy", guess=_SURE),
        task("lucky", "guesses without a call are often right", guess=_LUCKY),
        task("overcalling", "and each needless call harms", guess=_LUCKY, harm=0.12),
        task("seconds", "lucky, paid in raw seconds", guess=_LUCKY, unit="seconds"),
        task("tokens", "lucky, paid in heavy-tailed tokens", guess=_LUCKY, unit="tokens"),
        task("dollars", "lucky, paid in raw dollars", guess=_LUCKY, unit="dollars"),
        task("any_unit", "lucky, another unit in each run", guess=_LUCKY, unit="any"),
        make_tools_or_text_task(
            "concave",
            "three objectives; no fixed weights reach the compromises",
            [(0.95, 0.0), (0.75, 0.15), (0.5, 0.45), (0.15, 0.75), (0.0, 0.95)],
        ),
    ]


# ---- the tasks on which settings were chosen ----------------------------------------------------


def _tuning_tasks() -> list[TabularTask]:
    task = functools.partial(
        make_calling_task, needed=(0, 1, 2, 3, 0), right=(0.85, 0.8, 0.8, 0.75, 0.3), most=4
    )
    lucky = (0.0, 0.45, 0.35, 0.25, 0.0)
    return [
        task("tune_free", "as free", guess=(0.0, 0.05, 0.05, 0.05, 0.0)),
        task("tune_lucky", "as lucky", guess=lucky),
        task("tune_overcalling", "as overcalling", guess=lucky, harm=0.15),
        task("tune_any_unit", "as any_unit", guess=lucky, unit="any"),
        make_tools_or_text_task(
            "tune_concave",
            "as concave",
            [(1.0, 0.0), (0.7, 0.2), (0.45, 0.45), (0.2, 0.7), (0.0, 1.0)],
        ),
    ]


TASKS: dict[str, TabularTask] = {task.name: task for task in [*_reported_tasks(), *_tuning_tasks()]}
