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
from collections.abc import Awaitable, Callable, Mapping, Sequence
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
        named = list(dict.fromkeys(map(str, columns["id"])))
        of = f"prompt {named[0]!r}" + (f" and {len(named) - 1} more" if len(named) > 1 else "")
        measured: list[dict[str, float | None]] = [{} for _ in completions]
        for name, function in self._functions.items():
            values = self._call(name, function, given, of)
            if not isinstance(values, list | tuple) and not hasattr(values, "tolist"):
                raise BadRollout(f"the reward {name!r} must return a list, got {values!r} for {of}")
            listed = values if isinstance(values, list | tuple) else values.tolist()
            if len(listed) != len(completions):
                raise BadRollout(
                    f"the reward {name!r} returned {len(listed)} values for the "
                    f"{len(completions)} rollouts of {of}: one for each is expected, None where "
                    "it does not apply"
                )
            for one, prompt, value in zip(measured, columns["id"], listed, strict=True):
                one[name] = check_number(str(prompt), name, value)
        return measured

    def _call(self, name: str, function: Reward, given: Mapping[str, Any], of: str) -> Any:
        """In a thread of its own: a call that hangs must not hold the run."""
        outcome: dict[str, Any] = {}

        def run() -> None:
            try:
                result = function(**_wanted(function, given))
                outcome["values"] = (
                    asyncio.run(_await(result)) if inspect.isawaitable(result) else result
                )
            except BaseException as error:
                outcome["error"] = error

        thread = threading.Thread(target=run, name=f"reward {name}", daemon=True)
        thread.start()
        thread.join(self._timeout)
        if thread.is_alive():
            raise BadRollout(
                f"the reward {name!r} hung on {of}: it took more than rewards.timeout = "
                f"{self._timeout:g} seconds"
            )
        if "error" in outcome:
            error = outcome["error"]
            raise BadRollout(
                f"the reward {name!r} failed on {of}: {type(error).__name__}: {error}"
            ) from error
        return outcome["values"]


def load_own_rewards(config: RunConfig) -> OwnRewards | None:
    """Those of ``rewards.file``; None where there is none."""
    settings = config.rewards
    if settings.file == NONE:
        return None
    return OwnRewards(settings.file, [one.name for one in config.objectives], settings.timeout)


async def _await(result: Awaitable[Any]) -> Any:
    return await result


def _wanted(function: Reward, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function asks for: all of it, or the arguments that it names."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return dict(given)
    return {name: value for name, value in given.items() if name in parameters}
