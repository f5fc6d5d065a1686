"""Errors for unknown arguments: where an argument goes, or which one has a similar name."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import ParamSpec, TypeVar

from trl import GRPOConfig, GRPOTrainer

from paretopo.config import ConfigError, RunConfig

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def explain_calls(
    *inner: Callable[..., object], places: Mapping[str, Callable[..., object]] | None = None
) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Let a public function explain an unknown argument.

    Args:
        inner: Functions that get its other keyword arguments.
        places: Functions to which an unknown argument may belong, by the text of their call.
    """

    def decorate(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        own = [name for one in (function, *inner) for name in _list_names(one)]
        door = function.__qualname__.removesuffix(".__init__")

        @functools.wraps(function)
        def called(*args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
            for name in kwargs:
                if name not in own:
                    hint = _find_place(name, own, places or {})
                    raise TypeError(f"{door}() has no argument {name!r}: {hint}")
            try:
                inspect.signature(function).bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{door}(): {error}; pass {'=, '.join(own)}= by name") from None
            return function(*args, **kwargs)

        return called

    return decorate


def check_type(name: str, value: object, kinds: type | tuple[type, ...], example: str) -> None:
    """Refuse a value of another type; None is the default of every argument.

    Raises:
        ConfigError: Names the argument, with an example.
    """
    if value is not None and not isinstance(value, kinds):
        raise ConfigError(f"{name} must be given as {example}, got {value!r:.80}")


def _list_names(function: Callable[..., object]) -> list[str]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.kind not in variadic and one.name != "self"]


def _find_place(name: str, own: list[str], calls: Mapping[str, Callable[..., object]]) -> str:
    places = {one: f"{one}=" for one in own}
    for form, names in (
        *((form, _list_names(call)) for form, call in calls.items()),
        ("{}= to ParetoGRPOTrainer", _list_names(GRPOTrainer.__init__)),
        ("args=GRPOConfig({}=...)", [one.name for one in fields(GRPOConfig)]),
        ('session=ScriptSession({{"{}": ...}})', [one.name for one in fields(RunConfig)]),
    ):
        places = {one: form.format(one) for one in names} | places
    if name in places:
        return f"pass {places[name]}"
    for close in difflib.get_close_matches(name, places, n=1):
        return f"did you mean {places[close]}?"
    return f"it has {', '.join(own)}"
