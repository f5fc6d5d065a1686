"""Choose training rows (none of a benchmark, no duplicates) and held-out rows.

A question is compared by its digest: of its text without case, white space, dollar signs, the
spacing and sizing commands of LaTeX, and closing punctuation. Only this digest and the seed decide
whether it is held out. Added, dropped or moved rows change nothing for the others, and the same
question in other typography is on the same side.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paretopo.records.schema import DataError, Example
from paretopo_lab.prepare.fields import COLUMNS, UnusableRow, question_of
from paretopo_lab.prepare.rows import Tally
from paretopo_lab.read.data_files import read_raw

_SPACING = re.compile(
    r"\\(?:[,;:! ]|(?:quad|qquad|left|right|displaystyle|textstyle|limits)(?![a-z]))|[\s$~]+"
)
_FRACTIONS = re.compile(r"\\[dtc]frac(?![a-z])")
_CLOSING = " .?!:;"


@dataclass(frozen=True)
class Options:
    """The split of a training set, and the questions that it leaves out.

    Attributes:
        held_out: Share of the questions that are held out, above 0 and at most 0.5.
        seed: Seed of the split.
        exclude: Files of questions never to train on, in addition to the prepared benchmarks.

    Raises:
        DataError: The share is out of range.
    """

    held_out: float = 0.01
    seed: int = 0
    exclude: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if not 0.0 < self.held_out <= 0.5:
            raise DataError(f"--held-out must be above 0 and at most 0.5, got {self.held_out}")


class TrainingSet:
    """Decides for each row, and remembers the questions so far, in a few bytes each.

    Args:
        options: The split.
        excluded: Files whose questions are left out.
        tally: Counts the rows left out, by reason.

    Attributes:
        removed: Rows left out because a file has their question, by file.

    Raises:
        DataError: An excluded file cannot be read.
    """

    def __init__(self, options: Options, excluded: Sequence[Path], tally: Tally) -> None:
        self.removed: Counter[Path] = Counter()
        self._options = options
        self._tally = tally
        self._benchmarks = read_questions(excluded)
        self._answers: dict[bytes, int] = {}

    def assign(self, row: Example) -> bool | None:
        """Return True for held out, False for trained on, None for neither."""
        question = digest(row.question)
        if reason := self._find_objection(row, question):
            self._tally.dropped[reason] += 1
            return None
        self._answers[question] = hash(row.answers)
        return is_held_out(question, self._options.held_out, self._options.seed)

    def _find_objection(self, row: Example, question: bytes) -> str | None:
        """Return the reason to leave a row out, or None."""
        if question in self._benchmarks:
            self.removed[self._benchmarks[question]] += 1
            return "same question as a benchmark"
        if question in self._answers:
            same = self._answers[question] == hash(row.answers)
            return "repeated question" if same else "repeated question, other answer"
        return None


def normalise_question(question: str) -> str:
    r"""Return the question without differences of spelling.

    >>> normalise_question("What is  $\\dfrac{1}{2}+x$ ?")
    'whatis\\frac{1}{2}+x'
    """
    text = unicodedata.normalize("NFKC", question).casefold()
    text = _FRACTIONS.sub(r"\\frac", _SPACING.sub("", text))
    # A question of only punctuation stays as it is.
    return text.rstrip(_CLOSING) or text


def digest(question: str) -> bytes:
    """Return 16 bytes that identify a question."""
    return hashlib.blake2b(normalise_question(question).encode(), digest_size=16).digest()


def is_held_out(question: bytes, share: float, seed: int) -> bool:
    """Return whether the seed puts a digest into the held-out share."""
    drawn = hashlib.blake2b(question, digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(drawn, "big") < share * 2**64


def read_questions(paths: Iterable[Path]) -> dict[bytes, Path]:
    """Return the digests of all questions of some files, prepared or published, with their files.

    Raises:
        DataError: A file cannot be read, or has a row without a question.
    """
    return {question: path for path in paths for question in _read_digests(path)}


def _read_digests(path: Path) -> Iterator[bytes]:
    for place, raw in read_raw(path, COLUMNS):
        try:
            yield digest(question_of(raw))
        except UnusableRow as reason:
            if str(reason) != "needs an image":  # nothing to train on could equal it
                raise DataError(f"{path}, {place}: {reason}") from None
