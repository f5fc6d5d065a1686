"""A configuration key: one dataclass field with its meaning and its allowed values.

The sections of a configuration are made by :func:`settled`, and their fields by :func:`key`. One
declaration gives the check of a value, its error and its row on the page of keys. A key with ``of``
is an argument of values of another key. A file writes it in a table with the value's name,
``stage2_estimator = { name = "gd2po", conflict = 1.0 }``, or with a number, ``limit = { value =
300, share = 0.9 }``.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import typing
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, TypeVar, get_args, get_origin

T = TypeVar("T")
A_NUMBER = "a number"  # in place of the values that take an argument


class ConfigError(ValueError):
    """A configuration that cannot run; names the key, its allowed values and the given one."""


@dataclasses.dataclass(frozen=True)
class Key:
    """A field's meaning and allowed values, in addition to its name, type and default.

    Attributes:
        doc: One sentence, with the unit; shown in the documentation.
        low: Smallest allowed number, None for no bound; ``open_low`` excludes the bound itself.
        high: Largest allowed number, None for no bound; ``open_high`` excludes the bound itself.
        open_low: True excludes the lower bound.
        open_high: True excludes the upper bound.
        in_file: False for a field that TOML files do not set.
        shown_default: The documentation's text if the default says too little.
        of: For an argument of values of other keys: maps a key of the same section to the values
            that take it. A value that ends in a colon covers all values with this prefix. A file
            writes the argument with the first match; without such a value it has its default.
        in_module: A text names a function, ``package.module:name``.
    """

    doc: str
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    in_file: bool = True
    shown_default: str | None = None
    of: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    in_module: bool = False

    def find_owner(self, section: Any) -> str | None:
        """Return the key of a section whose value takes this argument; None if there is none."""
        return next(
            (key for key, names in self.of.items() if is_named(getattr(section, key), names)), None
        )

    def describe_range(self) -> str:
        """Return the allowed interval in words, or an empty string."""
        is_open = self.open_low or self.open_high
        if self.low is not None and self.high is not None and not is_open:
            return f"from {_number(self.low)} to {_number(self.high)}"
        ends = []
        if self.low is not None:
            ends.append(f"{'greater than' if self.open_low else 'of at least'} {_number(self.low)}")
        if self.high is not None:
            ends.append(f"{'less than' if self.open_high else 'at most'} {_number(self.high)}")
        return " and ".join(ends)

    def contains(self, value: float) -> bool:
        """Return whether the number is in the interval; NaN, infinities and overflows never are."""
        if not (math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63):
            return False
        if self.low is not None and (value < self.low or (self.open_low and value == self.low)):
            return False
        return self.high is None or not (
            value > self.high or (self.open_high and value == self.high)
        )


def key(default: Any, doc: str, **about: Any) -> Any:
    """Declare a field with its default; the rest are the attributes of :class:`Key`."""
    return dataclasses.field(default=default, metadata={"key": Key(doc, **about)})


def arguments(section: Any) -> dict[str, list[str]]:
    """Return the keys of a section whose values take arguments, with the arguments' names."""
    found: dict[str, list[str]] = {}
    for name, about in keys(section).items():
        for owner in about.of:
            found.setdefault(owner, []).append(name)
    return found


def is_named(value: Any, names: Iterable[str]) -> bool:
    """Return whether a value is one of the names, or begins with a name that ends in a colon.

    The name :data:`A_NUMBER` stands for every number.

    >>> is_named("tiny", ("tiny", "small:")), is_named("small:Qwen", ("small:",))
    (True, True)
    >>> is_named(300.0, (A_NUMBER,))
    True
    """
    if isinstance(value, float):
        return A_NUMBER in names
    return isinstance(value, str) and any(
        value == name or (name.endswith(":") and value.startswith(name)) for name in names
    )


def keys(section: Any) -> dict[str, Key]:
    """Return the documented fields of a section class or instance, by name, in order."""
    return {
        field.name: field.metadata["key"]
        for field in dataclasses.fields(section)
        if "key" in field.metadata
    }


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?``, or the list of names if none is similar."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(sorted(known))}"


def _suggest(value: Any, annotation: Any) -> str:
    """Return a question for the named value that is similar to a text, or ""."""
    named = [one for arm in _list_alternatives(annotation) for one in _literals(arm)]
    close = difflib.get_close_matches(value, named, n=1) if isinstance(value, str) else []
    return f'; did you mean "{close[0]}"?' if close else ""


def describe_values(annotation: Any, about: Key) -> str:
    """Return the allowed values in words: ``a number from 0 to 1``, ``"running" or "group"``."""
    arms = _list_alternatives(annotation)
    words = [f'"{value}"' for arm in arms for value in _literals(arm)]
    for arm in arms:
        if _literals(arm):
            continue
        if arm is bool:
            words.append("true or false")
        elif arm is str:
            words.append('"package.module:name"' if about.in_module else "a string")
        elif arm is int:
            words.append(f"an integer {about.describe_range()}".rstrip())
        elif arm is float:
            words.append(f"a number {about.describe_range()}".rstrip())
        elif get_origin(arm) is tuple:
            item = get_args(arm)[0]
            kind = "strings" if item is str else "integers" if item is int else "numbers"
            words.append(f"a list of {kind} {about.describe_range()}".rstrip())
    return " or ".join(words)


