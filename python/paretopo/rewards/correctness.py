"""Task correctness: does the answer match, after normalisation?"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paretopo.rewards.plain_numbers import are_same_number, read_number

_PERCENT = re.compile(r"\bpercent|%", re.IGNORECASE)
_OPENING = "<answer>"
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_match(answer: str | None, targets: str | Sequence[str]) -> float:
    """Return 1.0 if the answer equals one of the targets after normalisation, else 0.0.

    Normalisation is that of open-domain question answering: lower case, no ASCII punctuation, no
    articles, single blanks. An answer or target without any text left ("A+", "The The") is compared
    as it is, in lower case.

    Args:
        answer: The rollout's answer; None (no answer) is wrong.
        targets: One right answer, or several.

    Source: Rajpurkar et al. (2016), "SQuAD", the official evaluation script.

    >>> normalised_match("The  Eiffel Tower.", ["eiffel tower", "tour eiffel"])
    1.0
    """
    known = {_comparable(target) for target in list_answers(targets)}
    return float(answer is not None and bool(answer.strip()) and _comparable(answer) in known)


def number_or_words_match(answer: str | None, targets: str | Sequence[str]) -> float:
    """Return 1.0 if the answer has the same meaning as one of the targets, else 0.0.

    A target that is a plain number (`plain_numbers.read_number`) is compared only as a number;
    every other target after normalisation, as in `normalised_match`.

    Args:
        answer: The rollout's answer; None (no answer) is wrong.
        targets: One right answer, or several.

    >>> number_or_words_match("7.0", "7"), number_or_words_match("3.5", "35")
    (1.0, 0.0)
    >>> number_or_words_match("$1,200", ["1200", "twelve hundred"])
    1.0
    """
    if answer is None:
        return 0.0
    given = read_number(answer)
    for target in list_answers(targets):
        known = read_number(target)
        if known is None:
            equal = normalised_match(answer, target) == 1.0
        else:
            equal = given is not None and are_same_number(given, known)
        if equal:
            return 1.0
    return 0.0


def last_answer(response: str) -> str | None:
    """Return the text in the last answer tags of a response (without its prompt).

    None without any, or if the last ones are unfinished: as for `mathematics.last_box`.

    >>> last_answer("<answer>Rome</answer> no, <answer> Oslo </answer>")
    'Oslo'
    """
    answer, end, _ = response.rpartition(_OPENING)[2].partition("</answer>")
    return answer.strip() if _OPENING in response and end else None


def exact_answer(response: str, targets: str | Sequence[str]) -> float:
    """Return 1.0 if the last answer equals one of the targets after normalisation, else 0.0.

    Grades as Search-R1 does (`qa_em.py` of the published code), except that an unfinished last
    answer is wrong.

    >>> exact_answer("<answer>The Eiffel tower.</answer>", ["Eiffel Tower"])
    1.0
    """
    return normalised_match(last_answer(response), targets)


def normalise(text: str) -> str:
    """Lower case without punctuation, articles and superfluous blanks.

    >>> normalise("An  apple, the Pear!")
    'apple pear'
    """
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def add_percentages(question: str, answers: Sequence[str]) -> list[str]:
    r"""Return the right answers, also with a percent sign if the question asks for percents.

    >>> add_percentages("What percent is 1/4?", ["25"]), add_percentages("1/4?", ["0.25"])
    (['25', '25\\%'], ['0.25'])
    """
    numbers = [one for one in answers if read_number(one)] if _PERCENT.search(question) else []
    return [*answers, *(f"{one}\\%" for one in numbers if not one.endswith("%"))]


def _comparable(text: str) -> str:
    return normalise(text) or text.strip().lower()


def list_answers(answers: str | Sequence[str]) -> list[str]:
    """Return one or several right answers as a list.

    Raises:
        TypeError: They are no texts.
    """
    several = isinstance(answers, Iterable) and not isinstance(answers, str | Mapping)
    found: list[Any] = list(answers) if several else [answers]
    if not all(isinstance(one, str) for one in found):
        raise TypeError(
            f"answer must be a text or a list of texts, got {answers!r:.80}: write a number as text"
        )
    return found
