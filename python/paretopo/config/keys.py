"""A configuration key: one dataclass field with its meaning and its allowed values.

The sections of a configuration are frozen dataclasses whose fields come from :func:`key`. One
declaration gives the check of a value, the words of its error and the row of ``docs/training.md``.
A field from :func:`argument` belongs to values of another key: a file has it in a table with the
value's name, ``stage2_estimator = { name = "gd2po", conflict = 1.0 }``.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import typing
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_origin


class ConfigError(ValueError):
    """A configuration that cannot run; names the key, the values it allows and the given one."""


@dataclasses.dataclass(frozen=True)
class Key:
    """A field's meaning and allowed values, beside its name, type and default."""

    doc: str
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    in_file: bool = True
    shown_default: str | None = None
    of: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)

    def find_owner(self, section: Any) -> str | None:
        """The key of a section whose value takes this argument; None where none does."""
        return next(
            (key for key, names in self.of.items() if is_named(getattr(section, key), names)), None
        )

    def describe_range(self) -> str:
        """The allowed interval in words, or an empty string."""
        if self.low is None and self.high is None:
            return ""
        if self.high is None:
            return f"{'greater than' if self.open_low else 'at least'} {_number(self.low)}"
        low = (
            ""
            if self.low is None
            else f"{'above' if self.open_low else 'from'} {_number(self.low)} "
        )
        return f"{low}{'to below' if self.open_high else 'to'} {_number(self.high)}"

    def contains(self, value: float) -> bool:
        """Is the number inside the interval? NaN, infinities and what no 64 bits hold never are."""
        if not (math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63):
            return False
        if self.low is not None and (value < self.low or (self.open_low and value == self.low)):
            return False
        return self.high is None or not (
            value > self.high or (self.open_high and value == self.high)
        )


def key(
    default: Any,
    doc: str,
    *,
    low: float | None = None,
    high: float | None = None,
    open_low: bool = False,
    open_high: bool = False,
    in_file: bool = True,
    shown_default: str | None = None,
) -> Any:
    """Declare a documented field.

    Args:
        default: value when the key is absent.
        doc: one sentence, with the unit; shown in the documentation.
        low: smallest allowed number, None for no bound; ``open_low`` excludes the bound itself.
        high: largest allowed number, None for no bound; ``open_high`` excludes the bound itself.
        open_low: the lower bound is not allowed.
        open_high: the upper bound is not allowed.
        in_file: False for a field that TOML files do not set.
        shown_default: what the documentation shows where ``default`` says too little.
    """
    about = Key(doc, low, high, open_low, open_high, in_file, shown_default)
    return dataclasses.field(default=default, metadata={"key": about})


def argument(default: Any, doc: str, of: Mapping[str, tuple[str, ...]], **bounds: Any) -> Any:
    """Declare an argument of values of other keys; it has its default where none takes it.

    Args:
        default: value when it is absent.
        doc: as for :func:`key`.
        of: key of the same section → the values that take it; a value that ends in a colon stands
            for all that begin with it. The argument is written with the first that has such a one.
        **bounds: as for :func:`key`.
    """
    about = Key(doc, of=of, **bounds)
    return dataclasses.field(default=default, metadata={"key": about})


def arguments(section: Any) -> dict[str, list[str]]:
    """The keys of a section whose values take arguments, with the names of all of those."""
    found: dict[str, list[str]] = {}
    for name, about in keys(section).items():
        for owner in about.of:
            found.setdefault(owner, []).append(name)
    return found


def is_named(value: Any, names: Iterable[str]) -> bool:
    """Is a value one of these, or, where one ends in a colon, does it begin with that?

    >>> is_named("tiny", ("tiny", "small:")), is_named("small:Qwen", ("small:",))
    (True, True)
    """
    return isinstance(value, str) and any(
        value == name or (name.endswith(":") and value.startswith(name)) for name in names
    )


def keys(section: Any) -> dict[str, Key]:
    """The documented fields of a section class or instance, by name, in order."""
    return {
        field.name: field.metadata["key"]
        for field in dataclasses.fields(section)
        if "key" in field.metadata
    }


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean 'x'?)``, or the list of names where none is near."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(sorted(known))}"


def describe_values(annotation: Any, about: Key) -> str:
    """The values that a field takes: ``a number from 0 to 1``, ``"running" or "group"``."""
    arms = _arms(annotation)
    words = [f'"{value}"' for arm in arms for value in _literals(arm)]
    for arm in arms:
        if _literals(arm):
            continue
        if arm is bool:
            words.append("true or false")
        elif arm is str:
            words.append("a text")
        elif arm is int:
            words.append(f"an integer {about.describe_range()}".rstrip())
        elif arm is float:
            words.append(f"a number {about.describe_range()}".rstrip())
        elif get_origin(arm) is tuple:
            item = get_args(arm)[0]
            kind = "texts" if item is str else "integers" if item is int else "numbers"
            words.append(f"a list of {kind} {about.describe_range()}".rstrip())
    return " or ".join(words)


def check_section(section: Any, where: str) -> None:
    """Check every documented field of a section and bring lists and integers to their type.

    A field of type ``X | None`` may be None, which no file can write.

    Raises:
        ConfigError: a value of the wrong type or outside its range; the message names
            ``where.key``, what is allowed and what came.
    """
    hints = typing.get_type_hints(type(section))
    for name, about in keys(section).items():
        value = getattr(section, name)
        if value is None and type(None) in get_args(hints[name]):
            continue
        try:
            fitted = _convert(value, _arms(hints[name]), about)
        except ValueError:
            full_name = f"{where}.{name}" if where else name
            message = f"{full_name} must be {describe_values(hints[name], about)}, got {value!r}"
            raise ConfigError(message) from None
        if about.of and about.find_owner(section) is None:
            fitted = type(section).__dataclass_fields__[name].default  # it has no effect
        object.__setattr__(section, name, fitted)


def _number(bound: float | None) -> str:
    return "" if bound is None else str(bound) if isinstance(bound, int) else f"{bound:g}"


def _arms(annotation: Any) -> tuple[Any, ...]:
    """The alternatives of a union; None is not one that a file can write."""
    if get_origin(annotation) in (typing.Union, type(int | str)):
        return tuple(arm for arm in get_args(annotation) if arm is not type(None))
    return (annotation,)


def _literals(arm: Any) -> tuple[Any, ...]:
    return get_args(arm) if get_origin(arm) is typing.Literal else ()


def _convert(value: Any, arms: tuple[Any, ...], about: Key) -> Any:
    """The value as the first alternative that takes it; ValueError when none does."""
    for arm in arms:
        if value in _literals(arm) and isinstance(value, str):
            return value
        if arm is bool and isinstance(value, bool):
            return value
        if arm is str and isinstance(value, str) and _is_text(value):
            return value
        if isinstance(value, bool):
            continue
        if arm is int and isinstance(value, int) and about.contains(value):
            return value
        if arm is float and isinstance(value, int | float) and about.contains(value):
            return float(value)
        if get_origin(arm) is tuple and isinstance(value, list | tuple) and value:
            return tuple(_convert(item, _arms(get_args(arm)[0]), about) for item in value)
    raise ValueError(value)


def _is_text(value: str) -> bool:
    """Not empty, and fit for a file name and for UTF-8: no NUL, no half of a surrogate pair."""
    return bool(value) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