# The rules between the keys of each class: the rule, with which its error begins ("{name}" is the
# name of an objective); the keys whose values the error shows; and a function that returns whether
# values break the rule, or how, as the end of the error.
RULES: dict[type, tuple[tuple[str, str, Callable[[Any], Any]], ...]] = {}


def check_rules(values: Any) -> None:
    """Refuse values that break a rule.

    Raises:
        ConfigError: The message has the rule and the values.
    """
    for text, shown, breach in RULES.get(type(values), ()):
        found = breach(values)
        if found and not isinstance(found, str):
            came = {name: attrgetter(name)(values) for name in shown.split()}
            told = (f'"{one}"' if isinstance(one, str) else f"{one}" for one in came.values())
            found = ", got " + " and ".join(map(" = ".join, zip(came, told, strict=True)))
        if found:
            raise ConfigError(text.format(name=getattr(values, "name", "")) + found)


@typing.dataclass_transform(frozen_default=True)
def settled(where: str) -> Callable[[type[T]], type[T]]:
    """Make a frozen dataclass whose constructor takes written values and keeps settled ones.

    A static method `fill` of the class gives the keys that were not written, None, their values;
    :func:`settle` converts them; and the values keep the :data:`RULES` of the class.

    Args:
        where: The section's name in errors; ``{name}`` is the value of the key `name`.
    """

    def make(kind: type[T]) -> type[T]:
        made: Any = dataclasses.dataclass(frozen=True)(kind)
        store, fields = made.__init__, dataclasses.fields(made)

        @functools.wraps(store)
        def construct(self: T, *values: Any, **written: Any) -> None:
            written |= dict(zip((field.name for field in fields), values, strict=False))
            store(self, **settle(kind, where, written))
            check_rules(self)

        made.__init__ = construct
        return kind

    return make


def settle(kind: Any, where: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a class that hold, from those that were written.

    Lists become tuples and integers numbers, as the types of the keys say. An argument of a value
    that was not chosen has no effect, and its default. A key of type ``X | None`` may be None.

    Raises:
        ConfigError: A value has the wrong type or is out of range. The message names ``where.key``,
            the allowed values and the given one.
    """
    hints, declared = _read_hints(kind), keys(kind)
    defaults = {name: kind.__dataclass_fields__[name].default for name in declared}
    values = {**defaults, **written}
    values = kind.fill(values) if hasattr(kind, "fill") else values
    for name, about in declared.items():
        value = values[name]
        if value is None and type(None) in get_args(hints[name]):
            continue
        try:
            values[name] = _convert(value, _list_alternatives(hints[name]), about)
        except ValueError:
            prefix = where.format(name=values.get("name"))
            full_name = f"{prefix}.{name}" if prefix else name
            message = f"{full_name} must be {describe_values(hints[name], about)}, got {value!r}"
            raise ConfigError(message + _suggest(value, hints[name])) from None
        if about.of and about.find_owner(SimpleNamespace(**values)) is None:
            values[name] = defaults[name]
    return values


_read_hints = functools.cache(typing.get_type_hints)  # which compiles every annotation


def _number(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"


def _list_alternatives(annotation: Any) -> tuple[Any, ...]:
    """Return the alternatives of a union, without None, which a file cannot write."""
    if get_origin(annotation) in (typing.Union, type(int | str)):
        return tuple(arm for arm in get_args(annotation) if arm is not type(None))
    return (annotation,)


def _literals(arm: Any) -> tuple[Any, ...]:
    return get_args(arm) if get_origin(arm) is typing.Literal else ()


def _convert(value: Any, arms: tuple[Any, ...], about: Key) -> Any:
    """Convert the value to the first alternative that accepts it; ValueError if none does."""
    for arm in arms:
        if value in _literals(arm) and isinstance(value, str):
            return value
        if arm is bool and isinstance(value, bool):
            return value
        named = not about.in_module or (isinstance(value, str) and ":" in value)
        if arm is str and isinstance(value, str) and _is_text(value) and named:
            return value
        if isinstance(value, bool):
            continue
        if arm is int and isinstance(value, int) and about.contains(value):
            return value
        if arm is float and isinstance(value, int | float) and about.contains(value):
            return float(value)
        if get_origin(arm) is tuple and isinstance(value, list | tuple) and value:
            return tuple(
                _convert(item, _list_alternatives(get_args(arm)[0]), about) for item in value
            )
    raise ValueError(value)


def _is_text(value: str) -> bool:
    """Return whether a text is usable in a file name and in UTF-8: no NUL, no lone surrogate."""
    return bool(value) and not any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value)
