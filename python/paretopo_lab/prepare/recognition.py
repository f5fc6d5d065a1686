"""Check that a file is the expected benchmark, by its columns, its count and its questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paretopo.records.schema import DataError
from paretopo_lab.prepare import fields
from paretopo_lab.prepare.fields import UnusableRow
from paretopo_lab.prepare.rows import ELSEWHERE, find_datasource
from paretopo_lab.prepare.sources import Source
from paretopo_lab.prepare.training_set import digest
from paretopo_lab.read.data_files import data_files_below, read_raw, several_files, sha256_of

_MOST_SEARCHED = 64 * 2**20  # largest file that is recognised by content


@dataclass(frozen=True)
class Seen:
    """The content of some files.

    Attributes:
        columns: The known columns of the first row.
        rows: Number of rows of the data set.
        marks: Number of the source's marks among their questions.
    """

    columns: tuple[str, ...]
    rows: int
    marks: int

    def is_of(self, source: Source) -> bool:
        """Return whether these files are the complete source."""
        whole = self.rows == source.rows or self.rows in source.other_rows
        return whole and self.marks == len(source.marks)


def look_at(source: Source, files: Sequence[Path]) -> Seen:
    """Read files and compare them with a data set.

    Raises:
        DataError: A file cannot be read.
    """
    columns: tuple[str, ...] = ()
    rows, marks = 0, set()
    for path in files:
        for _, raw in read_raw(path, fields.COLUMNS):
            columns = columns or tuple(name for name, value in raw.items() if value is not None)
            try:
                find_datasource(source, raw)
                marks.add(digest(fields.question_of(raw)).hex()[: len(source.marks[0])])
            except UnusableRow as reason:
                if str(reason) == ELSEWHERE:
                    continue
            rows += 1
    return Seen(columns, rows, len(marks & set(source.marks)))


def check(source: Source, files: Sequence[Path]) -> None:
    """Refuse files that are not the benchmark.

    Args:
        source: A benchmark.
        files: As `prepare` would take them.

    Raises:
        DataError: They are something else, or incomplete; the message names the expected content,
            the found content and the remedy.
    """
    if len(files) == 1 and source.sha256 is not None and sha256_of(files[0]) == source.sha256:
        return
    seen = look_at(source, files)
    if seen.is_of(source):
        return
    counts = " or ".join(f"{rows:,}" for rows in (source.rows, *source.other_rows))
    raise DataError(
        f"{files[0]} is not {source.title}: expected {counts} rows with a question and an answer, "
        f"among them those with the digests {', '.join(source.marks)}; it has {seen.rows:,} rows "
        f"with the columns {', '.join(seen.columns)}, and {seen.marks} of these "
        f"{len(source.marks)} questions. If you want it all the same: --unchecked"
    )


def find_benchmark(source: Source, folder: Path) -> list[Path]:
    """Return the files in a folder that are a benchmark, whatever their names.

    Files with its published name come first, then all up to 64 MiB.

    Raises:
        DataError: There is none, or there are several.
    """
    there = data_files_below(folder)
    for pattern in (source.file, *source.alternatives):
        named = [path for path in there if path.relative_to(folder).match(pattern)]
        if len(named) > 1 and _is(source, named):  # shards
            return named
        found = [path for path in named if _is(source, [path])]
        if len(found) == 1:
            return found
    small = [path for path in there if path.stat().st_size <= _MOST_SEARCHED]
    found = [path for path in small if _is(source, [path])]
    if len(found) == 1:
        return found
    if found:
        raise several_files(folder, found)
    raise DataError(
        f"{folder} has no file that is {source.title}: looked for {source.file}, and at "
        f"{len(there)} other data files; name the file to see its content"
    )


def _is(source: Source, files: Sequence[Path]) -> bool:
    try:
        return look_at(source, files).is_of(source)
    except DataError:
        return False
