"""What a session scores, out of what TRL hands to reward functions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from accelerate.utils import gather_object

from paretopo.rewards.own import OwnRewards
from paretopo.rewards.values import shape_completion
from paretopo.rollout import Rollout, format_prompt
from paretopo.tasks.environment import GradeAll

Message = dict[str, Any]
Completion = list[Message] | str

# What TRL tells reward functions, and the user's own get as it is.
_TOLD_BY_TRL = ("completion_ids", "trainer_state", "log_metric", "log_extra")

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
        grade_all: (responses, answers) -> does each response give its answer, as 1 or 0? None
            without one. Called once for a batch.
        own: The user's rewards, which read the column `columns`.
        prices: Dollars for a call of a function, by its name.

    Attributes:
        rollouts: Those of the latest batch, of all processes, in TRL's order, not scored.
        rows: For each of them, its row in the data set.
    """

    def __init__(
        self,
        grade_all: GradeAll,
        own: OwnRewards | None = None,
        prices: Mapping[str, float] | None = None,
    ) -> None:
        self._grade_all = grade_all
        self._own = own
        self._prices = dict(prices or {})
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
        preference: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Take a batch in; TRL logs the share of right answers, 0 where a task knows none."""
        local = []
        responses = completions if written is None else written
        own = self._measure_own(responses, answer, id, kind, columns)
        grades = self._grade(responses, answer)
        for at, completion in enumerate(completions):
            right = grades[at]
            components: dict[str, float | None] = {
                **({} if right is None else {"correct": right}),
                **count_turns(completion),
                **self._count_dollars(completion),
                **{name: columns[name][at] for name in _HANDED_OVER if columns.get(name)},
                **(reward_components[at] if reward_components else {}),
                **own[at],
            }
            given = preference[at] if preference else ""
            side = bool(held_out[at])
            local.append(Rollout(id[at], components, kind[at], preference=given, held_out=side))
        self.rollouts, self.rows = gather_object(local), gather_object(list(row))
        return [one.reward_components.get("correct") or 0.0 for one in local]

    def _count_dollars(self, completion: Completion) -> dict[str, float]:
        """What the tools charged; nothing is said where none does."""
        if not self._prices or isinstance(completion, str):
            return {}
        called = [message.get("name") for message in completion if message["role"] == "tool"]
        return {"dollars": sum(self._prices.get(str(name), 0.0) for name in called)}

    def _grade(self, responses: Sequence[Completion], answers: Sequence[Any]) -> list[float | None]:
        """A response that ends in a tool call or its result gave no answer."""
        texts = [_find_answer(response) for response in responses]
        given = [at for at, text in enumerate(texts) if text is not None]
        told = self._grade_all([texts[at] or "" for at in given], [answers[at] for at in given])
        grades: list[float | None] = [0.0] * len(texts)
        for at, right in zip(given, told, strict=True):
            grades[at] = None if right is None else float(right)
        return grades

    def _measure_own(
        self,
        responses: Sequence[Completion],
        answer: Sequence[Any],
        id: Sequence[str],
        kind: Sequence[str],
        told: Mapping[str, Any],
    ) -> list[dict[str, float | None]]:
        if self._own is None:
            return [{} for _ in responses]
        asked = [json.loads(one) for one in told.get("columns") or ["{}"] * len(responses)]
        further = {name: [one.get(name) for one in asked] for one in asked for name in one}
        prompts = further.pop("prompt", None) or [format_prompt(one) for one in told["prompts"]]
        return self._own.measure(
            prompts,
            [shape_completion(*pair) for pair in zip(prompts, responses, strict=True)],
            {**further, "answer": list(answer), "id": list(id), "kind": list(kind)},
            {name: told[name] for name in _TOLD_BY_TRL if name in told},
        )


def _find_answer(response: Completion) -> str | None:
    """The text that is graded; None where the response ends in a tool call or its result."""
    if isinstance(response, str):
        return response
    if not response or response[-1]["role"] != "assistant" or response[-1].get("tool_calls"):
        return None
    content: str = response[-1]["content"]
    return content


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
