"""The session's objectives as TRL reward functions: is the answer right, were the calls few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from accelerate import PartialState
from accelerate.utils import gather_object

from paretopo.rollout import Rollout
from paretopo.session import Session, with_rewards

Message = dict[str, Any]
Completion = list[Message] | str


class SessionRewards:
    """`correct` and `economy` for the same rollouts, as a session scores them.

    TRL calls both functions for each batch, `correct` first, in every process with that process's
    rollouts. The fewest calls of a prompt are those of all its rollouts, so they are gathered
    before they are scored. A held-out evaluation is scored by `Session.observe` when all of it is
    there: its `economy` here is 0.

    The data set needs the columns row, id, kind, answer and held_out. Completions are messages, or
    texts where a protocol in plain text made them; then `calls` counts the tool executions, and
    `written`, if it is there, is what is graded: observations are not the policy's words.

    Args:
        session: Scores the groups.
        is_correct: (response, answer) -> does the response give the answer?

    Attributes:
        rollouts: Those of the latest batch, of all processes, in TRL's order.
        rows: For each of them, its row in the data set.
    """

    def __init__(self, session: Session, is_correct: Callable[[str, Any], float]) -> None:
        self._session = session
        self._is_correct = is_correct
        self._graded: list[float] = []
        self.rollouts: list[Rollout] = []
        self.rows: list[int] = []

    def correct(
        self,
        completions: Sequence[Completion],
        answer: Sequence[Any],
        written: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float]:
        """1.0 where the text or its last message answers rightly, else 0.0; one per completion."""
        self._graded = [
            float(self._grade(response, right))
            for response, right in zip(written or completions, answer, strict=True)
        ]
        return list(self._graded)

    def economy(
        self,
        completions: Sequence[Completion],
        row: Sequence[int],
        id: Sequence[str],
        kind: Sequence[str],
        held_out: Sequence[bool],
        calls: Sequence[int] | None = None,
        **_: Any,
    ) -> list[float]:
        """`exp(-alpha * |calls - fewest|)`; the rollouts at hand count towards the fewest."""
        counts = calls or [count_calls(completion) for completion in completions]
        local = [
            Rollout(name, right, count, kind=of_kind, held_out=held)
            for name, right, count, of_kind, held in zip(
                id, self._graded, counts, kind, held_out, strict=True
            )
        ]
        self._graded = []  # of this batch alone
        self.rollouts, self.rows = gather_object(local), gather_object(list(row))
        if any(held_out):
            return [0.0] * len(local)
        size = self._session.config.optimiser.group_size
        groups = [
            self.rollouts[first : first + size] for first in range(0, len(self.rollouts), size)
        ]
        self.rollouts = [
            rollout
            for group, scored in zip(groups, self._session.score(groups), strict=True)
            for rollout in with_rewards(group, scored.rewards)
        ]
        start = PartialState().process_index * len(local)
        return [rollout.rewards[1] for rollout in self.rollouts[start : start + len(local)]]

    def _grade(self, response: Completion, answer: Any) -> bool:
        """A response that ends in a tool call or its result gave no answer."""
        if isinstance(response, str):
            return bool(self._is_correct(response, answer))
        if not response or response[-1]["role"] != "assistant" or response[-1].get("tool_calls"):
            return False
        return bool(self._is_correct(response[-1]["content"], answer))


def count_calls(messages: Completion) -> int:
    """Tool executions in a response; each leaves one message of role "tool".

    Raises:
        ValueError: The response is a text, which does not tell.

    >>> count_calls([{"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}])
    1
    """
    if isinstance(messages, str):
        raise ValueError("calls of a text are not to be seen: the rollouts must hand over `calls`")
    return sum(message["role"] == "tool" for message in messages)
