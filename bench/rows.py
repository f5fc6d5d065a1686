"""The CSV files of the benchmark: one per operation, one row per case and peer."""

from __future__ import annotations

import csv
import io
import lzma
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from bench.cases import Case


@dataclass(frozen=True)
class Measurement:
    """A case, a peer, and the outcome.

    Attributes:
        status: "ok"; or "wrong" answer, "crashed", "too slow", "skipped", "error", and then there
            is no time.
        calls: per sample; a sample of a quick call is a loop.
        repeats: samples.
        wall_median_ms: milliseconds per call by the wall clock; q1 and q3 are the quartiles.
        cpu_median_ms: the same by the processor time of the process, which other programs on the
            machine disturb less.
        note: how it failed, or why it was skipped.
    """

    operation: str
    task: str
    workload: str
    points: int
    objectives: int
    groups: int
    dtype: str
    threads: int
    peer: str
    version: str
    status: str
    calls: int = 0
    repeats: int = 0
    wall_median_ms: float = float("nan")
    wall_q1_ms: float = float("nan")
    wall_q3_ms: float = float("nan")
    wall_min_ms: float = float("nan")
    cpu_median_ms: float = float("nan")
    cpu_min_ms: float = float("nan")
    note: str = ""

    @property
    def case(self) -> Case:
        """The case without its outcome."""
        names = (field.name for field in fields(Case) if field.name != "draw")
        return Case(**{name: getattr(self, name) for name in names})

    @property
    def milliseconds(self) -> float:
        """The median that counts: processor time on one thread, otherwise the wall clock."""
        return self.cpu_median_ms if self.threads == 1 else self.wall_median_ms

    @property
    def least_milliseconds(self) -> float:
        """The time of the fastest sample, by the same clock."""
        return self.cpu_min_ms if self.threads == 1 else self.wall_min_ms

    @property
    def is_timed(self) -> bool:
        """True if the answer was correct and in time."""
        return self.status == "ok"


_COLUMNS = tuple(field.name for field in fields(Measurement))
_KINDS = {field.name: str(field.type) for field in fields(Measurement)}


def write(path: Path, rows: Iterable[Measurement], *, append: bool = False) -> None:
    """Write rows to a CSV file, or add them to its end."""
    is_new = not append or not path.exists()
    with path.open("w" if is_new else "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        for row in rows:
            writer.writerow({name: _format(value) for name, value in asdict(row).items()})


def read(path: Path) -> list[Measurement]:
    """Read a CSV file back; one that ends in ``.xz`` is unpacked first.

    Raises:
        ValueError: the file has other columns than a benchmark of this version writes.
    """
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if tuple(reader.fieldnames or ()) != _COLUMNS:
        raise ValueError(f"{path} is not a result of this version: run python -m bench again")
    return [
        Measurement(**{name: _parse(name, text) for name, text in line.items()}) for line in reader
    ]


def read_all(folder: Path, operations: Sequence[str]) -> list[Measurement]:
    """Read the files of those operations that have one: the CSV file, else its packed copy."""
    names = [(f"{operation}.csv", f"{operation}.csv.xz") for operation in operations]
    found = [next((folder / n for n in pair if (folder / n).exists()), None) for pair in names]
    return [row for path in found if path is not None for row in read(path)]


def _parse(name: str, text: str) -> Any:
    kind = _KINDS[name]
    if kind == "float":
        return float(text or "nan")
    return int(text) if kind == "int" else text


def _format(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "" if value != value else f"{value:.5g}"
