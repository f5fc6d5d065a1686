"""Questions of one or several hops with a search engine: how Search-R1 asks, and what it grades.

Source: Jin et al. (2025), arXiv 2503.09516, and the published code (`qa_search_process.py`,
`qa_em.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from paretopo.rewards.correctness import normalised_match

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def search_r1_prompt(question: str) -> str:
    """The user's message; a question mark is added where there is none.

    >>> search_r1_prompt("who wrote Faust ")[-27:]
    'Question: who wrote Faust?\\n'
    """
    question = question.strip()
    if not question.endswith("?"):
        question += "?"
    return (
        "Answer the given question. You must conduct reasoning inside <think> and </think> first "
        "every time you get new information. After reasoning, if you find you lack some knowledge, "
        "you can call a search engine by <search> query </search> and it will return the top "
        "searched results between <information> and </information>. You can search as many times "
        "as your want. If you find no further external knowledge needed, you can directly provide "
        "the answer inside <answer> and </answer>, without detailed illustrations. For example, "
        f"<answer> Beijing </answer>. Question: {question}\n"
    )


def tagged_answer(answer: str) -> str:
    """The response that gives an answer and nothing else.

    >>> tagged_answer("Oslo")
    '<answer> Oslo </answer>'
    """
    return f"<answer> {answer} </answer>"


def last_answer(response: str) -> str | None:
    """What stands in the last answer tags of a response (without its prompt), None without any.

    >>> last_answer("<answer>Rome</answer> no, <answer> Oslo </answer>")
    'Oslo'
    """
    found = _ANSWER.findall(response)
    return found[-1].strip() if found else None


def exact_answer(response: str, targets: str | Sequence[str]) -> float:
    """1.0 if the last answer equals one of the targets after normalisation, else 0.0.

    >>> exact_answer("<answer>The Eiffel tower.</answer>", ["Eiffel Tower"])
    1.0
    """
    return normalised_match(last_answer(response), targets)
