r"""Search-R1's prompt and protocol: queries, passages and an answer, each between tags.

Source: Jin et al. (2025), "Search-R1: Training LLMs to reason and leverage search engines with
reinforcement learning", arXiv 2503.09516, and the published code (`generation.py`,
`qa_search_process.py`). We differ in one place: a query in the last, free generation is not counted
as a search, since none is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from paretopo.protocols.episode import StepResult
from paretopo.tools.search import Document

STOP = ("</search>", "</answer>")
INVALID = (
    "\nMy previous action is invalid. If I want to search, I should put the query between <search> "
    "and </search>. If I want to give the final answer, I should put the answer between <answer> "
    "and </answer>. Let me try again.\n"
)

_ACTION = re.compile(r"<(search|answer)>(.*?)</\1>", re.DOTALL)


def search_r1_prompt(question: str) -> str:
    """Return the user's message; add a question mark if the question has none.

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
    """Return the response that gives an answer and nothing else.

    >>> tagged_answer("Oslo")
    '<answer> Oslo </answer>'
    """
    return f"<answer> {answer} </answer>"


class SearchesPassages(Protocol):
    """`SearchClient`, or anything else that finds passages."""

    async def search_async(self, query: str) -> list[Document]:
        """Return the passages that fit best, best first."""
        ...


class SearchR1Episode:
    r"""One rollout.

    Args:
        search: finds passages.
        max_turns: turns before the last, free generation.
        turn_tokens: most tokens of a turn.
        feedback_tokens: most tokens of an observation.

    Attributes:
        stop: the closing tags of a query and of an answer.
        calls: searches that were made.
        failed_calls: always 0; a server that does not answer ends the run.

    >>> import asyncio
    >>> class Library:
    ...     async def search_async(self, query):
    ...         return [Document("7", '"Oslo"\nCapital of Norway.', 1.0)]
    >>> turn = asyncio.run(SearchR1Episode(Library()).step("<search> Norway's capital </search>"))
    >>> turn.feedback, turn.done
    ('\n\n<information>Doc 1(Title: "Oslo") Capital of Norway.</information>\n\n', False)
    """

    def __init__(
        self,
        search: SearchesPassages,
        *,
        max_turns: int = 4,
        turn_tokens: int | None = 500,
        feedback_tokens: int | None = 500,
    ) -> None:
        if max_turns < 0:
            raise ValueError(f"max_turns must be at least 0, got {max_turns}")
        self._search = search
        self._turns_left = max_turns
        self.stop = STOP
        self.turn_tokens = turn_tokens
        self.feedback_tokens = feedback_tokens
        self.calls = self.failed_calls = 0

    async def step(self, text: str) -> StepResult:
        """Search for the query in the text, if there is one."""
        if self._turns_left == 0:
            return StepResult("", done=True)
        self._turns_left -= 1
        action = _ACTION.search(cut_after_action(text))
        if action is None:
            return StepResult(INVALID, done=False)
        if action[1] == "answer":
            return StepResult("", done=True)
        self.calls += 1
        found = format_documents(await self._search.search_async(action[2].strip())).strip()
        return StepResult(f"\n\n<information>{found}</information>\n\n", done=False)


def cut_after_action(text: str) -> str:
    """Cut the text after the first closing tag of a query or, if there is none, of an answer.

    >>> cut_after_action("<search>a</search> and <answer>b</answer>")
    '<search>a</search>'
    """
    for tag in STOP:
        before, found, _ = text.partition(tag)
        if found:
            return before + tag
    return text


def format_documents(found: Sequence[Document]) -> str:
    r"""Passages as the model reads them, numbered from 1.

    >>> format_documents([Document("1", '"A"\nx\ny', 2.0), Document("2", '"B"\nz', 1.0)])
    'Doc 1(Title: "A") x\ny\nDoc 2(Title: "B") z\n'
    """
    return "".join(
        f"Doc {i}(Title: {document.title}) {document.text}\n"
        for i, document in enumerate(found, start=1)
    )
