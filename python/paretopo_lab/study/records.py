"""The records of a study: a row for each training that has ended.

Rows are appended to ``records.jsonl``, one write each, so that a kill leaves at most a torn last
line, which is dropped. A study that was compressed by ``xz`` has rows in ``records.jsonl.xz``, too;
of two rows of a training, that of ``records.jsonl`` counts.
"""

from __future__ import annotations

import fcntl
import lzma
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from paretopo.config import ConfigError
from paretopo.records import files
from paretopo.records.files import Row
from paretopo_lab.study.cells import add_scores, fingerprint
from paretopo_lab.study.plan import Cell, Plan

RECORDS = "records.jsonl"
PACKED = "records.jsonl.xz"
_OF_START = ("model.", "preference.", "task.", "warmup.", "paretopo.preference")


def read_records(plan: Plan, out: Path) -> dict[Cell, Row]:
    """Return the finished trainings of a plan, in its order, without outdated ones.

    Each has its scores, see `add_scores`.

    Args:
        plan: The study.
        out: Folder of the records.

    Raises:
        ConfigError: a line, or the packed file, is broken; or see `check_starts`.
    """
    rows = [*_read_packed(out / PACKED), *files.read_rows(out / RECORDS)]
    found = {Cell(row["task"], row["method"], row["seed"]): row for row in rows}
    known = {
        cell: add_scores(plan, found[cell])
        for cell in plan.cells()
        if cell in found
        and found[cell]["fingerprint"] == fingerprint(plan, cell, found[cell].get("start"))
    }
    check_starts(plan, known)
    return known


def check_starts(plan: Plan, records: Mapping[Cell, Row]) -> None:
    """Refuse to pair trainings of one task and seed that began with different policies.

    The same warm-up ends in another policy on another machine. Methods that change model, task,
    warm-up or preferences have a start of their own.

    Raises:
        ConfigError: two trainings began with different policies; names them.
    """
    first: dict[str, tuple[Cell, Row]] = {}
    trained = {cell: row for cell, row in records.items() if plan.tasks[cell.task].config}
    for cell, row in trained.items():
        set_keys = plan.overrides_of(cell.method).items()
        own = sorted((name, repr(value)) for name, value in set_keys if name.startswith(_OF_START))
        other, known = first.setdefault(str((cell.task, cell.seed, own)), (cell, row))
        if row.get("start") != known.get("start"):
            raise ConfigError(
                f"{cell} and {other} began with different policies (start: {row.get('start')} and "
                f"{known.get('start')}), so they are no pair: remove the records of one of the two "
                "starts, and train these methods again on the machine of the other"
            )


def append_record(out: Path, row: Row) -> None:
    """Add the row of a training that has ended."""
    files.append_row(out / RECORDS, row)


@contextmanager
def claim_records(out: Path) -> Iterator[None]:
    """Keep other processes from writing records here; a killed process claims nothing.

    Raises:
        ConfigError: another study writes here.
    """
    folder = os.open(out, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"another study writes its records to {out}: wait for its end, or give --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(folder)


def _read_packed(path: Path) -> list[Row]:
    if not path.exists():
        return []
    try:
        lines = lzma.decompress(path.read_bytes()).splitlines()
    except lzma.LZMAError as error:
        raise ConfigError(
            f"{path} is broken ({error}): restore it, or remove it to train its part again"
        ) from None
    rows = []
    for number, line in enumerate(lines, start=1):
        row = files.parse_object(line)
        if row is None:
            raise ConfigError(f"{path} line {number} is not a record: {line[:80]!r}")
        rows.append(row)
    return rows
