"""Build the rows of a data set from its published files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tqdm import tqdm

from paretopo.protocols.search_r1 import search_r1_prompt
from paretopo.protocols.torl import torl_prompt
from paretopo.records.schema import Example
from paretopo.rollout import digest_prompt
from paretopo_lab.prepare import fields
from paretopo_lab.prepare.answers import alternative_answers, mathematical_answer
from paretopo_lab.prepare.fields import UnusableRow
from paretopo_lab.prepare.sources import SOURCES, Source
from paretopo_lab.read.data_files import Raw, read_raw

ELSEWHERE = "of another data set"
_TOLERANT = "graded exactly, though the source allows an error"
_OTHER_WORDS = "asked in other words than published"
_INSTRUCTED = "without the instruction that came with the question"

_TESTS = {"test", "dev", "validation", "valid", "val", "eval"}
_MATHEMATICS_TESTS = {
    source.name for source in SOURCES.values() if not source.training and source.protocol == "torl"
}


@dataclass
class Tally:
    """Counts of the rows of some files: read, left out, kept.

    Attributes:
        read: Number of rows read.
        dropped: Number of rows left out, by reason.
        kept: Number of rows written, by data set.
        notes: Number of rows kept with a remark, by remark.
    """

    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    notes: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        dropped = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        return f"{self.read:,} read, {self.kept.total():,} kept, dropped: {dropped or 'none'}"


def read_usable_rows(source: Source, file: Path, tally: Tally) -> Iterator[Example]:
    """Yield the usable rows, with unique ids, under a progress bar.

    A row's name is the data set's name followed by the source's own id. Without an id, or if it is
    taken already, the SHA-1 of the prompt replaces it.

    Args:
        source: The data set of the file.
        file: As published.
        tally: Counts the rows.

    Raises:
        DataError: The file cannot be read.
    """
    taken: Counter[str] = Counter()
    bar = tqdm(desc=source.name, total=source.rows, unit=" rows", leave=False, disable=None)
    with bar:
        for _, raw in read_raw(file, fields.COLUMNS):
            bar.update()
            tally.read += 1
            try:
                yield _make_row(source, raw, taken, tally)
            except UnusableRow as reason:
                tally.dropped[str(reason)] += 1


def _make_row(source: Source, raw: Raw, taken: Counter[str], tally: Tally) -> Example:
    datasource = _find_datasource(source, raw)
    question = fields.question_of(raw)
    answers = fields.answers_of(raw)
    tally.notes[_INSTRUCTED] += fields.has_instruction(raw)
    answer: str | tuple[str, ...]
    if source.protocol == "torl":
        prompt, wanted = torl_prompt(question), fields.wants_all_answers(raw)
        answer = mathematical_answer(answers, all_wanted=wanted, whole_numbers=source.whole_numbers)
        tally.notes[_TOLERANT] += fields.has_tolerance(raw)
    else:
        prompt = search_r1_prompt(question)
        answer = alternative_answers(answers)
        published = fields.search_r1_message(raw)
        tally.notes[_OTHER_WORDS] += published is not None and published.strip() != prompt.strip()
    name = _make_id(fields.id_of(raw), datasource, prompt, taken)
    return Example(name, datasource, question, prompt, answer)


def _find_datasource(source: Source, raw: Raw) -> str:
    """Return the data set of a row, if it belongs to the source.

    Raises:
        UnusableRow: It does not belong to the source.
    """
    said, split = fields.data_source_of(raw), fields.split_of(raw)
    plain = "".join(filter(str.isalnum, said or "")).casefold()
    if not source.training:
        if said is not None and plain != source.name:
            raise UnusableRow(ELSEWHERE)
        if split == "train":
            raise UnusableRow("of a training split")
        return source.name
    # ToRL's test file is AIME and MATH-500: never trained on, and never the held-out set.
    if split in _TESTS or (source.protocol == "torl" and plain in _MATHEMATICS_TESTS):
        raise UnusableRow("of a test split")
    return source.name if said is None else said


def _make_id(own: str | None, datasource: str, prompt: str, taken: Counter[str]) -> str:
    by_text = digest_prompt(prompt)
    name = f"{datasource}/{own or by_text}"
    if name in taken:
        name = f"{datasource}/{by_text}"
    while name in taken:  # the same text again
        taken[name] += 1
        name = f"{datasource}/{by_text}#{taken[name]}"
    taken[name] = 1
    return name
