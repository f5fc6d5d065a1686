"""Run an agent in a thread of its own: a blocking agent stops neither engine nor other rollouts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from paretopo.rewards.calls import LoopThread, Result


class Overdue(Exception):
    """A coroutine has exceeded its time, whether it waits or blocks."""


class AgentThread(LoopThread):
    """Runs the coroutines of one agent, one after another, in an event loop of its own.

    They may block: ``time.sleep``, a synchronous request, a long computation in Python. An overdue
    coroutine is abandoned; its thread ends with the process at the latest.

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
        """Run a coroutine and return its result.

        Args:
            coroutine: Runs in the thread.
            timeout: Seconds that it may take.

        Raises:
            Overdue: The coroutine took longer.
            Exception: The coroutine's own exception.
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
