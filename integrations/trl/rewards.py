"""The two objectives as TRL reward functions: is the answer right, were the calls few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from accelerate.utils import gather_object

from paretopo.config import RewardsConfig
from paretopo.rewards.scoring import CallScores, Scored

Message = dict[str, Any]
Completion = list[Message] | str


class CallRewards(CallScores):
    """`correct` and `economy` for the same rollouts, with the fewest calls known per prompt.

    TRL calls both functions for each batch, in every process with that process's rollouts. The
    fewest calls of a prompt are those of all its rollouts, so they are gathered first.

    The data set needs the columns row, id, kind, answer and held_out. Completions are messages, or
    texts where a protocol in plain text made them; then `calls` counts the tool executions, and
    `written`, if it is there, is what is graded: observations are not the policy's words.

    Args:
        config: Fall per call, scope and support of the minimum, what held-out minima do.
        is_correct: (response, answer) -> does the response give the answer?

    Attributes:
        scored: The rollouts of the latest batch, those of all processes, in TRL's order.
    """

    def __init__(self, config: RewardsConfig, is_correct: Callable[[str, Any], float]) -> None:
        super().__init__(config)
        self._is_correct = is_correct
        self.scored: list[Scored] = []

    def correct(
        self,
        completions: Sequence[Completion],
        answer: Sequence[Any],
        written: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float]:
        """1.0 where the text or its last message answers rightly, else 0.0; one per completion."""
        return [
            float(self._solved(response, right))
            for response, right in zip(written or completions, answer, strict=True)
        ]

    def economy(
        self,
        completions: Sequence[Completion],
        answer: Sequence[Any],
        row: Sequence[int],
        id: Sequence[str],
        kind: Sequence[str],
        held_out: Sequence[bool],
        calls: Sequence[int] | None = None,
        written: Sequence[str] | None = None,
        **_: Any,
    ) -> list[float]:
        """`exp(-alpha * |calls - fewest|)`; the rollouts at hand count towards the fewest."""
        if calls is None:
            calls = [calls_made(completion) for completion in completions]
        local = [
            Scored(at, name, held, of_kind, self._solved(response, right), count)
            for response, right, at, name, of_kind, held, count in zip(
                written or completions, answer, row, id, kind, held_out, calls, strict=True
            )
        ]
        self.scored = gather_object(local)
        self.learn(self.scored)
        return [self.economy_of(rollout) for rollout in local]

    def _solved(self, response: Completion, answer: Any) -> bool:
        """A response that ends in a tool call or its result gave no answer."""
        if isinstance(response, str):
            return bool(self._is_correct(response, answer))
        if not response or response[-1]["role"] != "assistant" or response[-1].get("tool_calls"):
            return False
        return bool(self._is_correct(response[-1]["content"], answer))


def calls_made(messages: Completion) -> int:
    """Tool executions in a response; each leaves one message of role "tool".

    Raises:
        ValueError: The response is a text, which does not tell.

    >>> calls_made([{"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}])
    1
    """
    if isinstance(messages, str):
        raise ValueError("calls of a text are not to be seen: the rollouts must hand over `calls`")
    return sum(message["role"] == "tool" for message in messages)
