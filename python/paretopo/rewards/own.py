"""Rewards of the user's own: functions in a Python file, as TRL takes them.

::

    def polite(prompts, completions, **columns):
        return [float("please" in text) for text in completions]

    async def grounded(completions, source, **columns):
        return [None if not one else score(text, one) for text, one in zip(completions, source)]

A function's name is its objective's. It gets lists, a value for each rollout: ``prompts`` as they
stand in the file, ``completions``, what the policy wrote as text, ``answer``, ``id`` and ``kind``,
and the file's further columns by name; of these only what it asks for. It returns a number for
each, in the objective's own unit, or None where the objective does not apply.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from paretopo.config import NONE, ConfigError, RunConfig
from paretopo.config.keys import nearest
from paretopo.config.python_files import load_functions
from paretopo.rewards.measures import check_number
from paretopo.rollout import BadRollout

Reward = Callable[..., Any]


class OwnRewards:
    """The functions of a file, called with a limit.

    Args:
        path: The file.
        names: The objectives of the run.
        timeout: Seconds that a call may take.

    Raises:
        ConfigError: The file is missing or fails, has no function, or one that is no objective.
    """

    def __init__(self, path: str, names: Sequence[str], timeout: float) -> None:
        self._timeout = timeout
        self._functions: dict[str, Reward] = load_functions("rewards.file", Path(path))
        for name in self._functions:
            if name not in names:
                raise ConfigError(
                    f"rewards.file: {path} has a function {name!r}, which is no objective; "
                    f"{nearest(name, names)}: name it in [[objectives]], or begin it with _"
                )

    def measure(
        self,
        prompts: Sequence[Any],
        completions: Sequence[str],
        columns: Mapping[str, Sequence[Any]],
    ) -> list[dict[str, float | None]]:
        """What each rollout measured.

        Args:
            prompts: Of each rollout.
            completions: What the policy wrote.
            columns: Name → a value for each rollout; ``id`` names the prompts in errors.

        Raises:
            BadRollout: A function raises, takes longer than the limit, or returns another number
                of values or one that is no finite number; names prompt, objective and value.
        """
        given = {**columns, "prompts": list(prompts), "completions": list(completions)}
        ids = [str(one) for one in columns["id"]]
        measured: list[dict[str, float | None]] = [{} for _ in completions]
        for name, function in self._functions.items():
            with blame(name, ids, self._timeout):
                values = call_with_limit(partial(_call, function, given), self._timeout)
            for one, value in zip(measured, check_values(name, ids, values), strict=True):
                one[name] = value
        return measured


class Hung(Exception):
    """A call that took longer than its limit."""


def call_with_limit(call: Callable[[], Any], seconds: float) -> Any:
    """What a call returns or raises, made in a thread: one that hangs must not hold the run.

    Raises:
        Hung: It took longer than so many seconds.
    """
    outcome: dict[str, Any] = {}

    def run() -> None:
        try:
            outcome["value"] = call()
        except BaseException as error:
            outcome["error"] = error

    thread = threading.Thread(target=run, name="reward", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise Hung
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


@contextmanager
def blame(name: str, prompts: Sequence[str], seconds: float | None) -> Iterator[None]:
    """Say of which reward function and prompts an error is.

    Args:
        name: Of the function.
        prompts: Names of those that it was given.
        seconds: Its limit; None where it has none.

    Raises:
        BadRollout: It failed, or hung.
    """
    try:
        yield
    except Hung:
        raise BadRollout(
            f"the reward {name!r} hung on {name_prompts(prompts)}: it took more than "
            f"rewards.timeout = {seconds:g} seconds"
        ) from None
    except (Exception, SystemExit) as error:
        raise BadRollout(
            f"the reward {name!r} failed on {name_prompts(prompts)}: {type(error).__name__}: "
            f"{error}"
        ) from error


def check_values(name: str, prompts: Sequence[str], values: Any) -> list[float | None]:
    """What a reward function returned, one number or None for each rollout.

    Args:
        name: Of the function.
        prompts: Of which prompt each rollout is.
        values: A list, tuple, array or tensor.

    Raises:
        BadRollout: It is none of these, of another length, or a value is no finite number.
    """
    if not isinstance(values, list | tuple) and not hasattr(values, "tolist"):
        raise BadRollout(
            f"the reward {name!r} must return a list, got {values!r} for {name_prompts(prompts)}"
        )
    listed = values if isinstance(values, list | tuple) else values.tolist()
    if len(listed) != len(prompts):
        raise BadRollout(
            f"the reward {name!r} returned {len(listed)} values for the {len(prompts)} rollouts of "
            f"{name_prompts(prompts)}: one for each is expected, None where it does not apply"
        )
    return [check_number(prompt, name, one) for prompt, one in zip(prompts, listed, strict=True)]


def name_prompts(names: Sequence[str]) -> str:
    """The first, and how many there are besides.

    >>> name_prompts(["a", "a", "b"])
    "prompt 'a' and 1 more"
    """
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - 1} more" if len(different) > 1 else ""
    return f"prompt {different[0]!r}{more}"


def load_own_rewards(config: RunConfig) -> OwnRewards | None:
    """Those of ``rewards.file``; None where there is none."""
    settings = config.rewards
    if settings.file == NONE:
        return None
    return OwnRewards(settings.file, [one.name for one in config.objectives], settings.timeout)


def _call(function: Reward, given: Mapping[str, Any]) -> Any:
    result = function(**_wanted(function, given))
    return asyncio.run(_await(result)) if inspect.isawaitable(result) else result


async def _await(result: Awaitable[Any]) -> Any:
    return await result


def _wanted(function: Reward, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function asks for: all of it, or the arguments that it names."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return dict(given)
    return {name: value for name, value in given.items() if name in parameters}
