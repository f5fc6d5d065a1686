"""Questions that need a calculator never, once or twice; the bundled task of `paretopo train`.

The three kinds, by the fewest calls that suffice:

* ``fact`` (0): memorised, "How many days are in a week?";
* ``one`` (1): one operation, "What is 47*38?";
* ``two`` (2): two operations, "What is 47*38-126?", where the calculator takes one per call.

Accuracy and economy pull apart: guessing an arithmetic answer saves calls and is wrong, calling
for a memorised fact costs calls and gains nothing. Training and held-out arithmetic questions are
disjoint; the facts are the same on both sides, since an unseen fact cannot have been memorised.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from paretopo_core.training.config import RunConfig
from paretopo_core.training.keys import ConfigError
from paretopo_core.training.tools.calculator import Limits, make_calculator

KINDS = ("fact", "one", "two")
MOST_CALLS_NEEDED = 2

# One operation per call, so that a question of kind "two" cannot be typed in as a whole.
calculator = make_calculator(Limits(operations=1))

FACTS: tuple[tuple[str, int], ...] = (
    ("How many days are in a week?", 7),
    ("How many months are in a year?", 12),
    ("How many hours are in a day?", 24),
    ("How many minutes are in an hour?", 60),
    ("How many days are in a leap year?", 366),
    ("How many minutes are in a day?", 1440),
    ("How many years are in a decade?", 10),
    ("How many years are in a century?", 100),
    ("How many legs has a spider?", 8),
    ("How many legs has a beetle?", 6),
    ("How many arms has a squid?", 10),
    ("How many sides has a triangle?", 3),
    ("How many sides has a pentagon?", 5),
    ("How many faces has a cube?", 6),
    ("How many edges has a cube?", 12),
    ("How many degrees are in a circle?", 360),
    ("How many planets has the sun?", 8),
    ("How many strings has a violin?", 4),
    ("How many strings has a guitar?", 6),
    ("How many keys has a piano?", 88),
    ("How many cards are in a deck?", 52),
    ("How many squares has a chessboard?", 64),
    ("How many letters are in the alphabet?", 26),
    ("How many bits are in a byte?", 8),
)


# Operands are 11 to 99: 7921 products, 178 times as many questions of two operations, of which not
# the last few should have to be drawn.
_MOST = {"one": 6000, "two": 1_000_000}

# Traces of two calls are the hardest to imitate: the warm-up sees them more often than their share.
_TRACE_WEIGHTS = (1.0, 1.0, 2.0)


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        id: Stable name; the running minimum of calls is kept under it.
        kind: "fact", "one" or "two".
        text: What the policy reads.
        answer: The right answer.
        steps: Expressions to call, in order; "{}" stands for the result of the call before.
    """

    id: str
    kind: str
    text: str
    answer: str
    steps: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """The question as a data-set row: prompt as chat messages, id, kind, answer."""
        return {
            "prompt": [{"role": "user", "content": self.text}],
            "id": self.id,
            "kind": self.kind,
            "answer": self.answer,
        }


