r"""Search-R1's protocol: queries between tags, passages between tags, an answer between tags.

Source: Jin et al. (2025), "Search-R1: Training LLMs to reason and leverage search engines with
reinforcement learning", arXiv 2503.09516, and the published code (`generation.py`). We differ in
one place: a query in the last, free generation is not counted as a search, since none is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from paretopo.protocols.episode import Turn
from paretopo.tools.search import Document

STOP = ("</search>", "</answer>")
INVALID = (
    "\nMy previous action is invalid. If I want to search, I should put the query between <search> "
    "and </search>. If I want to give the final answer, I should put the answer between <answer> "
    "and </answer>. Let me try again.\n"
)

_ACTION = re.compile(r"<(search|answer)>(.*?)</\1>", re.DOTALL)


class Searches(Protocol):
    """`SearchClient`, or anything else that finds passages."""

    async def search_async(self, query: str) -> list[Document]:
        """The passages that fit best, best first."""
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
        search: Searches,
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
        self.calls = 0

    async def step(self, text: str) -> Turn:
        """Search for what was just asked, if anything was."""
        if self._turns_left == 0:
            return Turn("", done=True)
        self._turns_left -= 1
        action = _ACTION.search(cut(text))
        if action is None:
            return Turn(INVALID, done=False)
        if action[1] == "answer":
            return Turn("", done=True)
        self.calls += 1
        found = documents(await self._search.search_async(action[2].strip())).strip()
        return Turn(f"\n\n<information>{found}</information>\n\n", done=False)


def cut(text: str) -> str:
    """The text up to the first closing tag: that of a query, else that of an answer.

    >>> cut("<search>a</search> and <answer>b</answer>")
    '<search>a</search>'
    """
    for tag in STOP:
        before, found, _ = text.partition(tag)
        if found:
            return before + tag
    return text


def documents(found: Sequence[Document]) -> str:
    r"""Passages as the model reads them, numbered from 1.

    >>> documents([Document("1", '"A"\nx\ny', 2.0), Document("2", '"B"\nz', 1.0)])
    'Doc 1(Title: "A") x\ny\nDoc 2(Title: "B") z\n'
    """
    return "".join(
        f"Doc {i}(Title: {document.title}) {document.text}\n"
        for i, document in enumerate(found, start=1)
    )
