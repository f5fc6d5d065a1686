"""One rollout, turn by turn: the surface of every protocol.

```
 episode = TorlEpisode(python)
 while not result.done:
     text = generate until one of episode.stop appears, or the end
     result = await episode.step(text)
     append result.feedback, without loss: the model did not write it
 episode.calls
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class StepResult:
    """The protocol's answer to a piece of generated text.

    Attributes:
        feedback: text to append; the model did not write it, so its tokens carry no loss. Empty
            for none.
        done: is the rollout over?
    """

    feedback: str
    done: bool


class Episode(Protocol):
    """One rollout."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end the next piece of text; () for a generation that ends by itself.

        They belong to the text: the model wrote them (vLLM: `include_stop_str_in_output`).
        """
        ...

    @property
    def turn_tokens(self) -> int | None:
        """Most tokens of the next piece of text, None for no limit of its own."""
        ...

    @property
    def feedback_tokens(self) -> int | None:
        """Most tokens of a feedback, the first ones; None for no limit."""
        ...

    @property
    def calls(self) -> int:
        """Tool executions so far."""
        ...

    @property
    def failed_calls(self) -> int:
        """Tool executions so far that ended with an error or at a limit."""
        ...

    async def step(self, text: str) -> StepResult:
        """Read the text since the last turn, and call the tool if the text contains a call.

        Args:
            text: one piece of generated text, without the end-of-text token.
        """
        ...


class SingleTurn:
    """A rollout of one piece of text, without a tool.

    Args:
        stop: strings after which nothing more is wanted.
        calls: tool executions that went before, for the prompt.

    >>> import asyncio
    >>> asyncio.run(SingleTurn().step("It is 42."))
    StepResult(feedback='', done=True)
    """

    turn_tokens: int | None = None
    feedback_tokens: int | None = None

    def __init__(self, stop: tuple[str, ...] = (), calls: int = 0) -> None:
        self.stop = stop
        self.calls = calls
        self.failed_calls = 0

    async def step(self, text: str) -> StepResult:  # noqa: ARG002
        """The text is all there is."""
        return StepResult("", done=True)