class CalculatorTask:
    """Training and held-out questions, and traces for the supervised warm-up.

    Args:
        prompts: Training questions.
        held_out: Held-out questions.
        facts: How many of `FACTS` are used, at least 1.
        kinds: Shares of the kinds fact, one and two; they sum to 1.
        seed: Fixes every question and every trace.

    Raises:
        ConfigError: More facts, or more questions of one or two operations, than there are.

    Example:
        >>> task = CalculatorTask(prompts=12, held_out=6, facts=4, seed=0)
        >>> [question.kind for question in task.held_out]
        ['fact', 'fact', 'one', 'one', 'two', 'two']
    """

    def __init__(
        self,
        prompts: int,
        held_out: int,
        facts: int = len(FACTS),
        kinds: Sequence[float] = (0.34, 0.33, 0.33),
        seed: int = 0,
    ) -> None:
        if not 1 <= facts <= len(FACTS):
            raise ConfigError(f"task.facts must be from 1 to {len(FACTS)}, got {facts}")
        for kind, share in zip(KINDS[1:], kinds[1:], strict=True):
            if (prompts + held_out) * share > _MOST[kind]:
                raise ConfigError(
                    f"task.prompts and evaluation.prompts ask for more than {_MOST[kind]} "
                    f"questions of kind {kind!r}: {prompts} and {held_out}, share {share:g}"
                )
        self._facts = [
            Question(f"fact-{i}", "fact", text, str(answer))
            for i, (text, answer) in enumerate(FACTS[:facts])
        ]
        self._kinds = tuple(kinds)
        self._seed = seed
        rng = random.Random(f"questions {seed}")
        taken: set[str] = set()
        self.held_out = self._draw(held_out, rng, taken)
        self._reserved = frozenset(taken)  # never trained on, not even by the warm-up
        self.training = self._draw(prompts, rng, taken)

    @classmethod
    def of(cls, config: RunConfig) -> CalculatorTask:
        """The task that a run's configuration describes."""
        return cls(
            prompts=config.task.prompts,
            held_out=config.evaluation.prompts,
            facts=config.task.facts,
            kinds=config.task.kinds,
            seed=config.seed,
        )

    def _draw(self, count: int, rng: random.Random, taken: set[str]) -> list[Question]:
        """`count` questions in the shares of the kinds; arithmetic ones are new each time."""
        one = round(count * self._kinds[1])
        two = min(round(count * self._kinds[2]), count - one)
        questions = self._some_facts(count - one - two, rng)
        for kind, wanted in (("one", one), ("two", two)):
            for _ in range(wanted):
                question = _arithmetic(kind, rng)
                while question.text in taken:
                    question = _arithmetic(kind, rng)
                taken.add(question.text)
                questions.append(question)
        return questions

    def _some_facts(self, count: int, rng: random.Random) -> list[Question]:
        """Facts in random order, none more than once more often than another."""
        order = rng.sample(self._facts, len(self._facts))
        return [order[i % len(order)] for i in range(count)]

    def schedule(self, steps: int, per_step: int) -> Iterator[Question]:
        """Training questions for `steps` steps: pass after pass, each in a fresh random order."""
        left = steps * per_step
        lap = 0
        while left > 0:
            order = self.training.copy()
            random.Random(f"lap {lap} {self._seed}").shuffle(order)
            yield from order[:left]
            left -= len(order)
            lap += 1

    def traces(
        self, step: int, count: int, redundant_calls: int, guess_rate: float
    ) -> list[list[dict[str, Any]]]:
        """Conversations for one supervised step; the same arguments give the same traces.

        Each is right in the end or a guess: an arithmetic answer is guessed with probability
        `guess_rate`, before any call or, for kind "two", after the first. The others repeat their
        last call up to `redundant_calls` times, and so do most facts.

        Args:
            step: Number of the supervised step.
            count: Conversations wanted.
            redundant_calls: Most needless calls in a trace.
            guess_rate: Share of the arithmetic traces that guess.

        Returns:
            Chat messages per conversation, with `tool_calls` and `tool` messages.
        """
        rng = random.Random(f"trace {step} {self._seed}")
        shares = [share * w for share, w in zip(self._kinds, _TRACE_WEIGHTS, strict=True)]
        conversations: list[list[dict[str, Any]]] = []
        while len(conversations) < count:
            kind = rng.choices(KINDS, shares)[0]
            question = rng.choice(self._facts) if kind == "fact" else _arithmetic(kind, rng)
            if question.text not in self._reserved:
                conversations.append(_trace(question, rng, redundant_calls, guess_rate))
        return conversations

    @staticmethod
    def words() -> list[str]:
        """Every text of the task that is not arithmetic, for making a vocabulary."""
        return [text for text, _ in FACTS] + ["What is ?", "error: at most 1 operation per call"]


def is_correct(response: str, answer: str) -> bool:
    """Is the last number of the response the answer?

    Example:
        >>> is_correct("That is 1,786.", "1786"), is_correct("17", "1786"), is_correct("", "7")
        (True, False, False)
    """
    numbers = re.findall(r"-?[0-9]+(?:\.[0-9]+)?", response.replace(",", ""))
    return bool(numbers) and float(numbers[-1]) == float(answer)


def _arithmetic(kind: str, rng: random.Random) -> Question:
    """A random question of kind "one" or "two", named after its expression."""
    first = f"{rng.randint(11, 99)}*{rng.randint(11, 99)}"
    if kind == "one":
        return Question(first, kind, f"What is {first}?", calculator(first), (first,))
    tail = f"{rng.choice('+-')}{rng.randint(11, 99)}"
    answer = calculator(calculator(first) + tail)
    return Question(first + tail, kind, f"What is {first}{tail}?", answer, (first, "{}" + tail))


def _trace(
    question: Question, rng: random.Random, redundant_calls: int, guess_rate: float
) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": question.text}]
    steps = list(question.steps)
    guessing = bool(steps) and rng.random() < guess_rate
    if guessing:
        steps = steps[: rng.randrange(len(steps))]
    answer = _guess(question.answer, rng) if guessing else question.answer
    result = question.answer
    expression = f"{result}*1"  # what a needless call for a fact looks like
    for step in steps:
        expression = step.format(result)
        result = _call(messages, expression)
    if not guessing:
        # The larger of two draws: needless calls are the habit, not the exception.
        for _ in range(max(rng.randint(0, redundant_calls), rng.randint(0, redundant_calls))):
            _call(messages, expression)
    messages.append({"role": "assistant", "content": answer})
    return messages


def _call(messages: list[dict[str, Any]], expression: str) -> str:
    """Append a call and its result; returns the result."""
    function = {"name": "calculator", "arguments": {"expression": expression}}
    result = calculator(expression)
    messages.append(
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": function}],
        }
    )
    messages.append({"role": "tool", "name": "calculator", "content": result})
    return result


def _guess(answer: str, rng: random.Random) -> str:
    """A number of the same length that is not the answer."""
    low, high = 10 ** (len(answer) - 1), 10 ** len(answer) - 1
    guess = rng.randint(low, high)
    return str(guess if str(guess) != answer else (guess + 1 if guess < high else guess - 1))
