"""Errors for calls with unknown, missing or extra arguments, such as the names of other libraries.

Python's own errors name the wrong argument, not the right one, and report a missing argument before
a misspelt one. A public function therefore takes ``*extra`` and ``**wrong``, which `explain_calls`
hides from ``help``, and its required arguments have the default `MISSING`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, Never, NoReturn, TypeVar

from paretopo_core._machinery.other_names import suggest_argument

_Function = TypeVar("_Function", bound=Callable[..., Any])
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

# True if the sense of the value is inverted.
_SENSES = {"minimise": True, "minimize": True, "maximize": False}
_HINTS = {
    "ref": ", the reference point: a number, or one per objective; reference_point() suggests one",
    "target": ", the target set: shape (points, objectives)",
}


class _Nothing(type):
    def __repr__(cls) -> str:
        return "nothing"


class _Missing(metaclass=_Nothing):
    """The value of a required argument that the caller left out; every check refuses it."""


MISSING: Any = _Missing


def explain_calls(function: _Function) -> _Function:
    """Let a function report a wrong name before a missing argument; there is no wrapper."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind not in _VARIADIC]
    required = [each for each in own if each.default is each.empty and each.name != "self"]
    named = {each.name: MISSING for each in required if each.kind is each.KEYWORD_ONLY}
    described: Any = function
    described.__signature__ = signature.replace(parameters=own)
    leading = (MISSING,) * (len(required) - len(named))
    described.__defaults__ = leading + (described.__defaults__ or ())
    described.__kwdefaults__ = named | (described.__kwdefaults__ or {})
    return function


def refuse_call(extra: tuple[Never, ...], wrong: Mapping[str, Any]) -> NoReturn:
    """Raise TypeError for the caller's first unknown, extra or missing argument."""
    frame = sys._getframe(1)
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    known = [name for name in code.co_varnames[:count] if name != "self"]
    function = "ParetoArchive" if code.co_name == "__init__" else code.co_name
    if wrong:
        name, value = next(iter(wrong.items()))
        raise TypeError(f"{function}() has no argument {name!r}; {_suggest(name, value, known)}")
    if extra:
        given = repr(extra[0])[:40]
        named = code.co_varnames[code.co_argcount : count]
        is_sense = isinstance(extra[0], bool) and "maximise" in named
        example = f"maximise={given}" if is_sense else ", ".join(f"{name}=" for name in named)
        leading = ", ".join(known[: len(known) - code.co_kwonlyargcount])
        raise TypeError(
            f"{function}({leading}) takes no argument at the place of {given}: pass it by name"
            + (f", as {example}" if is_sense else f"; it has {example}" if named else "")
        )
    name = next(name for name in known if frame.f_locals[name] is MISSING)
    raise TypeError(f"{function}() needs {name}={_HINTS.get(name, '')}")


def _suggest(name: str, value: Any, known: list[str]) -> str:
    if name.lower() in _SENSES and "maximise" in known:
        turned = _turn(value) if _SENSES[name.lower()] else value
        return "pass maximise=" + ("" if turned is None else repr(turned))
    meaning = suggest_argument(name, known)
    if meaning:
        return meaning
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}=?" if close else f"it has {', '.join(known)}"


def _turn(value: Any) -> Any:
    """Invert senses; None for anything but a bool or a list of bools."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (list, tuple)) and all(isinstance(each, bool) for each in value):
        return [not each for each in value]
    return None
