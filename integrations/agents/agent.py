"""The environment of one rollout: an agent answers the policy's turns, and counts its tool calls.

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
    """The environment's answer to one turn of the policy.

    Attributes:
        feedback: What the environment says next, with the chat's markers around it.
        calls: Tools executed in this turn.
        done: Is the rollout over?
        reward_components: What the environment measured, by name and in its own unit: the
            objectives of the run but for what is counted here (calls, turns, seconds, tokens); None
            where one does not apply. What a later turn says of a name wins.

    Raises:
        TypeError: A field is of another type.
    """

    feedback: str = ""
    calls: int = 0
    done: bool = False
    reward_components: Mapping[str, float | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, kind, told in _TURN_FIELDS:
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"Turn.{name} must be {told}, got {getattr(self, name)!r:.80}")


_TURN_FIELDS: tuple[tuple[str, type, str], ...] = (
    ("feedback", str, "a text"),
    ("calls", Integral, "a whole number"),
    ("reward_components", Mapping, "a mapping of names to numbers"),
)


class ToolAgent:
    """The environment of one rollout; subclasses say what a turn does.

    All of it, `__init__` included, runs in a thread and an event loop of this rollout alone. A turn
    may block, then; what belongs to an event loop, such as an asynchronous client, belongs to the
    agent, and what agents share must bear threads.

    Attributes:
        stop: The next turn ends after any of these texts, which belong to it; () for none.
        turn_tokens: Most tokens of the next turn; None for what the response has left.
        config: The run's configuration.
        tokenizer: The policy's.
        label: The prompt's label as a mapping.
        calls: Tools executed so far.
    """

    stop: tuple[str, ...] = ()
    turn_tokens: int | None = None

    def __init__(self, config: RunConfig, tokenizer: Any, label: Mapping[str, Any]) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self.label = dict(label)
        self.calls = 0
        self._turns = 0
        self._done = False
        self._components: dict[str, float | None] = {}

    async def turn(self, text: str) -> Turn:
        """The answer to a turn; `text` is what the policy wrote, without its end-of-turn token."""
        raise TypeError(f"{type(self).__name__} does not define turn(), but got {text!r}")

    async def take(self, text: str) -> Turn:
        """Answer a turn, and count what it did; `text` may end with the end-of-turn token.

        Raises:
            TypeError: `turn` returned something else than a Turn.
        """
        turn = await self.turn(text.removesuffix(self.tokenizer.eos_token))
        if not isinstance(turn, Turn):
            raise TypeError(
                'turn() must return a Turn, as Turn(feedback="...", calls=1) where the rollout '
                "goes on and Turn(done=True, reward_components={...}) at its end, got "
                f"{turn!r:.80}"
            )
        self.calls += turn.calls
        self._turns += 1
        self._done = turn.done
        self._components |= turn.reward_components
        return turn

    @property
    def measured(self) -> dict[str, float | None]:
        """What was measured so far, by name.

        A rollout that is not over has solved nothing, and what is not said of it does not apply.
        """
        first, *others = (one.name for one in self.config.objectives)
        unsaid: dict[str, float | None] = {first: 0.0}
        unsaid |= {name: None for name in others if name not in MEASURES}
        counted = {"calls": self.calls, "turns": self._turns}
        return {**({} if self._done else unsaid), **self._components, **counted}
