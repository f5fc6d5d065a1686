"""Questions that need a calculator never, once or twice; the bundled task of `paretopo train`.

The three kinds, by the fewest calls that suffice:

* ``fact`` (0): memorised, "How many days are in a week?";
* ``one`` (1): one operation, "What is 47*38?";
* ``two`` (2): two operations, "What is 47*38-126?", where the calculator takes one per call.

Where ``tool.solver_price`` is above 0 there is a second tool: the solver takes both operations in
one call, and every call of it costs dollars. Fewer calls or fewer dollars is then the question.

The rules of all made-up tasks hold: `paretopo.tasks.made_up`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from paretopo.tasks.made_up import MadeUpTask
from paretopo.tasks.task import Message, Question
from paretopo.tools.calculator import Limits, make_calculator

# One operation per call, so that a question of kind "two" cannot be typed in as a whole.
calculator = make_calculator(Limits(operations=1))
_evaluate_both = make_calculator(Limits(operations=2))


def solver(expression: str) -> str:
    """Evaluates an arithmetic expression of up to two operations. Every call costs money.

    Args:
        expression: The arithmetic expression, for example 12*34-56.

    Returns:
        The value, or what is wrong with the expression.
    """
    return _evaluate_both(expression)


_SOLVED_AT_ONCE = 0.5  # share of the traces of two operations, with a solver

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


class CalculatorTask(MadeUpTask):
    """Facts, and sums that take one or two calls.

    Example:
        >>> task = CalculatorTask(prompts=12, held_out=6, facts=4, seed=0)
        >>> [question.kind for question in task.held_out]
        ['fact', 'fact', 'one', 'one', 'two', 'two']
    """

    is_chat = True
    functions: Sequence[Callable[[str], str]] = (calculator,)
    # Operands are 11 to 99: 7921 products, 178 times as many questions of two operations. Random
    # draws therefore rarely repeat a question.
    most: ClassVar[dict[str, int]] = {"fact": len(FACTS), "one": 6000, "two": 1_000_000}

    def words(self) -> list[str]:
        """Every text of the task that is not arithmetic."""
        return [text for text, _ in FACTS] + ["What is ?", "error: at most 1 operation per call"]

    def phrases(self) -> list[str]:
        """The fixed parts of a call, as the tiny model's chat template renders it."""
        calls = [
            f'<call>{{"name": "{tool.__name__}", "arguments": {{"expression": "'
            for tool in self.functions
        ]
        return [*calls, '"}}</call>']

    def _make_facts(self, count: int) -> list[Question]:
        return [
            Question(f"fact-{i}", "fact", text, str(answer))
            for i, (text, answer) in enumerate(FACTS[:count])
        ]

    def _make_question(self, kind: str, rng: random.Random) -> Question:
        """Named after its expression."""
        first = f"{rng.randint(11, 99)}*{rng.randint(11, 99)}"
        if kind == "one":
            return Question(first, kind, f"What is {first}?", calculator(first), (first,))
        tail = f"{rng.choice('+-')}{rng.randint(11, 99)}"
        last = calculator(first) + tail
        return Question(
            first + tail, kind, f"What is {first}{tail}?", calculator(last), (first, last)
        )

    def _make_trace(self, question: Question, asked: Sequence[str], answer: str) -> list[Message]:
        """Chat messages, with `tool_calls` and `tool` messages."""
        messages: list[Message] = [{"role": "user", "content": question.text}]
        for expression in asked:
            tool = solver if expression == question.id and question.kind == "two" else calculator
            function = {"name": tool.__name__, "arguments": {"expression": expression}}
            call = {"type": "function", "function": function}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"role": "tool", "name": tool.__name__, "content": tool(expression)})
        messages.append({"role": "assistant", "content": answer})
        return messages


class CalculatorWithSolver(CalculatorTask):
    """The same questions with a second tool, which takes both operations of a sum at once."""

    functions = (calculator, solver)

    def words(self) -> list[str]:
        """Return the words of questions and calls, and the solver's messages."""
        return [*super().words(), "error: at most 2 operations per call"]

    def _plan_trace(
        self, question: Question, rng: random.Random, redundant_calls: int, guess_rate: float
    ) -> tuple[list[str], str]:
        """Some of two operations at once."""
        if question.kind == "two" and rng.random() < _SOLVED_AT_ONCE:
            question = replace(question, steps=(question.id,))  # the whole expression
        return super()._plan_trace(question, rng, redundant_calls, guess_rate)


def is_correct(response: str, answer: str) -> bool:
    """Is the last number of the response the answer?

    Example:
        >>> is_correct("That is 1,786.", "1786"), is_correct("17", "1786"), is_correct("", "7")
        (True, False, False)
    """
    numbers = re.findall(r"-?[0-9]+(?:\.[0-9]+)?", response.replace(",", ""))
    return bool(numbers) and float(numbers[-1]) == float(answer)
