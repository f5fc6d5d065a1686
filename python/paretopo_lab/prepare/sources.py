"""The data sets: `sources.csv` has a row for each, with its place and its size.

Places, revisions and checksums are those that public projects pin.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import Literal

_HUB = "https://huggingface.co/datasets"


@dataclass(frozen=True)
class Source:
    """One data set.

    Attributes:
        name: Name on the command line and of the folder.
        title: Title for readers.
        protocol: The form of questions and grading: ToRL's prompt, a box and mathematics, or
            Search-R1's prompt, answer tags and exact match.
        training: True for a training set, which is split; a benchmark stays whole.
        rows: Number of rows of the published file; approximate unless `counted`.
        counted: True if a public project has counted the rows.
        whole_numbers: True if every answer is a whole number, however written.
        repository: On the Hugging Face Hub, or None.
        revision: Revision of the repository.
        address: Web address of the file.
        file: Path of the file in its repository.
        sha256: Its checksum, if a public project has recorded it.
    """

    name: str
    title: str
    protocol: Literal["torl", "search_r1"]
    training: bool
    rows: int
    counted: bool
    whole_numbers: bool
    repository: str | None
    revision: str | None
    address: str
    file: str
    sha256: str | None

    def accepts_count(self, rows: int) -> bool:
        """Return whether a file with this number of rows can be the published one.

        >>> [SOURCES["torl"].accepts_count(rows) for rows in (28_100, 374)]
        [True, False]
        """
        return abs(rows - self.rows) <= (0 if self.counted else 0.05 * self.rows)


def _read_source(row: dict[str, str]) -> Source:
    """Return a data set from its row; its place is REPOSITORY@REVISION or an address."""
    place, file = row["place"], row["file"]
    repository, _, revision = place.partition("@")
    on_hub = bool(revision)
    return Source(
        name=row["name"],
        title=row["title"],
        protocol="torl" if row["protocol"] == "torl" else "search_r1",
        training=row["kind"] == "train",
        rows=int(row["rows"].removeprefix("~")),
        counted=not row["rows"].startswith("~"),
        whole_numbers=row["whole_numbers"] == "yes",
        repository=repository if on_hub else None,
        revision=revision if on_hub else None,
        address=f"{_HUB}/{repository}/resolve/{revision}/{file}" if on_hub else f"{place}/{file}",
        file=file,
        sha256=row["sha256"] or None,
    )


def _read_sources() -> dict[str, Source]:
    table = resources.files(__package__).joinpath("sources.csv").read_text(encoding="utf-8")
    return {row["name"]: _read_source(row) for row in csv.DictReader(table.splitlines())}


SOURCES = _read_sources()
