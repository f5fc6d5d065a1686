r"""From a row to a prompt and an episode, by tool.

Where the tool is the one that the data were prepared for, the prompt is the row's own. The others
are written here: chain of thought without a tool, and passages before the question (RAG).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from paretopo.protocols.episode import Episode, SingleTurn
from paretopo.protocols.search_r1 import SearchesPassages, SearchR1Episode, format_documents
from paretopo.protocols.torl import RunsPrograms, TorlEpisode
from paretopo.records.schema import DataError, Example
from paretopo.tasks.task import Prompt
from paretopo.tools.search import Document
from paretopo_lab.evaluate.settings import EvaluationSettings

Domain = Literal["mathematics", "questions"]

_ANSWERED = ("</answer>",)
_BOXED = "Reason step by step, and put your final answer within \\boxed{}.\n\n"
_TAGGED = (
    "Answer the question. Think first, between <think> and </think>. Then give the answer alone, "
    "as short as possible, between <answer> and </answer>, for example <answer> Beijing </answer>."
)
_WITH_PASSAGES = " These passages were found for it:\n\n"


class SearchesBatches(SearchesPassages, Protocol):
    """`SearchClient`, or anything else that also takes many queries at once."""

    def search_all(self, queries: Sequence[str]) -> list[list[Document]]:
        """The passages that fit each query best."""
        ...


@dataclass(frozen=True)
class Tools:
    """The tools that can be called; None for those that are missing."""

    python: RunsPrograms | None = None
    search: SearchesBatches | None = None


@dataclass(frozen=True)
class RolloutRequest:
    """One rollout to run.

    Attributes:
        row: The question.
        prompt: A text to go on with, or a user's messages.
        episode: Fresh.
        seed: Fixes the samples.
    """

    row: Example
    prompt: Prompt
    episode: Episode
    seed: int


def grading_domain(row: Example) -> Domain:
    r"""The kind of answer that the row's own prompt asks for: in a box, or in answer tags.

    Raises:
        DataError: Neither, or both.

    >>> grading_domain(Example("1", "aime24", "6*7?", "Put it within \\boxed{}. 6*7?", "42"))
    'mathematics'
    """
    boxed, tagged = "\\boxed{" in row.prompt, "</answer>" in row.prompt
    if boxed == tagged:
        raise DataError(
            f"row {row.id!r}: its prompt must ask for either \\boxed{{}} or <answer> … </answer>, "
            f"that says how it is graded; it asks for {'both' if boxed else 'neither'}"
        )
    return "mathematics" if boxed else "questions"


def check_tool(row: Example, settings: EvaluationSettings) -> None:
    """Refuse a tool that is not for such questions.

    Raises:
        DataError: Programs for questions, or a search for mathematics.
    """
    wanted = {"python": "mathematics", "search": "questions", "rag": "questions"}
    if settings.tool in wanted and grading_domain(row) != wanted[settings.tool]:
        raise DataError(
            f"row {row.id!r} of {row.datasource!r} is one of {grading_domain(row)}: the tool "
            f"{settings.tool!r} is for {wanted[settings.tool]}"
        )


def make_requests(
    rows: Sequence[Example], seeds: Sequence[int], settings: EvaluationSettings, tools: Tools
) -> list[RolloutRequest]:
    """One rollout for each row; for "rag" this is where passages are looked up.

    Raises:
        ServerError: The search server is gone.
    """
    if settings.tool == "rag":
        assert tools.search is not None
        distinct = {row.question: row for row in rows}
        found = dict(zip(distinct, tools.search.search_all(list(distinct)), strict=True))
        return [
            RolloutRequest(
                row, _prompt_with_passages(row, found[row.question]), SingleTurn(_ANSWERED, 1), seed
            )
            for row, seed in zip(rows, seeds, strict=True)
        ]
    return [
        RolloutRequest(row, _make_prompt(row, settings), _make_episode(row, settings, tools), seed)
        for row, seed in zip(rows, seeds, strict=True)
    ]


def _make_prompt(row: Example, settings: EvaluationSettings) -> Prompt:
    if settings.tool == "python":
        return row.prompt  # the whole text
    if settings.tool == "search":
        return _user_message(row.prompt)
    if grading_domain(row) == "mathematics":
        return _user_message(f"{_BOXED}{row.question}\n")
    return _user_message(f"{_TAGGED} Question: {row.question}\n")


def _make_episode(row: Example, settings: EvaluationSettings, tools: Tools) -> Episode:
    if settings.tool == "python":
        assert tools.python is not None
        return TorlEpisode(tools.python, max_calls=settings.rounds)
    if settings.tool == "search":
        assert tools.search is not None
        return SearchR1Episode(tools.search, max_turns=settings.rounds)
    return SingleTurn(() if grading_domain(row) == "mathematics" else _ANSWERED)


def _prompt_with_passages(row: Example, found: Sequence[Document]) -> Prompt:
    passages = format_documents(found)
    return _user_message(f"{_TAGGED}{_WITH_PASSAGES}{passages}\nQuestion: {row.question}\n")


def _user_message(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text}]
