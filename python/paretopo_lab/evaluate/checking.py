"""Right answers of a data set that no grader can read: only a copy of their text is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from paretopo.records.schema import Example
from paretopo.rewards.mathematics import MathGrader
from paretopo_lab.evaluate.prompting import grading_domain


def find_unreadable(
    rows: Sequence[Example], isolation: Literal["bubblewrap", "process"]
) -> list[str]:
    """Describe the mathematical answers that the grader cannot read, with their rows.

    Args:
        rows: Questions with right answers, in the order of their file.
        isolation: As for `MathGrader`.
    """
    asked = [
        (f"row {number} ({row.id})", answer)
        for number, row in enumerate(rows, start=1)
        if grading_domain(row) == "mathematics"
        for answer in row.answers
    ]
    if not asked:
        return []
    with MathGrader(isolation=isolation) as grader:
        read = grader.can_read([answer for _, answer in asked])
    return [
        f"{place}: the grader cannot read the answer {answer!a}: only the same text is right"
        for (place, answer), known in zip(asked, read, strict=True)
        if not known
    ]
