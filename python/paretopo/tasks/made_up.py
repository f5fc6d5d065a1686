"""The frame of the made-up tasks: questions that need no call, one or two, and how traces err.

The three kinds, by the fewest calls that suffice:

* ``fact`` (0): memorised;
* ``one`` (1), ``two`` (2): asked of the tool.

Accuracy and economy compete: a guess saves calls and is wrong, a call for a memorised fact costs
calls and gains nothing. Training and held-out questions of the kinds one and two are disjoint. The
facts are the same on both sides, since an unseen fact cannot be memorised.
"""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from paretopo.config import ConfigError
from paretopo.tasks.task import Question, Task, Trace

KINDS = ("fact", "one", "two")

# Traces of two calls are the hardest to imitate: the warm-up sees them more often than their share.
_TRACE_WEIGHTS = (1.0, 1.0, 2.0)


class MadeUpTask(Task):
    """Draws questions and traces; subclasses define the questions of each kind.

    Args:
        prompts: Training questions.
        held_out: Held-out questions.
        facts: Memorised facts.
        kinds: Shares of the kinds fact, one and two; they sum to 1.
        seed: Fixes every question and every trace.

    Attributes:
        most: How many different questions of each kind are safe to ask for.

    Raises:
        ConfigError: More facts, or more questions of a kind, than there are.
    """

    most: ClassVar[dict[str, int]]

    def __init__(
        self,
        prompts: int,
        held_out: int,
        facts: int = 24,
        kinds: Sequence[float] = (0.34, 0.33, 0.33),
        seed: int = 0,
    ) -> None:
        if not 1 <= facts <= self.most["fact"]:
            raise ConfigError(f"task.facts must be from 1 to {self.most['fact']}, got {facts}")
        for kind, share in zip(KINDS[1:], kinds[1:], strict=True):
            if (prompts + held_out) * share > self.most[kind]:
                raise ConfigError(
                    f"task.prompts and evaluation.prompts ask for more than {self.most[kind]} "
                    f"questions of kind {kind!r}: {prompts} and {held_out}, share {share:g}"
                )
        self.seed = seed
        self._kinds = tuple(kinds)
        self._facts = self._make_facts(facts)
        rng = random.Random(f"questions {seed}")
        taken: set[str] = set()
        self.held_out = self._draw_questions(held_out, rng, taken)
        self._reserved = frozenset(taken)  # never trained on, not even by the warm-up
        self.training = self._draw_questions(prompts, rng, taken)

    @abstractmethod
    def _make_facts(self, count: int) -> list[Question]:
        """So many facts."""

    @abstractmethod
    def _make_question(self, kind: str, rng: random.Random) -> Question:
        """A random question of kind "one" or "two"."""

    @abstractmethod
    def _make_trace(self, question: Question, asked: Sequence[str], answer: str) -> Trace:
        """The rollout that asks the tool that, then answers so."""

    def _needless_call(self, fact: Question) -> str:
        """The argument of a needless call for a fact, here a number."""
        return f"{fact.answer}*1"

    def _wrong_answer(self, question: Question, rng: random.Random) -> str:
        """A guess that is not the answer: here a number of the same length."""
        answer = str(question.answer)
        low, high = 10 ** (len(answer) - 1), 10 ** len(answer) - 1
        guess = rng.randint(low, high)
        return str(guess if str(guess) != answer else (guess + 1 if guess < high else guess - 1))

    def traces(self, step: int, count: int, redundant_calls: int, guess_rate: float) -> list[Trace]:
        """Rollouts for one supervised step, each right in the end or a guess.

        A question of the kinds one and two is guessed with probability `guess_rate`, before any
        call or, for kind "two", after the first. The others repeat their last call up to
        `redundant_calls` times, and so do most facts.
        """
        rng = random.Random(f"trace {step} {self.seed}")
        shares = [share * w for share, w in zip(self._kinds, _TRACE_WEIGHTS, strict=True)]
        traces: list[Trace] = []
        while len(traces) < count:
            kind = rng.choices(KINDS, shares)[0]
            question = rng.choice(self._facts) if kind == "fact" else self._make_question(kind, rng)
            if question.text not in self._reserved:
                asked, answer = self._plan_trace(question, rng, redundant_calls, guess_rate)
                traces.append(self._make_trace(question, asked, answer))
        return traces

    def solution(self, question: Question) -> Trace:
        """As traces answer."""
        return self._make_trace(question, (), str(question.answer))

    def _plan_trace(
        self, question: Question, rng: random.Random, redundant_calls: int, guess_rate: float
    ) -> tuple[list[str], str]:
        """Choose the calls of a trace, and its answer."""
        asked = list(question.steps)
        if asked and rng.random() < guess_rate:
            asked = asked[: rng.randrange(len(asked))]
            return asked, self._wrong_answer(question, rng)
        last = asked[-1] if asked else self._needless_call(question)
        # The larger of two draws: needless calls are the habit, not the exception.
        needless = max(rng.randint(0, redundant_calls), rng.randint(0, redundant_calls))
        return asked + [last] * needless, str(question.answer)

    def _draw_questions(self, count: int, rng: random.Random, taken: set[str]) -> list[Question]:
        """Draw questions in the shares of their kinds; those that need calls are never repeated."""
        one = round(count * self._kinds[1])
        two = min(round(count * self._kinds[2]), count - one)
        questions = self._draw_facts(count - one - two, rng)
        for kind, wanted in (("one", one), ("two", two)):
            for _ in range(wanted):
                question = self._make_question(kind, rng)
                while question.text in taken:
                    question = self._make_question(kind, rng)
                taken.add(question.text)
                questions.append(question)
        return questions

    def _draw_facts(self, count: int, rng: random.Random) -> list[Question]:
        """Draw facts in random order, all equally often, give or take one."""
        order = rng.sample(self._facts, len(self._facts))
        return [order[i % len(order)] for i in range(count)]
