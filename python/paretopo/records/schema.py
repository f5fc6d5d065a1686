"""The rows that training and evaluation read: a JSON object per line, equal for all data sets.

{"id": "nq/test_0", "datasource": "nq", "question": "…", "prompt": "…", "label": {"answer": …}}
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from paretopo.parsing import EncodingError, parse_json

_LONGEST_LINE = 16 * 2**20  # bytes; a torn or hostile file must not fill the memory
_TEXTS = ("id", "datasource", "question", "prompt")


class DataError(ValueError):
    """Data that cannot be used; the message names the file, and the line or row."""


@dataclass(frozen=True)
class Example:
    """One question.

    Attributes:
        id: Its name, unique in a file; the fewest calls known are kept under it.
        datasource: The data set it comes from.
        question: Only the question.
        prompt: The text for the policy, in the form of its protocol. Search-R1's is the message of
            a user, before the chat template; ToRL's is the whole text.
        answer: The right answer, or several that are each right.
    """

    id: str
    datasource: str
    question: str
    prompt: str
    answer: str | tuple[str, ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """Return every right text.

        >>> Example("q1", "nq", "Who?", "Who?", "Ada").answers
        ('Ada',)
        """
        return (self.answer,) if isinstance(self.answer, str) else self.answer

    def fields(self) -> dict[str, Any]:
        """Return the row as an object for its line.

        >>> Example("q1", "nq", "Who?", "Who?", ("Ada", "Ada L.")).fields()["label"]
        {'answer': ['Ada', 'Ada L.']}
        """
        answer = self.answer if isinstance(self.answer, str) else list(self.answer)
        return {
            "id": self.id,
            "datasource": self.datasource,
            "question": self.question,
            "prompt": self.prompt,
            "label": {"answer": answer},
        }

    @classmethod
    def from_fields(cls, fields: Any) -> Example:
        """Return the row of a line; further keys are ignored.

        Raises:
            DataError: A key is missing or has no text; the message names the key, not the file.
        """
        if not isinstance(fields, Mapping):
            raise DataError(f"expected a JSON object, got {_quote(fields)}")
        label = fields.get("label")
        if label is None and "prompt" in fields and "datasource" not in fields:
            # Many ask here for questions in the layout of their training.
            raise DataError(
                f"expected a row of paretopo prepare, with {', '.join(_TEXTS)} and label, got "
                f"{_quote(', '.join(fields))}; rows without label are for task.name = 'questions' "
                "and for paretopo evaluate RUN --tool task"
            )
        if not isinstance(label, Mapping):
            raise DataError(f'label must be an object like {{"answer": "42"}}, got {_quote(label)}')
        answer = label.get("answer")
        answers = answer if isinstance(answer, list) else [answer]
        if not answers or not all(map(is_text, answers)):
            raise DataError(
                "label.answer must be a text or a list of texts, none of them empty, "
                f"got {_quote(answer)}"
            )
        for name in _TEXTS:
            if not is_text(fields.get(name)):
                raise DataError(
                    f"{name} must be a text that is not empty, got {_quote(fields.get(name))}"
                )
        return cls(
            fields["id"],
            fields["datasource"],
            fields["question"],
            fields["prompt"],
            tuple(answer) if isinstance(answer, list) else answers[0],
        )


def is_text(value: object) -> bool:
    r"""Return whether a value is a text that is not blank and fits UTF-8.

    >>> is_text("42"), is_text(" "), is_text(42), is_text("\ud800")
    (True, False, False, False)
    """
    if not isinstance(value, str) or not value.strip():
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair: no tokenizer takes it
        return False
    return True


def read_rows(path: str | Path) -> Iterator[Example]:
    """Yield the rows of a JSONL file, one at a time; blank lines are skipped.

    Args:
        path: A file that `paretopo prepare` or `write_rows` wrote, or one like it.

    Raises:
        DataError: The file cannot be read or has no rows, a line is not a row, or an id occurs
            twice; names file and line. It is raised during reading: `list(read_rows(path))` checks
            the whole file.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "test.jsonl"
        >>> _ = write_rows(path, [Example("q1", "math500", "6*7?", "6*7 is", "42")])
        >>> list(read_rows(path))
        [Example(id='q1', datasource='math500', question='6*7?', prompt='6*7 is', answer='42')]
    """
    lines: dict[str, int] = {}
    for number, fields in read_lines(Path(path)):
        try:
            row = Example.from_fields(fields)
        except DataError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        if row.id in lines:
            raise DataError(
                f"{path}, line {number}: the id {_quote(row.id)} is that of line {lines[row.id]}"
            )
        lines[row.id] = number
        yield row
    if not lines:
        raise DataError(f"{path} holds no rows")


def read_lines(path: Path, *, halves: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield the content of each non-blank line of a JSONL file, with its number from 1.

    Args:
        path: The file.
        halves: As for `parse_json`.

    Raises:
        DataError: The file cannot be read, or a line is too long or refused by `parse_json`.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LONGEST_LINE + 1):
                number += 1
                if len(line) > _LONGEST_LINE:
                    raise DataError(f"{path}, line {number}: longer than {_LONGEST_LINE} bytes")
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield number, _parse_line(line, path, number, halves=halves)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from None


def _parse_line(line: bytes, path: Path, number: int, *, halves: bool) -> Any:
    try:
        return parse_json(line, halves=halves)
    except EncodingError as error:
        raise DataError(
            f"{path}, line {number}: {error}; export the file as JSONL in UTF-8"
        ) from None
    except ValueError as error:
        start = line[:80].decode(errors="replace")
        raise DataError(f"{path}, line {number}: {error}: {_quote(start)}") from None


class RowWriter:
    """Writes the rows of a file from :func:`open_rows`.

    Attributes:
        path: The file.
        rows: Rows written so far.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.rows = path, 0
        self._file = file

    def write(self, row: Example) -> None:
        """Append a row."""
        # Plain ASCII: readers that split at every Unicode line break find the same lines.
        self._file.write(json.dumps(row.fields()).encode() + b"\n")
        self.rows += 1


@contextlib.contextmanager
def open_rows(path: Path) -> Iterator[RowWriter]:
    """Open a JSONL file that is written completely or not at all; equal rows give equal bytes.

    It gets its name at the end of the context, if no error was raised.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield RowWriter(path, file)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_rows(path: str | Path, rows: Iterable[Example]) -> int:
    """Write a JSONL file completely or not at all; return its number of rows.

    Raises:
        DataError: `read_rows` would refuse a row, or an id occurs twice.
        OSError: The file cannot be written.
    """
    ids: set[str] = set()
    with open_rows(Path(path)) as writer:
        for row in rows:
            Example.from_fields(row.fields())
            if row.id in ids:
                raise DataError(f"{path}: the id {_quote(row.id)} comes twice")
            ids.add(row.id)
            writer.write(row)
    return writer.rows


def _quote(value: object) -> str:
    """Return a value for an error message: short, without line breaks or lone surrogates."""
    text = (
        ascii(value) if isinstance(value, str) else repr(value).encode("ascii", "replace").decode()
    )
    return text if len(text) <= 80 else text[:77] + "..."
