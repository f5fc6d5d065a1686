"""Calls of reward functions: in the main thread, with a time limit, or in one lasting event loop.

A function that uses ``signal.alarm``, as math-verify does, works only in the main thread. A
semaphore or an HTTP session of a module belongs to the event loop of its first use. So synchronous
functions run where they are called, and asynchronous ones share an event loop that lasts.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

from paretopo.rollout import BadRollout
from paretopo.tools.threads import start_in_thread

Result = TypeVar("Result")

_SIGNAL = signal.SIGUSR2  # math-verify and others use SIGALRM
_AGAIN = 1.0  # seconds until a call that ignored its limit is interrupted again
_SLACK = 5.0  # seconds beyond its limit after which a coroutine blocks its event loop
_LONGEST_WAIT = 30.0  # seconds before a call is tried again


class Hung(Exception):
    """A call took longer than its limit."""


class _Interrupt(BaseException):
    """Ends a call; unlike the function's own exceptions, the function does not catch it."""


@dataclass(frozen=True)
class Limits:
    """Limits of a call.

    Attributes:
        timeout: Seconds of each attempt; None for no limit.
        retries: Further attempts after a failure.
    """

    timeout: float | None = None
    retries: int = 0

    def wait_before(self, attempt: int) -> float:
        """Seconds between a failed attempt, counted from 0, and the next."""
        return float(min(2.0**attempt, _LONGEST_WAIT))

    def longest(self) -> float | None:
        """Seconds after which a coroutine must have ended, or it blocks its event loop."""
        if self.timeout is None:
            return None
        waits = sum(self.wait_before(attempt) for attempt in range(self.retries))
        return (self.retries + 1) * (self.timeout + _SLACK) + waits


class LoopThread:
    """An event loop in a daemon thread: the process does not wait for a coroutine that blocks.

    >>> loop = LoopThread("example")
    >>> async def answer():
    ...     return 42
    >>> loop.submit(answer()).result()
    42
    >>> loop.end()
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def submit(self, coroutine: Coroutine[Any, Any, Result]) -> Future[Result]:
        """Start a coroutine; several run concurrently."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    async def run(self, coroutine: Coroutine[Any, Any, Result], seconds: float) -> Result:
        """Return the result of a coroutine to a coroutine of another event loop.

        Raises:
            Hung: It took longer than the limit, whether it waits or blocks its event loop.
        """
        return await await_with_limit(asyncio.wrap_future(self.submit(coroutine)), seconds)

    def end(self) -> None:
        """Let the thread end as soon as nothing runs in it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()


def is_async(function: Callable[..., Any]) -> bool:
    """Return whether a function returns a coroutine; accepts partials and callable objects.

    >>> async def judge(completions): ...
    >>> is_async(functools.partial(judge)), is_async(len)
    (True, False)
    """
    while isinstance(function, functools.partial):
        function = function.func
    called = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)


def call_with_limit(call: Callable[[], Result], seconds: float | None) -> Result:
    """Return the result of a call, or interrupt it after its limit.

    The call runs in this thread if it is the main thread. In any other thread it runs in a daemon
    thread, because only the main thread can be interrupted.

    Args:
        call: Without arguments.
        seconds: The limit; None for none.

    Raises:
        Hung: The call took longer. Code that neither returns to Python nor reacts to a signal
            delays this until it does.
    """
    if seconds is None:
        return call()
    if threading.current_thread() is not threading.main_thread():
        outcome = start_in_thread(call, "reward")
        if not wait([outcome], seconds).done:
            raise Hung
        return outcome.result()
    limit = _Limit(seconds)
    try:
        try:
            limit.start()
            return call()
        finally:
            limit.over = True
    except _Interrupt:
        raise Hung from None
    finally:
        limit.end()


async def await_with_limit(result: Awaitable[Result], seconds: float | None) -> Result:
    """Return the result of an awaitable.

    Raises:
        Hung: It took longer than the limit.
    """
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await result
    except TimeoutError:
        if limit.expired():  # not a timeout of the function itself
            raise Hung from None
        raise


def call_again(
    name: str, call: Callable[[], Result], prompts: Sequence[str], limits: Limits
) -> Result:
    """Return the result of a reward function, after further attempts if it fails.

    Args:
        name: The function's name, for errors.
        call: Calls it.
        prompts: Names of its prompts.
        limits: Limits of the call.

    Raises:
        BadRollout: The last attempt failed or hung; names function and prompts.
    """
    for attempt in range(limits.retries):
        try:
            with blame(name, prompts, limits):
                return call_with_limit(call, limits.timeout)
        except BadRollout:
            time.sleep(limits.wait_before(attempt))
    with blame(name, prompts, limits):
        return call_with_limit(call, limits.timeout)


async def await_again(
    name: str, call: Callable[[], Awaitable[Result]], prompts: Sequence[str], limits: Limits
) -> Result:
    """Do the same as :func:`call_again` for an asynchronous function."""
    for attempt in range(limits.retries):
        try:
            with blame(name, prompts, limits):
                return await await_with_limit(call(), limits.timeout)
        except BadRollout:
            await asyncio.sleep(limits.wait_before(attempt))
    with blame(name, prompts, limits):
        return await await_with_limit(call(), limits.timeout)


@contextmanager
def blame(name: str, prompts: Sequence[str], limits: Limits) -> Iterator[None]:
    """Add reward function and prompts to an error.

    Args:
        name: The function's name.
        prompts: Names of its prompts.
        limits: Limits of the call.

    Raises:
        BadRollout: The function failed, or hung.
    """
    try:
        yield
    except Hung:
        raise BadRollout(describe_hang(name, prompts, limits)) from None
    except (Exception, SystemExit) as error:
        raise BadRollout(
            f"the reward {name!r} failed on {name_prompts(prompts)}: {type(error).__name__}: "
            f"{error}"
        ) from error


def describe_hang(name: str, prompts: Sequence[str], limits: Limits) -> str:
    """Return the message about a function that took too long."""
    return (
        f"the reward {name!r} hung on {name_prompts(prompts)}: it took more than "
        f"rewards.timeout = {limits.timeout:g} seconds"
    )


def name_prompts(names: Sequence[str]) -> str:
    """Return the first name, and the number of further ones.

    >>> name_prompts(["a", "a", "b"])
    "prompt 'a' and 1 more"
    """
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - 1} more" if len(different) > 1 else ""
    return f"prompt {different[0]!r}{more}"


class _Limit:
    """Raises `_Interrupt` in the main thread after some seconds, until `over` is set."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._before = signal.signal(_SIGNAL, self._interrupt)
        self._watcher = threading.Thread(
            target=self._watch, args=(seconds,), name="reward limit", daemon=True
        )

    def start(self) -> None:
        """Start the clock; from here on `_Interrupt` may come."""
        self._watcher.start()

    def end(self) -> None:
        """Restore the signal's action; nothing is raised any more."""
        with self._lock:
            self.over = True
        self._ended.set()
        # A pending signal must not reach the default action, which ends the process.
        default = self._before in (None, signal.SIG_DFL)
        signal.signal(_SIGNAL, signal.SIG_IGN if default else self._before)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if not self.over:
            raise _Interrupt

    def _watch(self, seconds: float) -> None:
        main, wait = threading.main_thread().ident, seconds
        while main is not None and not self._ended.wait(wait):
            with self._lock:
                if not self.over:
                    signal.pthread_kill(main, _SIGNAL)
            wait = _AGAIN
