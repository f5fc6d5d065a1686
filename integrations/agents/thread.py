"""An agent in a thread of its own: what blocks there holds neither engine nor other rollouts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from paretopo.rewards.calls import LoopThread, Result


class Overdue(Exception):
    """A coroutine has not ended in its time, whether it waits or blocks."""


class AgentThread(LoopThread):
    """Runs the coroutines of one agent, one after another, in an event loop that is theirs.

    They may block: ``time.sleep``, a synchronous request, a long computation in Python. One that is
    overdue is left behind; its thread ends with the process at the latest.

    >>> import time
    >>> async def ask(seconds):
    ...     time.sleep(seconds)
    ...     return 42
    >>> async def main():
    ...     thread = AgentThread()
    ...     try:
    ...         return await thread.run(ask(0.0), timeout=60.0)
    ...     finally:
    ...         thread.end()
    >>> asyncio.run(main())
    42
    """

    def __init__(self) -> None:
        super().__init__("agent")

    async def run(self, coroutine: Coroutine[Any, Any, Result], timeout: float) -> Result:
        """The coroutine's result.

        Args:
            coroutine: Runs in the thread.
            timeout: Seconds that it may take.

        Raises:
            Overdue: It took longer.
            Exception: What it raised.
        """
        running = asyncio.wrap_future(self.submit(coroutine))
        try:
            done, _ = await asyncio.wait({running}, timeout=timeout)
        except asyncio.CancelledError:
            running.cancel()
            raise
        if not done:
            running.cancel()
            raise Overdue
        return running.result()
