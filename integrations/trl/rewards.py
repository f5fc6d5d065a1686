"""TRL's reward function of a session: it measures rollouts for the session to score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from paretopo.rewards.own import OwnRewards
from paretopo.rewards.values import shape_completion
from paretopo.rollout import Rollout, format_prompt
from paretopo.tasks.environment import GradeAll
from paretopo.tools.replies import is_failure

Message = dict[str, Any]
Completion = list[Message] | str

# TRL's arguments of reward functions; the user's functions get them unchanged.
_TRL_ARGUMENTS = ("completion_ids", "trainer_state", "log_metric", "log_extra")

# Measurements that a rollout function can return, as lists with one number for each rollout.
HANDED_OVER = ("calls", "failed_calls", "turns", "seconds")


class SessionRewards:
    """TRL's reward function of a session: it measures, and the session scores.

    TRL calls it for each batch. The session scores the rollouts after TRL has reported the number
    of tokens that the policy wrote.

    The data set needs the columns id, kind, answer and held_out. Completions are messages, or texts
    if a plain-text protocol made them. With texts, `calls`, `failed_calls`,
    `turns` and `seconds` give the numbers that a text does not show. `written`, if it is there, is
    the text to grade, without observations. `reward_components` is an environment's own
    measurements, a mapping for each rollout.

    Args:
        grade_all: Maps (responses, answers) to 1 or 0 for each response: does it give its answer?
            None without grading. Called once for a batch.
        own: The user's rewards, which read the column `columns`.
        prices: Dollars for a call of a function, by its name.
        names_tools: True if the policy calls tools by name in chat messages.

    Attributes:
        rollouts: Rollouts of the latest batch, in TRL's order, not scored.
    """

    def __init__(
        self,
        grade_all: GradeAll,
        own: OwnRewards | None = None,
        prices: Mapping[str, float] | None = None,
        *,
        names_tools: bool = False,
    ) -> None:
        self._names_tools = names_tools
        self._grade_all = grade_all
        self._own = own
        self._prices = dict(prices or {})
        self.rollouts: list[Rollout] = []

    def measure(
        self,
        completions: Sequence[Completion],
        answer: Sequence[Any],
        id: Sequence[str],
        kind: Sequence[str],
        held_out: Sequence[bool],
        written: Sequence[str] | None = None,
        reward_components: Sequence[Mapping[str, float | None]] | None = None,
        preference: Sequence[str] | None = None,
        **columns: Any,
    ) -> list[float]:
        """Measure a batch; return the right answers for TRL's log, 0 for tasks without answers."""
        local = []
        responses = completions if written is None else written
        own = self._measure_own(responses, answer, id, kind, columns)
        grades = self._grade(responses, answer)
        handed_over = [name for name in HANDED_OVER if columns.get(name)]
        for at, completion in enumerate(completions):
            right = grades[at]
            components: dict[str, float | None] = {
                **({} if right is None else {"correct": right}),
                **count_turns(completion, {name: columns[name][at] for name in handed_over}),
                **self._count_dollars(completion),
                **(reward_components[at] if reward_components else {}),
                **own[at],
            }
            tool = find_first_tool(completion) if self._names_tools else None
            local.append(
                Rollout(
                    id[at],
                    components,
                    kind[at],
                    preference=preference[at] if preference else "",
                    first_tool=tool,
                    held_out=bool(held_out[at]),
                )
            )
        self.rollouts = local
        return [one.reward_components.get("correct") or 0.0 for one in local]

    def _count_dollars(self, completion: Completion) -> dict[str, float]:
        """Return the dollars that the tools charged; empty if no tool has a price."""
        if not self._prices or isinstance(completion, str):
            return {}
        called = [message.get("name") for message in completion if message["role"] == "tool"]
        return {"dollars": sum(self._prices.get(str(name), 0.0) for name in called)}

    def _grade(self, responses: Sequence[Completion], answers: Sequence[Any]) -> list[float | None]:
        """Grade the responses; one that ends in a tool call or its result gives no answer."""
        texts = [_find_answer(response) for response in responses]
        given = [at for at, text in enumerate(texts) if text is not None]
        right_of = self._grade_all([texts[at] or "" for at in given], [answers[at] for at in given])
        grades: list[float | None] = [0.0] * len(texts)
        for at, right in zip(given, right_of, strict=True):
            grades[at] = None if right is None else float(right)
        return grades

    def _measure_own(
        self,
        responses: Sequence[Completion],
        answer: Sequence[Any],
        id: Sequence[str],
        kind: Sequence[str],
        passed: Mapping[str, Any],
    ) -> list[dict[str, float | None]]:
        if self._own is None:
            return [{} for _ in responses]
        asked = [json.loads(one) for one in passed.get("columns") or ["{}"] * len(responses)]
        further = {name: [one.get(name) for one in asked] for one in asked for name in one}
        prompts = further.pop("prompt", None) or [format_prompt(one) for one in passed["prompts"]]
        return self._own.measure(
            prompts,
            [shape_completion(*pair) for pair in zip(prompts, responses, strict=True)],
            {**further, "answer": list(answer), "id": list(id), "kind": list(kind)},
            {name: passed[name] for name in _TRL_ARGUMENTS if name in passed},
        )


def _find_answer(response: Completion) -> str | None:
    """Return the text to grade; None if the response ends in a tool call or its result."""
    if isinstance(response, str):
        return response
    if not response or response[-1]["role"] != "assistant" or response[-1].get("tool_calls"):
        return None
    content: str = response[-1]["content"]
    return content


def find_first_tool(completion: Completion) -> str | None:
    """Return the name of the first called tool; "" without a call, None for a text.

    >>> call = {"type": "function", "function": {"name": "shop", "arguments": {}}}
    >>> find_first_tool([{"role": "assistant", "content": "", "tool_calls": [call]}])
    'shop'
    >>> find_first_tool([{"role": "assistant", "content": "42"}])
    ''
    """
    if isinstance(completion, str):
        return None
    calls = [call for message in completion for call in message.get("tool_calls") or ()]
    return str(calls[0].get("function", calls[0]).get("name")) if calls else ""


def count_turns(
    completion: Completion, handed_over: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Count turns of the policy, tool executions (messages of role "tool"), and failures of these.

    A text shows none of them.

    Args:
        completion: The response.
        handed_over: The numbers of a rollout function, which has called the tools itself.

    >>> reply = {"role": "tool", "content": "{'error': 'no such part'}"}
    >>> count_turns([{"role": "assistant"}, reply, {"role": "assistant"}])
    {'turns': 2.0, 'calls': 1.0, 'failed_calls': 1.0}
    >>> count_turns([{"role": "assistant"}], {"calls": 3})
    {'turns': 1.0, 'calls': 3}
    """
    if isinstance(completion, str):
        return dict(handed_over)
    counted = {"turns": float(sum(message["role"] == "assistant" for message in completion))}
    if "calls" not in handed_over:
        replies = [message.get("content") for message in completion if message["role"] == "tool"]
        counted["calls"] = float(len(replies))
        counted["failed_calls"] = float(sum(map(is_failure, replies)))
    return {**counted, **handed_over}
