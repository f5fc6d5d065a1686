"""Passages in a JSONL file: one a line, read from the file when it is wanted."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.parsing import parse_json
from paretopo.progress import make_bar

_OFFSETS = "offsets.npy"
_MANIFEST = "manifest.json"


class CorpusError(ValueError):
    """The corpus cannot be read; the message names file and line."""


class Corpus:
    """The passages of a JSONL file, by row.

    A line is `{"id": …, "contents": "\\"Title\\"\\ntext"}`, as in Search-R1's Wikipedia, or has
    "title" and "text" instead of "contents". Threads may read at once. It needs 8 bytes of memory
    for each passage, plus the system's cache of the file.

    Args:
        path: the file.
        offsets: (passages + 1,) where each line begins, in bytes, and where the last one ends.
    """

    def __init__(self, path: Path, offsets: NDArray[np.int64]) -> None:
        self.path = path
        self._offsets = offsets
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def __len__(self) -> int:
        """Number of passages."""
        return len(self._offsets) - 1

    def __getitem__(self, row: int) -> dict[str, str]:
        """Id and contents of a passage."""
        line = self._bytes[int(self._offsets[row]) : int(self._offsets[row + 1])]
        return _parse_passage(line, self.path, row)


def scan(path: Path) -> Corpus:
    """Find where the passages of a file begin.

    Raises:
        CorpusError: the file is missing, or has no passages.
    """
    try:
        size = path.stat().st_size
        file = path.open("rb")
    except OSError as error:
        raise CorpusError(f"cannot read the corpus {path}: {error.strerror}") from None
    ends = [0]
    with file, _progress_bar(size, "finding passages") as bar:
        for line in file:
            ends.append(ends[-1] + len(line))
            bar.update(len(line))
    if len(ends) == 1:
        raise CorpusError(f"the corpus {path} is empty")
    return Corpus(path, np.array(ends, np.int64))


def read_texts(corpus: Corpus, what: str) -> Iterator[str]:
    """Yield the contents of all passages in order, with a progress bar.

    Raises:
        CorpusError: a line is no passage.
    """
    with _progress_bar(int(corpus._offsets[-1]), what) as bar, corpus.path.open("rb") as file:
        for row, line in enumerate(file):
            yield _parse_passage(line, corpus.path, row)["contents"]
            bar.update(len(line))


def save(corpus: Corpus, folder: Path, about: dict[str, Any]) -> None:
    """Save the offsets of the passages next to an index, and the description of the index."""
    np.save(folder / _OFFSETS, corpus._offsets)
    description = {**about, **_file_state(corpus.path), "passages": len(corpus)}
    (folder / _MANIFEST).write_text(json.dumps(description, indent=2), encoding="utf-8")


def reopen(path: Path, folder: Path, about: dict[str, Any]) -> Corpus | None:
    """Open the corpus of an index; return None if the index is missing, outdated or of another
    kind.
    """
    try:
        kept = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        if any(kept.get(name) != value for name, value in {**about, **_file_state(path)}.items()):
            return None
        return Corpus(path, np.load(folder / _OFFSETS, mmap_mode="r"))
    except FileNotFoundError:
        return None


def _file_state(path: Path) -> dict[str, int]:
    stat = path.stat()
    return {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}


def _parse_passage(line: bytes, path: Path, row: int) -> dict[str, str]:
    try:
        passage = parse_json(line)
    except ValueError as error:
        raise CorpusError(f"{path}, line {row + 1}: {error}") from None
    if isinstance(passage, dict):
        if isinstance(contents := passage.get("contents"), str):
            return {"id": str(passage.get("id", row)), "contents": contents}
        if isinstance(passage.get("title"), str) and isinstance(passage.get("text"), str):
            contents = f'"{passage["title"]}"\n{passage["text"]}'
            return {"id": str(passage.get("id", row)), "contents": contents}
    raise CorpusError(
        f'{path}, line {row + 1}: expected {{"id": …, "contents": …}} or {{"id": …, "title": …, '
        f'"text": …}}, got {line[:100].decode(errors="replace")!r}'
    )


def _progress_bar(size: int, what: str) -> Any:
    return make_bar(total=size, desc=what, unit="B", unit_scale=True)
