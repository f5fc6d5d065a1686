"""The reward functions of a run: from ``rewards.file``, from packages, or a reward model.

An objective takes the function of ``rewards.file`` that has its name, unless its key ``function``
names another: one of that file, ``"package.module:name"``, or ``"model:NAME"``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from paretopo.config import MEASURES, NONE, ConfigError, Objective, RunConfig
from paretopo.config.keys import nearest
from paretopo.config.python_files import MODEL, import_call, load_module
from paretopo.rewards.calls import is_async

# TRL's arguments of every reward function.
_OF_TRL = ("prompts", "completions", "completion_ids")


@dataclass(frozen=True)
class Reward:
    """A reward function, and the objectives that it measures.

    Attributes:
        name: Its name in errors.
        objectives: Their names; a function with several returns a number for each.
        function: A function in TRL's form.
        is_async: True if it returns a coroutine.
        wants: The arguments that it names; None for all available ones.
        needs: The named arguments without a default.
    """

    name: str
    objectives: tuple[str, ...]
    function: Callable[..., Any]
    is_async: bool
    wants: frozenset[str] | None
    needs: tuple[str, ...]

    @property
    def is_model(self) -> bool:
        """Return whether it is a reward model, which has no time limit: its first call loads it."""
        return bool(getattr(self.function, "is_model", False))

    def choose(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the function."""
        if self.wants is None:
            return dict(given)
        return {name: value for name, value in given.items() if name in self.wants}


def find_rewards(config: RunConfig) -> list[Reward]:
    """Return the reward functions of a run, in the order of its objectives; loads no model.

    Raises:
        ConfigError: A file or package is missing or fails, or has no such function, or
            ``rewards.file`` has one that is not an objective.
    """
    file = _File(config.rewards.file)
    measured: dict[str, list[str]] = {}  # by the function's name
    for one in config.objectives:
        named = one.function or (one.name if file.get(one.name) is not None else None)
        if named is not None:
            measured.setdefault(named, []).append(one.name)
    file.refuse_unused(measured, config.objectives)
    return [
        describe_function(named, tuple(names), _find(named, names[0], file))
        for named, names in measured.items()
    ]


def check_measured(config: RunConfig, rewards: Sequence[Reward]) -> None:
    """Refuse an objective that nothing measures.

    Raises:
        ConfigError: Names the objective, and the nearest known name.
    """
    measured = {name for one in rewards for name in one.objectives}
    functions = _File(config.rewards.file).names()
    for one in config.objectives:
        if one.name not in measured and one.name not in MEASURES:
            where = "there is no rewards.file"
            if config.rewards.file != NONE:
                where = f"{config.rewards.file} has no function of that name"
            raise ConfigError(
                f"objectives.{one.name}: nothing measures it, and {where}; "
                f"{nearest(one.name, [*functions, *MEASURES])} An objective is one of "
                f"{', '.join(MEASURES)}, a function of rewards.file, or the key function's value"
            )


class _File:
    """The functions of ``rewards.file``; none without one."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._module = None if path == NONE else load_module("rewards.file", Path(path))

    def get(self, name: str) -> Callable[..., Any] | None:
        """Return the callable of this name, or None."""
        found = getattr(self._module, name, None)
        if inspect.isclass(found):
            raise ConfigError(
                f"rewards.file: {self._path} has a class {name!r}, and a reward is a function or "
                f"an object that can be called: write {name} = {name}() below the class"
            )
        return found if callable(found) else None

    def names(self) -> list[str]:
        """Return the names that it defines, except those that begin with ``_``."""
        if self._module is None:
            return []
        return [
            name
            for name, value in vars(self._module).items()
            if inspect.isfunction(value)
            and value.__module__ == self._module.__name__
            and not name.startswith("_")
        ]

    def refuse_unused(
        self, used: Mapping[str, Sequence[str]], objectives: Sequence[Objective]
    ) -> None:
        """Refuse functions that are not objectives: a mistake, or a helper without ``_``."""
        if self._module is None:
            return
        names = [one.name for one in objectives]
        for name in self.names():
            if name not in used:
                raise ConfigError(
                    f"rewards.file: {self._path} has a function {name!r}, which is not an "
                    "objective: name it in [[objectives]], or begin it with _; "
                    f"{nearest(name, names)}"
                )
        if not any(self.get(name) is not None for name in used):
            raise ConfigError(
                f"rewards.file: {self._path} has no function of an objective ({', '.join(names)})"
            )


def _find(named: str, objective: str, file: _File) -> Callable[..., Any]:
    key = f"objectives.{objective}.function"
    if named.startswith(MODEL):
        # Import by name, as for back ends: an integration imports this package.
        models = import_module("paretopo.integrations.huggingface.reward_model")
        made: Callable[..., Any] = models.RewardModel(named.removeprefix(MODEL))
        return made
    if ":" in named:
        return _find_in_package(key, named)
    found = file.get(named)
    if found is None:
        raise ConfigError(
            f"{key} = {named!r} is no function of rewards.file; {nearest(named, file.names())} "
            'One of a package is "package.module:name"'
        )
    return found


def _find_in_package(key: str, named: str) -> Callable[..., Any]:
    found, parameters = import_call(key, named)
    if not inspect.isclass(found) and _takes_rollouts(found):
        return functools.partial(found, **parameters) if parameters else found
    try:
        made = found(**parameters)  # a class, or a factory of the function
    except Exception as error:
        raise ConfigError(f"{key} = {named!r} fails: {type(error).__name__}: {error}") from error
    if not callable(made):
        raise ConfigError(
            f"{key} = {named!r} must be a reward function, or return one, got {made!r:.80}"
        )
    return made  # type: ignore[no-any-return]


def _takes_rollouts(function: Callable[..., Any]) -> bool:
    """Return whether it is a reward function instead of a factory of one."""
    parameters = _parameters(function)
    names = {one.name for one in parameters}
    only_keywords = all(one.kind is one.VAR_KEYWORD for one in parameters)
    return bool(names & set(_OF_TRL)) or (bool(names) and only_keywords)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters; empty for a C function that does not report them."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return []


def describe_function(
    named: str, objectives: tuple[str, ...], function: Callable[..., Any]
) -> Reward:
    """Describe a reward function and its arguments."""
    name = objectives[0] if len(objectives) == 1 else named
    parameters = _parameters(function)
    named_ones = [one for one in parameters if one.kind in (one.KEYWORD_ONLY, _BOTH)]
    return Reward(
        name,
        objectives,
        function,
        is_async(function),
        None
        if any(one.kind is one.VAR_KEYWORD for one in parameters)
        else frozenset(one.name for one in named_ones),
        tuple(one.name for one in named_ones if one.default is one.empty),
    )


_BOTH = inspect.Parameter.POSITIONAL_OR_KEYWORD
