"""No protocol: one piece of text, and no tool in it."""

from __future__ import annotations

from paretopo.protocols.episode import Turn


class SingleTurn:
    """One rollout.

    Args:
        stop: strings after which nothing more is wanted.
        calls: tool executions that went before, for the prompt.

    >>> import asyncio
    >>> asyncio.run(SingleTurn().step("It is 42."))
    Turn(feedback='', done=True)
    """

    turn_tokens: int | None = None
    feedback_tokens: int | None = None

    def __init__(self, stop: tuple[str, ...] = (), calls: int = 0) -> None:
        self.stop = stop
        self.calls = calls

    async def step(self, text: str) -> Turn:  # noqa: ARG002
        """The text is all there is."""
        return Turn("", done=True)
