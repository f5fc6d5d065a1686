"""One rollout, turn by turn: what every protocol gives to whatever generates text.

```
 episode = TorlEpisode(python)
 while not turn.done:
     text = generate until one of episode.stop appears, or the end
     turn = await episode.step(text)
     append turn.feedback, without loss: the model did not write it
 episode.calls
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Turn:
    """What follows on a piece of generated text.

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

    async def step(self, text: str) -> Turn:
        """Take in what was generated since the last turn, and call the tool if it asks for it.

        Args:
            text: one piece of generated text, without the end-of-text token.
        """
        ...
