r"""Mathematics with a Python interpreter: how ToRL asks.

Source: Li et al. (2025), arXiv 2503.23383, the published prompts `tir_base_0309` and
`tir_base_0307`.
Grading: `paretopo.rewards.mathematics`.
"""

from __future__ import annotations

from typing import Literal

_REQUEST = (
    "User: Please integrate natural language reasoning with programs to solve the problem above, "
    "and put your final answer within \\boxed{}.\n"
)
_OPENING = {
    "0309": (
        "A conversation between User and Assistant. The user asks a question, and the Assistant "
        "solves it.\n"
    ),
    "0307": (
        "A conversation between User and Assistant. The user asks a question, and the Assistant "
        "solves it. The assistant first thinks about the reasoning process in the mind and then "
        "provides the user with the answer. "
    ),
}


def boxed_answer(answer: str) -> str:
    r"""The response that gives an answer and nothing else.

    >>> boxed_answer("42")
    'The answer is \\boxed{42}.'
    """
    return f"The answer is \\boxed{{{answer}}}."


def torl_prompt(problem: str, variant: Literal["0309", "0307"] = "0309") -> str:
    r"""The text that a base model goes on with.

    >>> torl_prompt("What is 6*7?")[-60:]
    ' your final answer within \\boxed{}.\nWhat is 6*7?\nAssistant:\n'
    """
    return f"{_OPENING[variant]}{_REQUEST}{problem}\nAssistant:\n"
