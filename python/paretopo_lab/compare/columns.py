"""Columns of a log's rows, by dotted paths into nested objects, and the objectives they hold."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from paretopo.config import ConfigError
from paretopo.records.measures import Measure
from paretopo_lab.document.report import join_some

if TYPE_CHECKING:
    from paretopo_lab.read.logs import Log

_LENGTH = re.compile(r"len\((.+)\)")
_SHOWN = 40  # columns in an error
_READ = 100  # rows from which columns are listed
_WIDTH = 40  # characters of an example
_ADDED = " (added by paretopo)"
_MONEY = "$€£"
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d*)?")
_DEPTH = 4  # of nested objects that an error lists
WORDS = {"true": 1.0, "false": 0.0}
_MISSING = ("", "na", "nan", "none", "null")  # as text; CSV writers differ
_BETTER = {"max": "more", "min": "fewer"}
_NOTHING = object()


def parse_objective(text: str) -> Measure:
    """Parse ``COLUMN:max``, ``COLUMN:min`` or ``NAME=COLUMN:max``.

    Raises:
        ConfigError: the direction is missing, or the column.

    >>> parse_objective("tokens=usage.output_tokens:min").label
    'tokens, fewer is better'
    """
    column, colon, direction = text.rpartition(":")
    if not colon or direction not in _BETTER:
        name = text if not colon else column
        raise ConfigError(
            f"--objective must be COLUMN:max or COLUMN:min, got {text!r}; write {name}:max if "
            f"larger is better, or {name}:min"
        )
    name, _, path = column.rpartition("=")
    if not path:
        raise ConfigError(f"--objective must name a column before :{direction}, got {text!r}")
    return Measure(path, name or path, better=_BETTER[direction])  # type: ignore[arg-type]


def find_value(row: Any, path: str) -> Any:
    """Return a value by its path; None if a part of the path is missing.

    A key of the row may contain dots; the longest key that fits has precedence. Numbers in a path
    index lists. ``len(PATH)`` is the length of a text, list or object.

    >>> row = {"scores": {"match": {"value": 1}}, "usage.tokens": 7, "resps": [["four"]]}
    >>> [find_value(row, path) for path in ("scores.match.value", "usage.tokens", "len(resps.0.0)")]
    [1, 7, 4]
    """
    length = _LENGTH.fullmatch(path)
    if length:
        value = find_value(row, length[1])
        return len(value) if isinstance(value, str | list | dict) else None
    found = _search(row, path)
    return None if found is _NOTHING else found


def _search(value: Any, path: str) -> Any:
    if isinstance(value, list):
        head, _, rest = path.partition(".")
        if not head.isdigit() or int(head) >= len(value):
            return _NOTHING
        return _search(value[int(head)], rest) if rest else value[int(head)]
    if not isinstance(value, Mapping):
        return _NOTHING
    if path in value:
        return value[path]
    head = path
    while "." in head:
        head = head.rpartition(".")[0]
        if head in value:
            found = _search(value[head], path[len(head) + 1 :])
            if found is not _NOTHING:
                return found
    return _NOTHING


def to_number(value: Any) -> float | None:
    """Return a value of a log as a number, or None if it is missing.

    Truth values count as 1 and 0. Numbers may be texts, as in CSV, with the marks of leaderboards:
    of money, percent and thousands.

    Raises:
        ValueError: it is something else, or infinite.

    >>> [to_number(value) for value in (True, "0.5", "", None, "$1.41", "85 %", "1,234")]
    [1.0, 0.5, None, None, 1.41, 85.0, 1234.0]
    """
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _MISSING:
            return None
        text = text.removesuffix("%").strip().lstrip(_MONEY)
        text = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
        number = WORDS[text] if text in WORDS else float(text)
    elif isinstance(value, bool | int | float):
        number = float(value)
    elif value is None:
        return None
    else:
        raise ValueError("not a number")
    if math.isinf(number):
        raise ValueError("infinite")
    return None if math.isnan(number) else number


def list_examples(log: Log) -> dict[str, tuple[str, bool]]:
    """Return the path of each column, with an example and whether it holds numbers only.

    The order is that of the file; columns that the program added are last, and named as such.
    """
    found: dict[str, tuple[Any, bool]] = {}
    for row in log.rows[:_READ]:
        for path, value in list_values(row):
            example, is_number = found.get(path, (value, True))
            shown = value if example in (None, "") else example
            found[path] = shown, is_number and _is_number(value)
    order = sorted(found.items(), key=lambda one: one[0] in log.added)  # which is stable
    return {
        path: (
            shorten(" ".join(str(example).split()), _WIDTH) + (_ADDED if path in log.added else ""),
            is_number,
        )
        for path, (example, is_number) in order
    }


def shorten(text: str, most: int = 60) -> str:
    """Return the beginning of a text that is longer than `most` characters.

    >>> shorten("a long text", 9)
    'a long...'
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def describe_columns(log: Log, wanted: str) -> str:
    """List the columns for an error, with the nearest one to a wrong name first."""
    known = {
        path: (repr(path) if re.search(r"[\s,]", path) else path)
        + (_ADDED if path in log.added else "")
        for path in list_examples(log)
    }
    close = difflib.get_close_matches(wanted, known, n=1)
    hint = f"did you mean {known[close[0]]}? " if close else ""
    return f"{hint}its columns are {join_some(list(known.values()), _SHOWN)}"


def list_values(value: Any, path: str = "", depth: int = 0) -> Iterable[tuple[str, Any]]:
    """Yield the path of each value of a row, and the value; nested objects down to four levels.

    >>> list(list_values({"usage": {"tokens": 7}, "right": True}))
    [('usage.tokens', 7), ('right', True)]
    """
    if isinstance(value, Mapping) and value and depth < _DEPTH:
        for key, inner in value.items():
            yield from list_values(inner, f"{path}.{key}" if path else str(key), depth + 1)
    elif path:
        yield path, value


def _is_number(value: Any) -> bool:
    try:
        to_number(value)
    except ValueError:
        return False
    return True
