"""Task correctness: does the answer match, after normalisation?"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from paretopo.rewards.plain_numbers import are_same_number, read_number

_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
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
    if answer is None or not answer.strip():
        return 0.0
    return float(_comparable(answer) in {_comparable(target) for target in _as_list(targets)})


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
    for target in _as_list(targets):
        known = read_number(target)
        if known is None:
            equal = normalised_match(answer, target) == 1.0
        else:
            equal = given is not None and are_same_number(given, known)
        if equal:
            return 1.0
    return 0.0


def last_answer(response: str) -> str | None:
    """Return the text in the last answer tags of a response (without its prompt), or None.

    >>> last_answer("<answer>Rome</answer> no, <answer> Oslo </answer>")
    'Oslo'
    """
    found = _TAGGED.findall(response)
    return found[-1].strip() if found else None


def exact_answer(response: str, targets: str | Sequence[str]) -> float:
    """Return 1.0 if the last answer equals one of the targets after normalisation, else 0.0.

    Grades as Search-R1 does (`qa_em.py` of the published code).

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


def _comparable(text: str) -> str:
    return normalise(text) or text.strip().lower()


def _as_list(targets: str | Sequence[str]) -> Sequence[str]:
    return [targets] if isinstance(targets, str) else targets
