"""Rows of Parquet, JSONL, JSON and CSV files as dictionaries, one at a time, by file extension."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from paretopo.records.schema import DataError, read_lines

_AT_ONCE = 256  # rows of a Parquet file in memory
_LARGEST_JSON = 512 * 2**20  # bytes; such files are read as a whole
_LONGEST_CELL = 16 * 2**20  # characters of a CSV cell
_LFS_POINTER = b"version https://git-lfs"

Raw = Mapping[str, Any]
_Columns = frozenset[str] | None


def read_raw(path: Path, columns: Iterable[str] | None = None) -> Iterator[tuple[str, Raw]]:
    """Yield the rows of a file, each with its place in words.

    Args:
        path: A .parquet, .jsonl, .json or .csv file.
        columns: Only these are read from a Parquet file; None for all.

    Yields:
        "line 3" or "row 3", and the row.

    Raises:
        DataError: The file cannot be read, or a row is not a mapping; names file and place.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path} must be a {', '.join(_READERS)} file")
    if _starts_with(path, _LFS_POINTER):
        raise DataError(
            f"{path} is a pointer of Git LFS, not the data: run `git lfs pull`, or download the "
            "file itself"
        )
    empty = True
    for place, row in reader(path, None if columns is None else frozenset(columns)):
        empty = False
        if not isinstance(row, Mapping):
            raise DataError(f"{path}, {place}: expected an object, got {type(row).__name__}")
        yield place, row
    if empty:
        raise DataError(f"{path} holds no rows")


def sha256_of(path: Path) -> str:
    """Return the checksum of a file.

    Raises:
        DataError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _starts_with(path: Path, start: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(start)) == start
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _read_parquet(path: Path, columns: _Columns) -> Iterator[tuple[str, Any]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{path} is a Parquet file; run: pip install pyarrow") from None
    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            wanted = [name for name in names if columns is None or name in columns]
            for batch in file.iter_batches(batch_size=_AT_ONCE, columns=wanted, use_threads=False):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", row
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"{path}, after row {number}: no Parquet: {reason}") from None


def _read_jsonl(path: Path, _: _Columns) -> Iterator[tuple[str, Any]]:
    for number, row in read_lines(path, halves=True):  # counted
        yield f"line {number}", row


def _read_json(path: Path, _: _Columns) -> Iterator[tuple[str, Any]]:
    """Read a list of objects, or an object with one such list."""
    if path.stat().st_size > _LARGEST_JSON:
        raise DataError(f"{path} is larger than {_LARGEST_JSON // 2**20} MiB: make it a .jsonl")
    try:
        content = json.loads(path.read_bytes())
    except UnicodeDecodeError:
        raise DataError(f"{path}: no JSON in UTF-8; export the file as JSON in UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: no JSON ({error}); one object a line is .jsonl") from None
    if isinstance(content, dict):
        lists = [value for value in content.values() if isinstance(value, list)]
        content = lists[0] if len(lists) == 1 else None
    if not isinstance(content, list):
        raise DataError(f"{path} must be a list of objects")
    for number, row in enumerate(content, start=1):
        yield f"row {number}", row


def read_csv(path: Path, _: _Columns = None) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a .csv or a .tsv file that are not empty, each with its place in words.

    Raises:
        DataError: The file is no CSV in UTF-8, a column has two places, or a row lacks cells.
    """
    lines = _read_cells(path, "\t" if path.suffix.lower() == ".tsv" else ",")
    header = [name.strip() for name in next(lines, (0, list[str]()))[1]]
    if len(header) == 1 and ";" in header[0]:
        raise DataError(
            f"{path} line 1 has semicolons: separate cells by commas, or by tabs in .tsv"
        )
    doubled = sorted({name for name in header if header.count(name) > 1})
    if doubled:
        raise DataError(f"{path} line 1 names a column twice: {', '.join(doubled)}; rename one")
    for number, cells in lines:
        if len(cells) != len(header):
            raise DataError(
                f"{path} line {number} must have {len(header)} cells, as the header has, got "
                f"{len(cells)}; quote cells that contain a comma"
            )
        yield f"line {number}", dict(zip(header, cells, strict=True))


def _read_cells(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    limit = csv.field_size_limit(_LONGEST_CELL)  # the limit applies to the whole process
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.reader(file, delimiter=delimiter, strict=True)
            for cells in lines:
                if cells:
                    yield lines.line_num, cells
    except UnicodeDecodeError:
        raise DataError(
            f"{path}, after line {lines.line_num}: no CSV in UTF-8; export the file as CSV in UTF-8"
        ) from None
    except csv.Error as error:
        raise DataError(f"{path}, after line {lines.line_num}: no CSV: {error}") from None
    finally:
        csv.field_size_limit(limit)


_READERS: dict[str, Callable[[Path, _Columns], Iterator[tuple[str, Any]]]] = {
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
    ".csv": read_csv,
}
