"""Logs of evaluations: files of rows, and the columns that name the model and the question."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from pathlib import Path

from paretopo.data.schema import DataError
from paretopo.run.files import Row

_QUESTIONS = ("question", "question_id", "id", "example_id", "doc_id", "problem_id", "sample_id")
_SHOWN = 60  # characters of a broken line in an error


@dataclass(frozen=True)
class Log:
    """The rows of one file.

    Attributes:
        path: The file.
        format: The program that writes such files, or the file's kind.
        rows: One object for each answer.
        places: The place of each row, for errors: "line 3".
        by: The column that names the model; "file" if no column does.
        question: The column that names the question; None if none is known.
    """

    path: Path
    format: str
    rows: tuple[Row, ...]
    places: tuple[str, ...]
    by: str = "file"
    question: str | None = None


def read_log(path: Path) -> Log:
    """Read a file; recognise its format by its content, not its name.

    Every row gets the column ``file``, the file's name, unless it has one.

    Raises:
        DataError: the file is missing, empty or broken, or its format is not known.
    """
    if path.is_dir():
        raise DataError(f"{path} is a folder; name files in it, such as {path}/*.jsonl")
    try:
        log = _read_any(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not a text in UTF-8 (byte {error.start}); export it as CSV or JSONL"
        ) from None
    if not log.rows:
        raise DataError(f"{path} has no rows: there is nothing to compare")
    rows = tuple({"file": path.name, **row} for row in log.rows)
    return replace(log, rows=rows)


def _read_any(path: Path) -> Log:
    if path.suffix.lower() in (".csv", ".tsv"):
        return _read_csv(path)
    if path.suffix.lower() == ".json":
        return _read_json(path)
    return _read_lines(path)


def _read_lines(path: Path) -> Log:
    """Read JSONL."""
    rows, places = [], []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            rows.append(_parse(line, f"{path} line {number}"))
            places.append(f"line {number}")
    return guess_columns(path, "JSONL", rows, places)


def _parse(line: str, place: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply"
        raise DataError(
            f"{place} must be a JSON object, got {line.strip()[:_SHOWN]!r}: {reason}"
        ) from None
    if not isinstance(row, dict):
        raise DataError(f"{place} must be a JSON object, got {line.strip()[:_SHOWN]!r}")
    return row


def _read_json(path: Path) -> Log:
    """Read a JSON file with a list of objects."""
    text = path.read_text(encoding="utf-8")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return _read_lines(path)  # JSONL under another name
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise DataError(f"{path} must hold a list of objects, got {text.strip()[:_SHOWN]!r}")
    places = [f"object {number}" for number in range(1, len(content) + 1)]
    return guess_columns(path, "JSON", content, places)


def _read_csv(path: Path) -> Log:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
        header = next(reader, [])
        doubled = {name for name in header if header.count(name) > 1}
        if doubled:
            raise DataError(
                f"{path} line 1 names a column twice: {', '.join(sorted(doubled))}; rename one"
            )
        rows, places = [], []
        for cells in reader:
            if not cells:
                continue
            place = f"line {reader.line_num}"
            if len(cells) != len(header):
                raise DataError(
                    f"{path} {place} must have {len(header)} cells, as the header has, got "
                    f"{len(cells)}; quote cells that contain a comma"
                )
            rows.append(dict(zip(header, cells, strict=True)))
            places.append(place)
    return guess_columns(path, "CSV", rows, places)


def guess_columns(path: Path, kind: str, rows: list[Row], places: list[str]) -> Log:
    """Return a log whose columns of model and question are guessed by their names."""
    names = rows[0].keys() if rows else ()
    question = next((name for name in _QUESTIONS if name in names), None)
    by = "model" if "model" in names else "file"
    return Log(path, kind, tuple(rows), tuple(places), by, question)
