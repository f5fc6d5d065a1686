"""Logs of evaluations: files of rows, and the columns that name the model and the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paretopo.parsing import HalfPairError, parse_json
from paretopo.records.files import Row
from paretopo.records.schema import DataError, read_lines
from paretopo_lab.read.data_files import read_csv, read_raw
from paretopo_lab.read.formats import (
    FORMATS,
    Format,
    Placed,
    convert_inspect,
    is_inspect,
    read_eval,
    read_events,
)

_QUESTIONS = (
    "question", "question_id", "qid", "id", "example_id", "doc_id", "problem_id", "sample_id",
    "prompt_id", "task_id", "prompt",
)  # fmt: skip
_MODELS = ("model", "model_name", "model name")
_KNOWN = ("file", "model", "task", "question")  # columns that readers add
_INSPECT = frozenset(_KNOWN)


@dataclass(frozen=True)
class Log:
    """The rows of a file, or the last values of curves of several files.

    Attributes:
        name: Its path, for errors.
        format: The program that writes such files, or the file's kind.
        rows: One object for each answer.
        places: The place of each row, for errors: "line 3".
        by: The column that names the model; "file" if no column does.
        question: The column that names the question; None if none is known.
        added: The columns that the file itself does not have.
    """

    name: str
    format: str
    rows: tuple[Row, ...]
    places: tuple[str, ...]
    by: str = "file"
    question: str | None = None
    added: frozenset[str] = frozenset()


def read_logs(paths: Sequence[Path]) -> list[Log]:
    """Read files; recognise the format of each by its content.

    Every row gets the column ``file``, unless it has one: the file's name, or its path if several
    files have that name. Event files become one log, with a row for each run, that is, folder.

    Raises:
        DataError: a file is missing, empty or broken.
    """
    logs: list[Log] = []
    runs: dict[str, Row] = {}
    curves: list[str] = []
    names = [path.name for path in paths]
    for path in paths:
        found = _open(path)
        if isinstance(found, dict):
            curves.append(str(path))
            run = str(path.parent)
            runs.setdefault(run, {"run": run}).update(found)
            continue
        if not found.rows:
            raise DataError(f"{path} has no rows: there is nothing to compare")
        label = path.name if names.count(path.name) == 1 else str(path)
        added = found.added | {"file"} - found.rows[0].keys()
        rows = tuple({"file": label, **row} for row in found.rows)
        logs.append(replace(found, rows=rows, added=added))
    if runs:
        places = tuple(f"run {run}" for run in runs)
        rows, added = tuple(runs.values()), frozenset({"run"})
        logs.append(Log(", ".join(curves), "curves", rows, places, "run", added=added))
    return logs


def _open(path: Path) -> Log | Row:
    if path.is_dir():
        raise DataError(f"{path} is a folder; name files in it, such as {path}/*.jsonl")
    try:
        return _read_any(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def _read_any(path: Path) -> Log | Row:
    suffix = path.suffix.lower()
    if ".tfevents." in path.name:
        return read_events(path)
    if suffix == ".eval":
        return _name_columns(path, "inspect-ai", read_eval(path), _INSPECT)
    if suffix in (".csv", ".tsv"):
        return _name_columns(path, "CSV", [(row, place) for place, row in read_csv(path)])
    if suffix == ".json":
        return _read_json(path)
    if suffix == ".parquet":
        return _recognise(path, "Parquet", [(dict(row), place) for place, row in read_raw(path)])
    return _read_lines(path)


def _read_lines(path: Path) -> Log:
    """Read JSONL."""
    placed = [(row, f"line {number}") for number, row in read_lines(path)]
    return _recognise(path, "JSONL", placed)


def _recognise(path: Path, kind: str, placed: Sequence[tuple[Any, str]]) -> Log:
    """Return the log of a known format, or of rows as they are."""
    for row, place in placed:
        if not isinstance(row, dict):
            raise DataError(f"{path} {place} must be an object, got {type(row).__name__}")
    for one in FORMATS:
        if placed and one.matches(placed[0][0]):
            added = frozenset(_KNOWN) - placed[0][0].keys()
            return _name_columns(path, one.name, _convert(path, one, placed), added)
    return _name_columns(path, kind, placed)


def _convert(path: Path, one: Format, placed: Sequence[Placed]) -> list[Placed]:
    for row, place in placed:
        if not one.matches(row):
            raise DataError(
                f"{path} {place} must be a row of {one.name}, as the first one is, got the keys "
                f"{', '.join(list(row)[:10])}"
            )
    return list(one.convert(path, placed))


def _read_json(path: Path) -> Log:
    """Read a JSON file: a log of inspect-ai, or one or more objects."""
    try:
        content = parse_json(path.read_bytes())
    except HalfPairError as error:
        raise DataError(f"{path}: {error}") from None
    except ValueError:
        return _read_lines(path)  # JSONL under another name
    if is_inspect(content):
        samples = enumerate(content["samples"] or [], start=1)
        placed = [(sample, f"sample {number}") for number, sample in samples]
        return _name_columns(path, "inspect-ai", list(convert_inspect(content, placed)), _INSPECT)
    objects = enumerate(content if isinstance(content, list) else [content], start=1)
    return _recognise(path, "JSON", [(row, f"object {number}") for number, row in objects])


def _name_columns(
    path: Path, kind: str, placed: Sequence[Placed], added: frozenset[str] = frozenset()
) -> Log:
    """Return a log; the columns of model and question are found by their names."""
    rows, places = tuple(row for row, _ in placed), tuple(place for _, place in placed)
    names = rows[0].keys() if rows else set()
    question = next((name for name in _QUESTIONS if name in names), None)
    by = next((name for name in names if name.lower() in _MODELS), "file")
    return Log(str(path), kind, rows, places, by, question, added & names)
