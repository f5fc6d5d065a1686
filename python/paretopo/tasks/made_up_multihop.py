"""Questions of no, one or two hops over a made-up encyclopedia.

* ``fact`` (0): "What is the capital of Belland?", memorised;
* ``one`` (1): "Where was Tolvak born?", one article tells;
* ``two`` (2): "Which river runs through the birthplace of Tolvak?", for which one article names the
  other.

Asked and answered as in Search-R1.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from paretopo.protocols.search_r1 import INVALID, SearchR1Episode, search_r1_prompt
from paretopo.tasks.encyclopedia import Encyclopedia
from paretopo.tasks.made_up import MadeUpTask
from paretopo.tasks.task import Question, TextTrace, make_text_trace
from paretopo.tools.search import Document, SearchClient

_SEARCH = "<think> I have to look this up. </think>\n<search>"
_ANSWER = "<think> Now I know. </think>\n<answer>"
_SEARCH_END, _ANSWER_END = " </search>", " </answer>"

# The question for each relation: about a name, and about another relation of a name.
_RELATIONS = {
    "births": "Where was {} born?",
    "teachers": "Who taught {}?",
    "rivers": "Which river runs through {}?",
    "founders": "Who founded {}?",
}
_OF = {
    "births": "the birthplace of {}",
    "teachers": "the teacher of {}",
    "founders": "the founder of {}",
}
_AFTER = {  # the relations that can follow a relation
    "births": ("rivers", "founders"),
    "teachers": ("births", "teachers"),
    "founders": ("births", "teachers"),
}


class MadeUpMultihop(MadeUpTask):
    """Capitals by heart, people and towns by search.

    Args:
        search_url: The server of the encyclopedia; only traces use it.
        topk: Passages per search.
        **settings: As for every made-up task.

    Attributes:
        encyclopedia: The source of questions.

    Example:
        >>> task = MadeUpMultihop(prompts=12, held_out=6, seed=0)
        >>> [len(question.steps) for question in task.held_out]
        [0, 0, 1, 1, 2, 2]
    """

    is_chat = True
    # There are 40 capitals, and 380 and 680 questions of one and two hops.
    most: ClassVar[dict[str, int]] = {"fact": 40, "one": 300, "two": 500}

    def __init__(
        self,
        prompts: int,
        held_out: int,
        facts: int = 24,
        kinds: Sequence[float] = (0.34, 0.33, 0.33),
        seed: int = 0,
        search_url: str = "none",
        topk: int = 3,
    ) -> None:
        self.encyclopedia = Encyclopedia(seed)
        self._search_url, self._topk = search_url, topk
        super().__init__(prompts, held_out, facts, kinds, seed)

    def words(self) -> list[str]:
        """Return all texts of the encyclopedia, and the questions about it."""
        articles = [f'"{title}" {text}' for title, text in self.encyclopedia.articles()]
        return [*articles, "\n", _capital_question("x"), *_RELATIONS.values(), *_OF.values()]

    def phrases(self) -> list[str]:
        """Return the fixed parts of prompt, response and observation."""
        before, after = search_r1_prompt("|?").split("|?")
        numbered = [f'Doc {i}(Title: "' for i in range(1, self._topk + 1)]
        return [
            before, "?" + after, _SEARCH, _SEARCH_END, _ANSWER, _ANSWER_END, INVALID,
            "\n\n<information>", "</information>\n\n", *numbered, '")',
            " was born in", " studied under", " lies on the", " was founded by",
            "The capital of",
        ]  # fmt: skip

    def _make_facts(self, count: int) -> list[Question]:
        return [
            Question(
                f"capital of {country}", "fact", search_r1_prompt(_capital_question(country)), town
            )
            for country, town in list(self.encyclopedia.capitals.items())[:count]
        ]

    def _make_question(self, kind: str, rng: random.Random) -> Question:
        first = rng.choice(list(_RELATIONS) if kind == "one" else list(_OF))
        about = rng.choice(list(self._relation(first)))
        found = self._relation(first)[about]
        if kind == "one":
            text = _RELATIONS[first].format(about)
            return Question(text, kind, search_r1_prompt(text), found, (about,))
        second = rng.choice(_AFTER[first])
        text = _RELATIONS[second].format(_OF[first].format(about))
        answer = self._relation(second)[found]
        return Question(text, kind, search_r1_prompt(text), answer, (about, found))

    def _relation(self, name: str) -> Mapping[str, str]:
        relation: Mapping[str, str] = getattr(self.encyclopedia, name)
        return relation

    def _needless_call(self, fact: Question) -> str:
        return fact.id.removeprefix("capital of ")

    def _wrong_answer(self, question: Question, rng: random.Random) -> str:
        """Draw another name of the same kind: a place, a river or a person."""
        holders = [list(self._relation(name).values()) for name in _RELATIONS]
        names = next(names for names in holders if question.answer in names)
        guess = rng.choice(names)
        while guess == question.answer:
            guess = rng.choice(names)
        return guess

    def _make_trace(self, question: Question, asked: Sequence[str], answer: str) -> TextTrace:
        searches = [f"{_SEARCH} {name}{_SEARCH_END}" for name in asked]
        episode = SearchR1Episode(_FoundPassages(self._found_passages), max_turns=len(asked) + 1)
        return make_text_trace(
            self.prompt(question), episode, [*searches, f"{_ANSWER} {answer}{_ANSWER_END}"]
        )

    @cached_property
    def _found_passages(self) -> dict[str, list[Document]]:
        """The passages that the server finds for each title: traces search for nothing else."""
        titles = [title for title, _ in self.encyclopedia.articles()]
        with SearchClient(self._search_url, topk=self._topk) as search:
            return dict(zip(titles, search.search_all(titles), strict=True))


class _FoundPassages:
    """Answers from passages that were found before."""

    def __init__(self, found: Mapping[str, list[Document]]) -> None:
        self._found_passages = found

    async def search_async(self, query: str) -> list[Document]:
        return self._found_passages[query]


def _capital_question(country: str) -> str:
    return f"What is the capital of {country}?"
