"""Every held-out evaluation, scored by what is known today.

The fewest calls that solve a question become known only as training finds them. Scored once and
for all, the policy as it starts would set the optimum itself and pass for perfectly economical;
here its calls are kept, and all evaluations are scored anew against the fewest calls of them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo.rewards.tool_calls import CallMinimum, tool_economy

Economy: TypeAlias = Callable[[ArrayLike, int | None], NDArray[np.float64]]


class HeldOut:
    """All evaluations on the same held-out questions, one answer per question.

    Args:
        economy: ``f(calls, n_opt)``, the economy of answers to one question.
        min_support: as for :class:`CallMinimum`.

    >>> held_out = HeldOut()
    >>> held_out.add(["q"], calls=[3], solved=[True])
    >>> held_out.vectors()[0].tolist()  # the only one that is known: the best there is
    [[1.0, 1.0]]
    >>> held_out.add(["q"], calls=[1], solved=[True])
    >>> held_out.vectors().round(3).tolist()  # both evaluations, by what is known now
    [[[1.0, 0.247]], [[1.0, 1.0]]]
    """

    def __init__(self, *, economy: Economy = tool_economy, min_support: int = 1) -> None:
        self._economy = economy
        self._minimum = CallMinimum(min_support=min_support)
        self._prompts: list[str] = []
        self._calls: list[list[int]] = []
        self._solved: list[list[bool]] = []

    def add(self, prompt_ids: Sequence[str], calls: ArrayLike, solved: ArrayLike) -> None:
        """Take in an evaluation.

        Args:
            prompt_ids: (questions,) the same in every evaluation, in any order, no two alike.
            calls: (questions,) tool calls of each answer, integers of at least 0.
            solved: (questions,) was the answer right?

        Raises:
            ValueError: other questions than before, one twice, lengths that differ, or calls that
                are not integers of at least 0.
        """
        prompts = list(prompt_ids)
        counts, right = np.asarray(calls), np.asarray(solved)
        if not counts.shape == right.shape == (len(prompts),):
            raise ValueError(
                f"calls and solved must have one entry per question, ({len(prompts)},), got "
                f"{counts.shape} and {right.shape}"
            )
        if len(set(prompts)) != len(prompts):
            raise ValueError("held-out questions must differ, got one twice")
        if self._prompts and set(prompts) != set(self._prompts):
            strange = sorted(set(prompts) ^ set(self._prompts))[:3]
            raise ValueError(f"every evaluation needs the same questions; these differ: {strange}")
        minimum = CallMinimum(min_support=self._minimum.min_support)
        minimum.load_state_dict(self._minimum.state_dict())
        for name, count, success in zip(prompts, counts, right, strict=True):
            minimum.update(name, [count], [success])
        self._minimum = minimum
        self._prompts = self._prompts or prompts
        place = {name: at for at, name in enumerate(prompts)}
        order = [place[name] for name in self._prompts]
        self._calls.append([int(counts[at]) for at in order])
        self._solved.append([bool(right[at]) for at in order])

    def vectors(self) -> NDArray[np.float64]:
        """(evaluations, questions, 2): correctness and economy of every answer so far.

        Questions keep the order of the first evaluation.
        """
        shape = (len(self._calls), len(self._prompts))
        calls = np.array(self._calls, np.int64).reshape(shape)
        economy = np.empty(shape)
        for at, name in enumerate(self._prompts):
            economy[:, at] = self._economy(calls[:, at], self._minimum.n_opt(name))
        return np.stack([np.array(self._solved, np.float64).reshape(shape), economy], axis=-1)

    def __len__(self) -> int:
        """Number of evaluations."""
        return len(self._calls)

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue, JSON-able: two or three characters per answer.

        Nothing of it can be dropped: when the fewest calls of a question fall, an evaluation that
        others dominated can come to be dominated no longer.
        """
        return {
            "prompts": list(self._prompts),
            # The calls of a right answer; of a wrong one -1 less its calls.
            "answers": [
                [count if right else ~count for count, right in zip(*row, strict=True)]
                for row in zip(self._calls, self._solved, strict=True)
            ],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`state_dict`."""
        answers = [[int(answer) for answer in row] for row in state["answers"]]
        self._prompts = list(state["prompts"])
        self._calls = [[max(answer, ~answer) for answer in row] for row in answers]
        self._solved = [[answer >= 0 for answer in row] for row in answers]
        self._minimum = CallMinimum(min_support=self._minimum.min_support)
        for at, name in enumerate(self._prompts):
            calls, solved = ([row[at] for row in rows] for rows in (self._calls, self._solved))
            self._minimum.update(name, calls, solved)
