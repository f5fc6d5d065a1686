"""What a session scores, out of what TRL hands to reward functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from accelerate.utils import gather_object

from paretopo.rollout import Rollout

Message = dict[str, Any]
Completion = list[Message] | str

# What rollouts can hand over of themselves, as lists of one number each.
_HANDED_OVER = ("calls", "turns", "seconds")


class SessionRewards:
    """TRL's reward function of a session: it measures, and the session scores.

    TRL calls it for each batch, in every process with that process's rollouts. What they measured
    is gathered; the session scores it when TRL has told how many tokens the policy wrote.

    The data set needs the columns row, id, kind, answer and held_out. Completions are messages, or
    texts where a protocol in plain text made them; then `calls`, `turns` and `seconds` say what
    cannot be seen in them, and `written`, if it is there, is what is graded: observations are not
    the policy's words. `reward_components`, a mapping for each rollout, is what an environment
    measured itself.

    Args:
        is_correct: (response, answer) -> does the response give the answer?

    Attributes:
        rollouts: Those of the latest batch, of all processes, in TRL's order, not scored.
        rows: For each of them, its row in the data set.
    """

    def __init__(self, is_correct: Callable[[str, Any], float]) -> None:
        self._is_correct = is_correct
        self.rollouts: list[Rollout] = []
        self.rows: list[int] = []

    def measure(
        self,
        completions: Sequence[Completion],
        answer: Sequence[Any],
        row: Sequence[int],
        id: Sequence[str],
        kind: Sequence[str],
        held_out: Sequence[bool],
        written: Sequence[str] | None = None,
        reward_components: Sequence[Mapping[str, float | None]] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Take a batch in; TRL gets a zero for each, as the session gives the advantages."""
        local = []
        for at, completion in enumerate(completions):
            response = completion if written is None else written[at]
            components: dict[str, float | None] = {
                "correct": float(self._grade(response, answer[at])),
                **count_turns(completion),
                **{name: columns[name][at] for name in _HANDED_OVER if columns.get(name)},
                **(reward_components[at] if reward_components else {}),
            }
            local.append(Rollout(id[at], components, kind=kind[at], held_out=bool(held_out[at])))
        self.rollouts, self.rows = gather_object(local), gather_object(list(row))
        return [0.0] * len(local)

    def _grade(self, response: Completion, answer: Any) -> bool:
        """A response that ends in a tool call or its result gave no answer."""
        if isinstance(response, str):
            return bool(self._is_correct(response, answer))
        if not response or response[-1]["role"] != "assistant" or response[-1].get("tool_calls"):
            return False
        return bool(self._is_correct(response[-1]["content"], answer))


def count_turns(completion: Completion) -> dict[str, float]:
    """Tool executions, of which each leaves one message of role "tool", and turns of the policy.

    A text tells neither.

    >>> count_turns([{"role": "assistant"}, {"role": "tool"}, {"role": "assistant"}])
    {'calls': 1.0, 'turns': 2.0}
    """
    if isinstance(completion, str):
        return {}
    roles = [message["role"] for message in completion]
    return {"calls": float(roles.count("tool")), "turns": float(roles.count("assistant"))}
