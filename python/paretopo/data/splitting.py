"""Which questions are the same, and which are held out.

A question is compared by its digest: of its text without case, white space, dollar signs, the
spacing and sizing commands of LaTeX, and closing punctuation. Whether it is held out depends on
that digest and the seed alone: rows that are added, dropped or moved change nothing for the others,
and the same question in other typography falls on the same side.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

from paretopo.data.fields import COLUMNS, Unusable, question_of
from paretopo.data.loading import read_raw
from paretopo.data.schema import DataError

_SPACING = re.compile(
    r"\\(?:[,;:! ]|(?:quad|qquad|left|right|displaystyle|textstyle|limits)(?![a-z]))|[\s$~]+"
)
_FRACTIONS = re.compile(r"\\[dtc]frac(?![a-z])")
_CLOSING = " .?!:;"


def normalised(question: str) -> str:
    r"""What two spellings of one question have in common.

    >>> normalised("What is  $\\dfrac{1}{2}+x$ ?")
    'whatis\\frac{1}{2}+x'
    """
    text = unicodedata.normalize("NFKC", question).casefold()
    text = _FRACTIONS.sub(r"\\frac", _SPACING.sub("", text))
    # A question of punctuation alone stays itself.
    return text.rstrip(_CLOSING) or text


def digest(question: str) -> bytes:
    """16 bytes that stand for a question."""
    return hashlib.blake2b(normalised(question).encode(), digest_size=16).digest()


def is_held_out(question: bytes, share: float, seed: int) -> bool:
    """Does the seed put a digest into the held-out share?"""
    drawn = hashlib.blake2b(question, digest_size=8, key=str(seed).encode()).digest()
    return int.from_bytes(drawn, "big") < share * 2**64


def benchmark_questions(paths: Iterable[Path]) -> dict[bytes, Path]:
    """Digests of all questions of some files, prepared or as published, with their files.

    Raises:
        DataError: A file cannot be read, or has a row without a question.
    """
    return {question: path for path in paths for question in _questions(path)}


def _questions(path: Path) -> Iterator[bytes]:
    for place, raw in read_raw(path, COLUMNS):
        try:
            yield digest(question_of(raw))
        except Unusable as reason:
            if str(reason) != "needs an image":  # nothing to train on could equal it
                raise DataError(f"{path}, {place}: {reason}") from None
