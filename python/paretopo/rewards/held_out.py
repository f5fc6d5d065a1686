"""Every held-out evaluation, scored by current knowledge of costs.

Training only gradually finds the fewest calls that solve a question. Scored once, the initial
policy would set the optimum itself and appear perfectly economical. This module keeps its calls,
and scores all evaluations again against the fewest calls of all. Other costs with such an economy
work in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.rewards.learnt_costs import shorten

Floats: TypeAlias = NDArray[np.float64]
Economy: TypeAlias = Callable[[ArrayLike, float | None], Floats]


class HeldOut:
    """The costs of all evaluations on the same held-out questions, one answer per question.

    Args:
        economies: For each cost ``f(costs, n_opt)``, the economy of answers to one question.

    >>> from paretopo.rewards.economy import tool_economy
    >>> held_out = HeldOut({"calls": tool_economy})
    >>> held_out.add(["q"], costs=[[3]], solved=[True])
    False
    >>> held_out.economies().tolist()  # the only known cost is the best
    [[[1.0]]]
    >>> held_out.add(["q"], costs=[[1]], solved=[True])  # fewer than known so far
    True
    >>> held_out.economies().round(3).tolist()  # both evaluations, by current knowledge
    [[[0.247]], [[1.0]]]
    """

    def __init__(self, economies: Mapping[str, Economy]) -> None:
        self._economies = dict(economies)
        self._prompts: list[str] = []
        self._fewest: Floats = np.empty((0, 0))  # (questions, costs) of right answers; NaN for none
        # An array for each evaluation: (questions, costs), NaN if one does not apply; (questions,).
        self._costs: list[Floats] = []
        self._solved: list[NDArray[np.bool_]] = []

    def add(self, prompt_ids: Sequence[str], costs: ArrayLike, solved: ArrayLike) -> bool:
        """Record an evaluation.

        Args:
            prompt_ids: (questions,) the same in every evaluation, in the same order.
            costs: (questions, costs) of each answer, at least 0; NaN if one does not apply. Costs
                that are not whole are rounded to six digits.
            solved: (questions,) was the answer right?

        Returns:
            True if it changes the score of an earlier evaluation.

        Raises:
            ValueError: Other questions than before.
        """
        prompts = list(prompt_ids)
        if self._costs and prompts != self._prompts:
            strange = sorted(set(prompts) ^ set(self._prompts))[:3]
            raise ValueError(
                "every evaluation needs the same questions in the same order; these differ: "
                f"{strange}"
            )
        earlier, before, self._prompts = [*self._costs], self._fewest, prompts
        self._append(_round(np.asarray(costs, np.float64)), np.asarray(solved, np.bool_))
        if not earlier or np.array_equal(before, self._fewest, equal_nan=True):
            return False
        then, now = (self._score(earlier, fewest) for fewest in (before, self._fewest))
        return not np.array_equal(then, now, equal_nan=True)

    def economies(self, latest: int | None = None) -> Floats:
        """Return (evaluations, questions, costs) economies of every answer, by current knowledge.

        Questions keep their order; NaN if a cost does not apply.

        Args:
            latest: Only for this many evaluations, the last ones.
        """
        rows = self._costs if latest is None else self._costs[-latest:]
        return self._score(rows, self._fewest)

    def solved(self) -> NDArray[np.bool_]:
        """Return (evaluations, questions) bool: which answers were right."""
        return np.array(self._solved, np.bool_).reshape(len(self._solved), len(self._prompts))

    def __len__(self) -> int:
        """Number of evaluations."""
        return len(self._costs)

    def latest(self) -> dict[str, Any]:
        """Return the answers of the last evaluation, JSON-able: a few characters each.

        They belong in a file that grows with the run, so that checkpoints stay small.
        """
        columns = enumerate(self._economies)
        return {
            "solved": "".join("01"[int(one)] for one in self._solved[-1]),
            "costs": {
                name: [_to_json(one) for one in self._costs[-1][:, at].tolist()]
                for at, name in columns
            },
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the state in addition to :meth:`latest` of every evaluation; JSON-able.

        No part can be dropped: when the fewest calls of a question fall, a dominated evaluation may
        become non-dominated again.
        """
        return {"prompts": list(self._prompts), "evaluations": len(self)}

    def load_state_dict(
        self, state: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]
    ) -> None:
        """Continue from :meth:`state_dict`.

        Args:
            state: The result of `state_dict`.
            answers: The results of :meth:`latest` after each evaluation, also after the state.

        Raises:
            ValueError: There are fewer answers than the state needs.
        """
        count = int(state["evaluations"])
        if len(answers) < count:
            raise ValueError(
                f"the saved state has {count} evaluations, but only {len(answers)} "
                "have saved answers: resume in the folder of the run, with its answers.jsonl"
            )
        self._prompts = list(state["prompts"])
        self._costs, self._solved = [], []
        for one in answers[:count]:
            solved = np.array([mark == "1" for mark in one["solved"]], np.bool_)
            rows = [one["costs"][name] for name in self._economies]
            values = np.array(rows, np.float64).reshape(len(rows), len(solved)).T  # None is NaN
            self._append(_round(values), solved)

    def _append(self, costs: Floats, solved: NDArray[np.bool_]) -> None:
        right = np.where(solved[:, None], costs, np.nan)
        self._fewest = np.fmin(self._fewest, right) if self._costs else right
        self._costs.append(costs)
        self._solved.append(solved)

    def _score(self, rows: Sequence[Floats], fewest: Floats) -> Floats:
        """Return (evaluations, questions, costs) economies for (questions, costs) fewest costs."""
        costs = np.array(rows).reshape(len(rows), len(self._prompts), len(self._economies))
        values = np.full(costs.shape, np.nan)
        for kind, economy in enumerate(self._economies.values()):
            for at, few in enumerate(fewest[:, kind].tolist() if rows else ()):
                known = ~np.isnan(costs[:, at, kind])
                values[known, at, kind] = economy(
                    costs[known, at, kind], None if np.isnan(few) else few
                )
        return values


def _round(costs: Floats) -> Floats:
    """Round costs that are not whole to six digits, as float32 holds them: JSON restores them.

    More digits would exceed a clock's precision, in twice the space.
    """
    rounded = costs.copy()
    real = costs != np.floor(costs)  # NaN, too
    rounded[real] = [np.float32(f"{one:.6g}") for one in costs[real].tolist()]
    return rounded


def _to_json(cost: float) -> float | None:
    return None if cost != cost else shorten(float(f"{cost:.6g}") if cost % 1 else float(cost))
