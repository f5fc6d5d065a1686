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

from paretopo.rewards.learnt_costs import CostMinimum, shorten

Economy: TypeAlias = Callable[[ArrayLike, float | None], NDArray[np.float64]]


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
        self._minima = self._new_minima()
        self._prompts: list[str] = []
        # For each evaluation, (questions,) of each cost, NaN if it does not apply, in the smallest
        # type that holds them: only these arrays grow with a run.
        self._costs: list[list[NDArray[Any]]] = []
        self._solved: list[NDArray[np.bool_]] = []

    def add(self, prompt_ids: Sequence[str], costs: ArrayLike, solved: ArrayLike) -> bool:
        """Record an evaluation.

        Args:
            prompt_ids: (questions,) the same in every evaluation, in any order, without duplicates.
            costs: (questions, costs) of each answer, at least 0; NaN if one does not apply. Costs
                that are not whole are rounded to six digits.
            solved: (questions,) was the answer right?

        Returns:
            True if it changes the score of an earlier evaluation.

        Raises:
            ValueError: Other questions than before, a duplicate, lengths that differ, or costs that
                are negative.
        """
        prompts = list(prompt_ids)
        values, right = _round(np.asarray(costs, np.float64)), np.asarray(solved, np.bool_)
        shape = (len(prompts), len(self._economies))
        if values.shape != shape or right.shape != shape[:1]:
            raise ValueError(
                f"costs must have shape {shape} and solved one entry per question, got "
                f"{values.shape} and {right.shape}"
            )
        if len(set(prompts)) != len(prompts):
            raise ValueError("held-out questions must differ, got one twice")
        if self._prompts and set(prompts) != set(self._prompts):
            strange = sorted(set(prompts) ^ set(self._prompts))[:3]
            raise ValueError(f"every evaluation needs the same questions; these differ: {strange}")
        place = {name: at for at, name in enumerate(prompts)}
        order = [place[name] for name in self._prompts or prompts]
        known, before = self._prompts or prompts, self._minima
        after = self._new_minima()
        for mine, theirs in zip(after, before, strict=True):
            mine.load_state_dict(theirs.state_dict())
        _learn(after, known, values[None, order], right[None, order])
        changed = self._has_changed(known, before, after)
        self._minima, self._prompts = after, known
        self._costs.append(_compress_columns(values[order]))
        self._solved.append(right[order])
        return changed

    def economies(self, latest: int | None = None) -> NDArray[np.float64]:
        """Return (evaluations, questions, costs) economies of every answer, by current knowledge.

        Questions keep the order of the first evaluation; NaN if a cost does not apply.

        Args:
            latest: Only for this many evaluations, the last ones.
        """
        rows = self._costs if latest is None else self._costs[-latest:]
        costs = self._stack(rows)
        values = np.empty(costs.shape)
        for kind, (economy, minimum) in enumerate(
            zip(self._economies.values(), self._minima, strict=True)
        ):
            for at, name in enumerate(self._prompts):
                values[:, at, kind] = _compute_economies(
                    economy, costs[:, at, kind], minimum.n_opt(name)
                )
        return values

    def solved(self) -> NDArray[np.bool_]:
        """Return (evaluations, questions) bool: which answers were right."""
        return np.array(self._solved, np.bool_).reshape(len(self._solved), len(self._prompts))

    @property
    def prompts(self) -> tuple[str, ...]:
        """Return the questions, in the order of the first evaluation."""
        return tuple(self._prompts)

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
                name: [_to_json(one) for one in self._costs[-1][at].tolist()]
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
        self._minima, self._costs, self._solved = self._new_minima(), [], []
        for one in answers[:count]:
            solved = np.array([mark == "1" for mark in one["solved"]], np.bool_)
            rows = [one["costs"][name] for name in self._economies]
            values = np.array(rows, np.float64).reshape(len(rows), len(solved)).T  # None is NaN
            self._costs.append(_compress_columns(_round(values)))
            self._solved.append(solved)
        if count:
            _learn(self._minima, self._prompts, self._stack(self._costs), self.solved())

    def _stack(self, rows: Sequence[Sequence[NDArray[Any]]]) -> NDArray[np.float64]:
        """Stack evaluations into an array of shape (evaluations, questions, costs)."""
        costs = np.array([[column.astype(np.float64) for column in row] for row in rows])
        shape = (len(rows), len(self._economies), len(self._prompts))
        return costs.reshape(shape).swapaxes(1, 2)

    def _new_minima(self) -> list[CostMinimum]:
        return [CostMinimum() for _ in self._economies]

    def _has_changed(
        self, prompts: Sequence[str], before: Sequence[CostMinimum], after: Sequence[CostMinimum]
    ) -> bool:
        for kind, economy in enumerate(self._economies.values()):
            for at, name in enumerate(prompts):
                old, new = before[kind].n_opt(name), after[kind].n_opt(name)
                if old == new:
                    continue
                costs = np.array([row[kind][at] for row in self._costs], np.float64)
                before_it, after_it = (
                    _compute_economies(economy, costs, fewest) for fewest in (old, new)
                )
                if not np.array_equal(before_it, after_it, equal_nan=True):
                    return True
        return False


def _learn(
    minima: Sequence[CostMinimum],
    prompts: Sequence[str],
    costs: NDArray[np.float64],
    solved: NDArray[np.bool_],
) -> None:
    """Update the minima from (evaluations, questions, costs) and (evaluations, questions)."""
    for kind, minimum in enumerate(minima):
        for at, name in enumerate(prompts):
            known = ~np.isnan(costs[:, at, kind])
            if known.any():
                minimum.update(name, costs[known, at, kind], solved[known, at])


def _compute_economies(
    economy: Economy, costs: NDArray[np.float64], fewest: float | None
) -> NDArray[np.float64]:
    """Return the economies of the costs, with NaN for missing costs."""
    known = ~np.isnan(costs)
    values = np.full(costs.shape, np.nan)
    values[known] = economy(costs[known], fewest)
    return values


def _round(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round costs that are not whole to six digits, as float32 holds them: JSON restores them.

    More digits would exceed a clock's precision, in twice the space.
    """
    rounded = costs.copy()
    real = costs != np.floor(costs)  # NaN, too
    rounded[real] = [np.float32(f"{one:.6g}") for one in costs[real].tolist()]
    return rounded


def _compress_columns(costs: NDArray[np.float64]) -> list[NDArray[Any]]:
    """Return each column of (questions, costs) in the smallest type that holds it."""
    return [_narrow_dtype(column) for column in costs.T]


def _narrow_dtype(column: NDArray[np.float64]) -> NDArray[Any]:
    whole = np.isfinite(column).all() and (column == np.floor(column)).all()
    if column.size and whole and column.max() < 2**32:
        return column.astype(np.min_scalar_type(int(column.max())))
    narrow = column.astype(np.float32)
    return narrow if np.array_equal(narrow, column, equal_nan=True) else column.copy()


def _to_json(cost: float) -> float | None:
    return None if cost != cost else shorten(float(f"{cost:.6g}") if cost % 1 else float(cost))
