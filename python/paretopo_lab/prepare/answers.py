r"""Convert right answers to the form that graders need.

An answer to a problem in mathematics is one LaTeX text without dollar signs and box. If it has
several required values, the text lists them, as "-1, 2", and a grader compares them as a set. A
question can have several right answers, each of them a text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paretopo.rewards.mathematics import last_box
from paretopo_lab.prepare.fields import UnusableRow

_DOLLARS = re.compile(r"(?<!\\)\$+")
_FORMULA_SIGNS = re.compile(r"^\\[(\[]|\\[)\]]$")
_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")


def mathematical_answer(
    answers: Sequence[str], *, all_wanted: bool = False, whole_numbers: bool = False
) -> str:
    r"""Return one LaTeX text from a source's answers.

    Args:
        answers: At least one; "" stands for a missing answer.
        all_wanted: True if a response must give all of several answers.
        whole_numbers: True if every answer of the source is a whole number, however written.

    Raises:
        UnusableRow: There are several answers, and it is unclear whether one or all are required;
            or an answer is empty.

    >>> mathematical_answer(["$\\frac{1}{2}$"]), mathematical_answer(["073"], whole_numbers=True)
    ('\\frac{1}{2}', '73')
    >>> mathematical_answer(["$1$, $-2$"]), mathematical_answer(["$1$", "$-2$"], all_wanted=True)
    ('1, -2', '1, -2')
    """
    if len(answers) > 1 and not all_wanted:
        raise UnusableRow("several answers, but the row does not say if one is enough")
    cleaned = [_strip_markup(answer) for answer in answers]
    if whole_numbers:
        cleaned = [_normalise_integer(answer) for answer in cleaned]
    if not all(cleaned):
        raise UnusableRow("no answer")
    return ", ".join(cleaned)


def alternative_answers(answers: Sequence[str]) -> str | tuple[str, ...]:
    """Return the right answers without duplicates: a tuple, or the text if there is only one.

    >>> alternative_answers(["Ada ", "Ada", "Ada Lovelace"]), alternative_answers(["Ada"])
    (('Ada', 'Ada Lovelace'), 'Ada')
    """
    different = tuple(dict.fromkeys(answer.strip() for answer in answers if answer.strip()))
    return different[0] if len(different) == 1 else different


def _strip_markup(answer: str) -> str:
    box = last_box(answer)
    text = answer if box is None else box
    text = _DOLLARS.sub("", text).strip()
    return _FORMULA_SIGNS.sub("", text).strip()


def _normalise_integer(answer: str) -> str:
    """Normalise integers, because AIME's file writes 073, and AMC's writes 27.0."""
    number = _WHOLE_NUMBER.fullmatch(answer)
    return str(int(number[1])) if number and len(number[1]) < 100 else answer
