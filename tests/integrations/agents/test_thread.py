"""Agents in threads of their own."""

import asyncio
import threading

import pytest

from paretopo.integrations.agents.thread import AgentThread, Overdue


def in_thread(*coroutines, timeout=600.0):
    """The results of coroutines, one after another in the same thread."""

    async def main():
        thread = AgentThread()
        try:
            return [await thread.run(one, timeout) for one in coroutines]
        finally:
            thread.end()

    return asyncio.run(main())


def test_coroutines_share_a_loop_that_is_not_the_callers():
    async def here():
        return asyncio.get_running_loop(), threading.current_thread()

    async def main():
        return await here(), await asyncio.to_thread(in_thread, here(), here())

    outside, (first, second) = asyncio.run(main())
    assert first == second
    assert {*first}.isdisjoint(outside)


@pytest.mark.parametrize("blocks", [True, False])
def test_blocking_and_endless_turns_time_out(blocks):
    freed = threading.Event()

    async def hang():
        if blocks:
            freed.wait()
        else:
            await asyncio.Event().wait()

    try:
        with pytest.raises(Overdue):
            in_thread(hang(), timeout=0.2)
    finally:
        freed.set()


def test_errors_come_as_they_were_raised():
    async def fail():
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        in_thread(fail())
