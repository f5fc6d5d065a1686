"""The environment of one rollout: an agent replies to the policy's turns and counts tool calls.

::

    class Lookup(ToolAgent):
        stop = ("</lookup>",)
        turn_tokens = 500

        async def turn(self, text):
            if text.endswith("</lookup>") and self.calls < 3:
                return Turn(feedback=my_index(text), calls=1)
            right = float(self.label["answer"] in text)
            return Turn(done=True, reward_components={"correct": right, "words": len(text.split())})
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from paretopo.config import MEASURES, RunConfig


@dataclass(frozen=True)
class Turn:
    """The environment's reply to one turn of the policy.

    Attributes:
        feedback: The environment's next text, with the chat's markers around it.
        calls: Number of tools executed in this turn.
        failed_calls: Number of those that failed; needed with the objective `failed_calls`.
        done: True ends the rollout.
        reward_components: The environment's measurements, by name and in their own units. It covers
            the objectives of the run except those counted here (calls, failed_calls, turns,
            seconds, tokens).
            None marks an objective that does not apply. A later turn replaces the value of a name.

    Raises:
        TypeError: A field has the wrong type.
    """

    feedback: str = ""
    calls: int = 0
    done: bool = False
    reward_components: Mapping[str, float | None] = field(default_factory=dict)
    failed_calls: int | None = None

    def __post_init__(self) -> None:
        for name, kind, expected in _TURN_FIELDS:
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"Turn.{name} must be {expected}, got {getattr(self, name)!r:.80}")


_TURN_FIELDS: tuple[tuple[str, Any, str], ...] = (
    ("feedback", str, "a text"),
    ("calls", Integral, "a whole number"),
    ("failed_calls", Integral | None, "a whole number, or None"),
    ("reward_components", Mapping, "a mapping of names to numbers"),
)


class ToolAgent:
    """The environment of one rollout; a subclass defines its reply to a turn.

    The whole agent, `__init__` included, runs in a thread and an event loop of its own rollout. A
    turn may therefore block. Objects tied to an event loop, such as an asynchronous client, belong
    to one agent; objects that agents share must be thread-safe.

    Attributes:
        stop: The next turn ends after any of these texts, which are part of it; () for none.
        turn_tokens: Longest next turn in tokens; None for the rest of the response.
        config: The run's configuration.
        tokenizer: The policy's tokenizer.
        label: The prompt's label as a mapping.
        calls: Number of tools executed so far.
        failed_calls: Number of those that failed, as far as turns say it.
    """

    stop: tuple[str, ...] = ()
    turn_tokens: int | None = None

    def __init__(self, config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.label = dict(label)
        self.calls = self.failed_calls = 0
        self._turns = 0
        self._done = False
        self._components: dict[str, float | None] = {}

    async def turn(self, text: str) -> Turn:
        """Reply to a turn; `text` is the policy's text without its end-of-turn token."""
        raise TypeError(f"{type(self).__name__} does not define turn(), but got {text!r}")

    async def take(self, text: str) -> Turn:
        """Reply to a turn and count its calls; `text` may end with the end-of-turn token.

        Raises:
            TypeError: `turn` did not return a Turn, or one without `failed_calls` if that is an
                objective.
        """
        turn = await self.turn(text.removesuffix(self.tokenizer.eos_token))
        if not isinstance(turn, Turn):
            raise TypeError(
                'turn() must return a Turn, as Turn(feedback="...", calls=1) if the rollout '
                "continues and Turn(done=True, reward_components={...}) at its end, got "
                f"{turn!r:.80}"
            )
        if turn.calls and turn.failed_calls is None and self._wants_failed_calls:
            raise TypeError(
                "'failed_calls' is an objective: a Turn with calls must say how many of them "
                f"failed, as Turn(calls={turn.calls}, failed_calls=0), got {turn!r:.80}"
            )
        self.calls += turn.calls
        self.failed_calls += turn.failed_calls or 0
        self._turns += 1
        self._done = turn.done
        self._components |= turn.reward_components
        return turn

    @property
    def measured(self) -> dict[str, float | None]:
        """Return the measurements so far, by name.

        An unfinished rollout has solved nothing. Objectives without a measurement do not apply.
        """
        first, *others = (one.name for one in self.config.objectives)
        unsaid: dict[str, float | None] = {first: 0.0}
        unsaid |= {name: None for name in others if name not in MEASURES}
        counted = {"calls": self.calls, "turns": self._turns}
        if self._wants_failed_calls:
            counted["failed_calls"] = self.failed_calls
        return {**({} if self._done else unsaid), **self._components, **counted}

    @property
    def _wants_failed_calls(self) -> bool:
        return any(one.name == "failed_calls" for one in self.config.objectives)
