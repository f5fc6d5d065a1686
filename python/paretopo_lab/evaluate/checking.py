r"""Check the right answers of a data set: grade each against rewritten forms of itself.

A form says the same in another way, so a grade of 0 is a false negative. A policy that writes this
form would be punished for a right answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from paretopo.records.schema import Example
from paretopo.rewards.mathematics import MathGrader
from paretopo.rewards.notation import to_latex
from paretopo_lab.evaluate.grading import Grader
from paretopo_lab.evaluate.prompting import grading_domain

_WHOLE = re.compile(r"-?\d+")
_TERM = re.compile(r"(?!.*\\(?:text|mbox|pm|begin|le|ge|in)\b)[^,=<>|%:_]*\d[^,=<>|%:_]*")
_UNICODE = {r"\pi": "π", r"\infty": "∞", r"\le": "≤", r"\ge": "≥", r"\cdot": "·"}
_COMMAND = re.compile(r"\\[a-zA-Z]+ ?")

Rewrite = Callable[[str], str]


# A form that equals its answer as a text is not tried.
_MATHEMATICS: dict[str, Rewrite] = {
    "between dollar signs": lambda text: f"${text}$",
    "with a full stop": lambda text: f"{text}.",
    "with \\dfrac": lambda text: re.sub(r"\\[dt]?frac(?![a-zA-Z])", r"\\dfrac", text),
    "with \\left and \\right": lambda text: re.sub(
        r"(?<!\\left)(?<!\\right)[()]", lambda m: r"\left(" if m[0] == "(" else r"\right)", text
    ),
    "with other blanks": lambda text: re.sub(r"\s*([,+<>=])\s*", r" \1 ", text),
    "in Unicode": lambda text: _COMMAND.sub(
        lambda m: _UNICODE.get(m[0].strip(), m[0]), to_latex(text)
    ),
    "as a decimal": lambda text: f"{text}.0" if _WHOLE.fullmatch(text) else text,
    "plus zero": lambda text: f"{text}+0" if _TERM.fullmatch(text) else text,
}
_WORDS: dict[str, Rewrite] = {
    "in capitals": str.upper,
    "with a full stop": lambda text: f"{text}.",
    "with an article": lambda text: f"the {text}",
}


@dataclass
class Form:
    """The grades of one form.

    Attributes:
        tried: Number of answers that it changes.
        undecided: Number of those whose comparison reached a limit.
        wrong: The false negatives: the row, and the answer in this form.
    """

    tried: int = 0
    undecided: int = 0
    wrong: tuple[tuple[Example, str], ...] = ()


def check_answers(rows: Sequence[Example], grader: Grader) -> dict[str, Form]:
    """Grade every right answer in every form that applies to it; return the forms by name.

    Args:
        rows: Questions with right answers.
        grader: Made for these rows.
    """
    written = []
    for row in rows:
        is_mathematics = grading_domain(row) == "mathematics"
        for answer in row.answers:
            for name, rewrite in (_MATHEMATICS if is_mathematics else _WORDS).items():
                if (form := rewrite(answer)) != answer:
                    response = (
                        f"\\boxed{{{form}}}" if is_mathematics else f"<answer>{form}</answer>"
                    )
                    written.append((name, row, form, response))
    grades = grader.grade_all([one[1] for one in written], [one[3] for one in written])
    found: dict[str, Form] = {}
    for (name, row, form, _), grade in zip(written, grades, strict=True):
        one = found.setdefault(name, Form())
        one.tried += 1
        one.undecided += grade is None
        one.wrong += ((row, form),) if grade is False else ()
    return found


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
