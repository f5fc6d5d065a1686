"""Files that survive a kill: records as lines of JSON, and files that are replaced whole.

A record is an object with its step. Lines are appended as a whole, so a killed process leaves at
most one torn last line, which is dropped at the next read or append.
"""

from __future__ import annotations

import errno
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

from paretopo.config import ConfigError

Row: TypeAlias = dict[str, Any]


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Add a line; NumPy and torch values become plain ones, NaN and infinity null.

    Raises:
        ValueError: the row does not say its step.
        OSError: The row was not written whole, as on a full disk.
    """
    if "step" not in row:
        raise ValueError(f"a row of {path.name} must say its step, got keys {sorted(row)}")
    line = (json.dumps(to_json(row), separators=(",", ":")) + "\n").encode()
    _drop_torn_line(path)
    # One write to a file opened for appending: a row is there whole or is the torn last line.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        written = os.write(descriptor, line)
    finally:
        os.close(descriptor)
    if written < len(line):
        raise OSError(
            errno.ENOSPC,
            f"only {written} of the {len(line)} bytes of a record were written: free space on the "
            "disk, and resume the run",
            str(path),
        )


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the complete lines of a file, one at a time; none if the file is missing.

    Raises:
        ConfigError: a line is no object with a step; names file and line.
    """
    for _, row in _read_lines(path):
        yield row


def keep_rows(path: Path, wanted: Callable[[Row], bool]) -> None:
    """Keep only the wanted rows; the file is replaced as a whole, never half written."""
    if not path.exists():
        return
    temporary = path.with_name(path.name + ".new")
    with temporary.open("wb") as kept:
        kept.writelines(line for line, row in _read_lines(path) if wanted(row))
    temporary.replace(path)


def to_json(value: Any) -> Any:
    """Convert a value to JSON's types: unpack scalars and arrays, write NaN, infinity as null."""
    if isinstance(value, Mapping):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def parse_object(text: bytes) -> Row | None:
    """Parse a JSON object; return None if the text is something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _read_lines(path: Path) -> Iterator[tuple[bytes, Row]]:
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn
            row = parse_object(line)
            if row is None or not isinstance(row.get("step"), int):
                raise ConfigError(
                    f"{path} line {number} is not a record with a step: {line[:80]!r}"
                )
            yield line, row


def _drop_torn_line(path: Path) -> None:
    """Cut the text after the last line end, which would corrupt the next row."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) == b"\n":
            return
        content = path.read_bytes()
        file.truncate(content.rfind(b"\n") + 1)


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Replace a file with the output of `write`: after a crash it is complete or unchanged."""
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes from memory like :func:`write_file`."""
    write_file(path, lambda file: file.write(content))


def write_text(path: Path, text: str) -> None:
    """Write a text in UTF-8 like :func:`write_bytes`."""
    write_bytes(path, text.encode())
