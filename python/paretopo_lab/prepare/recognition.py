"""Check that a file is the expected benchmark, by its columns, its count and its questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paretopo.records.schema import DataError
from paretopo_lab.prepare import fields
from paretopo_lab.prepare.fields import UnusableRow
from paretopo_lab.prepare.rows import ELSEWHERE, find_datasource
from paretopo_lab.prepare.sources import Source
from paretopo_lab.prepare.training_set import digest
from paretopo_lab.read.data_files import read_raw, sha256_of


@dataclass(frozen=True)
class Seen:
    """The content of a file.

    Attributes:
        columns: The known columns of the first row.
        rows: Number of rows of the data set.
        marks: Number of the source's marks among their questions.
    """

    columns: tuple[str, ...]
    rows: int
    marks: int

    def is_of(self, source: Source) -> bool:
        """Return whether this file is the complete source."""
        whole = self.rows == source.rows or self.rows in source.other_rows
        return whole and self.marks == len(source.marks)


def look_at(source: Source, file: Path) -> Seen:
    """Read a file and compare it with a data set.

    Raises:
        DataError: The file cannot be read.
    """
    columns: tuple[str, ...] = ()
    rows, marks = 0, set()
    for _, raw in read_raw(file, fields.COLUMNS):
        columns = columns or tuple(name for name, value in raw.items() if value is not None)
        try:
            find_datasource(source, raw)
            marks.add(digest(fields.question_of(raw)).hex()[: len(source.marks[0])])
        except UnusableRow as reason:
            if str(reason) == ELSEWHERE:
                continue
        rows += 1
    return Seen(columns, rows, len(marks & set(source.marks)))


def check(source: Source, file: Path) -> None:
    """Refuse a file that is not the benchmark.

    Raises:
        DataError: It is something else, or incomplete; the message names the expected content,
            the found content and the remedy.
    """
    if source.sha256 is not None and sha256_of(file) == source.sha256:
        return
    seen = look_at(source, file)
    if seen.is_of(source):
        return
    counts = " or ".join(f"{rows:,}" for rows in (source.rows, *source.other_rows))
    raise DataError(
        f"{file} is not {source.title}: expected {counts} rows with a question and an answer, "
        f"among them those with the digests {', '.join(source.marks)}; it has {seen.rows:,} rows "
        f"with the columns {', '.join(seen.columns)}, and {seen.marks} of these "
        f"{len(source.marks)} questions. If you want it all the same: --unchecked"
    )
