"""Rewards of the user's own: functions as TRL takes them.

docs/rewards.md lists their arguments and results. Measurements are in the objective's own unit.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from paretopo.config import SKIPPED, RunConfig
from paretopo.rewards.calls import Limits, LoopThread, await_again, call_again, describe_hang
from paretopo.rewards.functions import Reward, find_rewards
from paretopo.rewards.values import Measured, check_components
from paretopo.rollout import BadRollout

_LOGGER = logging.getLogger("paretopo")
_FAILED = object()  # the result of a call that is skipped


class _Loops:
    """The event loop of a process.

    Functions are executed once, and their resources belong to the loop of their first use.
    """

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._loop: LoopThread | None = None

    def get(self) -> LoopThread:
        with self._opening:
            if self._loop is None:
                self._loop = LoopThread("rewards")
            return self._loop

    def drop(self) -> None:
        """Drop a loop that a coroutine blocks."""
        self._loop = None


_LOOPS = _Loops()


class OwnRewards:
    """The reward functions of a run, called with a limit.

    Synchronous functions run one after the other in the calling thread; asynchronous ones then run
    concurrently, in one event loop that lasts.

    Args:
        config: Names the functions, their limit, and the reaction to a failure.

    Raises:
        ConfigError: As :func:`~paretopo.rewards.functions.find_rewards`.
    """

    def __init__(self, config: RunConfig) -> None:
        self.rewards = find_rewards(config)
        self._limits = Limits(config.rewards.timeout, config.rewards.retries)
        self._skips = config.rewards.failing == "skip"
        self._gate = config.objectives[0].name if config.objectives[0].gate else None

    def measure(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        columns: Mapping[str, Sequence[Any]],
        further: Mapping[str, Any] = MappingProxyType({}),
    ) -> Measured:
        """Return the measurements of each rollout.

        Args:
            prompts: The prompt of each rollout.
            completions: The policy's responses, as texts or as messages.
            columns: Maps a name to a value for each rollout; ``id`` names the prompts in errors.
            further: Other arguments, passed on.

        Raises:
            BadRollout: A function raises, takes longer than the limit, or returns another number of
                values or one that is not finite; names prompt, objective and value.
        """
        given = {**columns, **further, "prompts": list(prompts), "completions": list(completions)}
        ids = [str(one) for one in columns["id"]]
        waiting = [one for one in self.rewards if one.is_async]
        values = {one.name: self._call(one, given, ids) for one in self.rewards if not one.is_async}
        values |= self._gather(waiting, given, ids)
        measured: Measured = [{} for _ in completions]
        for reward in self.rewards:
            value = values[reward.name]
            failed = value is _FAILED
            rows = check_components(reward, ids, [None for _ in ids] if failed else value)
            for one, row in zip(measured, rows, strict=True):
                one |= row | ({SKIPPED: (one.get(SKIPPED) or 0) + len(row)} if failed else {})
        return measured

    def _call(self, reward: Reward, given: Mapping[str, Any], ids: Sequence[str]) -> Any:
        def call() -> Any:
            result = reward.function(**reward.choose(given))
            if inspect.isawaitable(result):  # of a function that does not look asynchronous
                return _LOOPS.get().submit(_await(result)).result()
            return result

        try:
            return call_again(reward.name, call, ids, Limits() if reward.is_model else self._limits)
        except BadRollout as error:
            return self._fail(reward, error)

    def _gather(
        self, rewards: Sequence[Reward], given: Mapping[str, Any], ids: Sequence[str]
    ) -> dict[str, Any]:
        """Run asynchronous functions concurrently and return their values."""
        values = dict[str, Any]()
        pending = {
            one.name: _LOOPS.get().submit(
                await_again(one.name, partial(one.function, **one.choose(given)), ids, self._limits)
            )
            for one in rewards
        }
        for reward in rewards:
            try:
                values[reward.name] = pending[reward.name].result(self._limits.longest())
            except TimeoutError:  # it blocks the loop: the next batch gets another
                _LOOPS.drop()
                error = BadRollout(describe_hang(reward.name, ids, self._limits))
                values[reward.name] = self._fail(reward, error)
            except BadRollout as error:
                values[reward.name] = self._fail(reward, error)
        return values

    def _fail(self, reward: Reward, error: BadRollout) -> Any:
        """Raise the error, or log it and return the mark of a failed call."""
        if not self._skips or self._gate in reward.objectives:
            raise error
        _LOGGER.warning("%s: %s does not apply to these rollouts", error, reward.name)
        return _FAILED


def load_own_rewards(config: RunConfig) -> OwnRewards | None:
    """Return the reward functions of a run; None if its objectives need none."""
    own = OwnRewards(config)
    return own if own.rewards else None


async def _await(result: Any) -> Any:
    return await result
