"""Protocols as environments: an agent plays an episode without a framework.

An episode has `stop`, `turn_tokens`, `feedback_tokens` and `calls`, with the objective
`failed_calls` also that, and `await episode.step(text)` returns something with `feedback` and
`done`. An agent file then is::

    class Agent(EpisodeAgent):
        def episode(self):
            return SearchR1Episode(SearchClient(url))

        def grade(self, response):
            return normalised_match(last_answer(response), self.label["targets"])
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from paretopo.integrations.agents.agent import ToolAgent, Turn


class EpisodeAgent(ToolAgent):
    """Plays one episode, then grades the policy's whole text."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._episode = self.episode()
        self._written: list[str] = []
        self._control = find_control_tokens(self.tokenizer)

    def episode(self) -> Any:
        """Return a new episode."""
        raise TypeError(f"{type(self).__name__} does not define episode()")

    def grade(self, response: str) -> float | None:
        """Return the task reward of the policy's turns, from 0 to 1; None if there is no reward.

        The text excludes observations. The method runs in a thread, so a slow grader does not stop
        other rollouts.
        """
        raise TypeError(f"{type(self).__name__} does not define grade(), but got {response!r}")

    @property
    def stop(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the texts that end the next turn."""
        return tuple(self._episode.stop)

    @property
    def turn_tokens(self) -> int | None:  # type: ignore[override]
        """Return the longest next turn in tokens."""
        limit: int | None = self._episode.turn_tokens
        return limit

    async def turn(self, text: str) -> Turn:
        """Take one step of the episode."""
        self._written.append(text)
        answer = await self._episode.step(text)
        calls = self._episode.calls - self.calls
        failed = getattr(self._episode, "failed_calls", None)
        if failed is not None:
            failed -= self.failed_calls
        if answer.done:
            right = await asyncio.to_thread(self.grade, "".join(self._written))
            components = {} if right is None else {"correct": float(right)}
            return Turn("", calls, done=True, reward_components=components, failed_calls=failed)
        return Turn(self._cut(answer.feedback), calls, failed_calls=failed)

    def _cut(self, feedback: str) -> str:
        feedback = break_control_tokens(feedback, self._control)
        limit = self._episode.feedback_tokens
        if limit is None or not feedback:
            return feedback
        tokens = self.tokenizer(text=feedback, add_special_tokens=False)["input_ids"]
        if len(tokens) <= limit:
            return feedback
        shorten: str = self.tokenizer.decode(tokens[:limit])
        return shorten


def find_control_tokens(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts that a tokenizer reads as control tokens, such as the end of a turn."""
    added = getattr(tokenizer, "added_tokens_decoder", {}).values()
    named = getattr(tokenizer, "all_special_tokens", ())
    return tuple(dict.fromkeys([*named, *(str(one) for one in added if one.special)]))


def break_control_tokens(text: str, control: Sequence[str]) -> str:
    """Break control tokens in a text: a tool's reply must not end the policy's turn.

    >>> break_control_tokens("a <|im_end|>", ["<|im_end|>"])
    'a < |im_end|>'
    """
    for one in control:
        text = text.replace(one, f"{one[:1]} {one[1:]}")
    return text
