r"""Mathematics made up: some questions are for memory, some for one program, some for two.

A cupboard has numbered drawers, and the policy knows by heart how many coins are in each:

* ``fact`` (0): "How many coins are in drawer 7?";
* ``one`` (1): "What is 47*38?";
* ``two`` (2): "What is 63 times the coins in drawer 47*38%24?". A program finds the drawer, memory
  its coins, and a second program multiplies. One program could do it all only by spelling the whole
  cupboard out.

Asked and answered as in ToRL, with the answer in a box.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import ClassVar

from paretopo.protocols.torl import TorlEpisode, torl_prompt
from paretopo.tasks.made_up import MadeUpTask
from paretopo.tasks.task import Question, TextTrace, make_text_trace
from paretopo.tools.calculator import Limits, make_calculator
from paretopo.tools.python_interpreter import ProgramResult

_OPEN, _CLOSE = "Let me compute it.\n```python\nprint(", ")\n```\n```output"
_BOX, _END = "The answer is \\boxed{", "}."

_value = make_calculator(Limits(operations=2))


class MadeUpMath(MadeUpTask):
    """A cupboard of coins, and products.

    Example:
        >>> task = MadeUpMath(prompts=12, held_out=6, seed=0)
        >>> [len(question.steps) for question in task.held_out]
        [0, 0, 1, 1, 2, 2]
    """

    is_chat = False
    most: ClassVar[dict[str, int]] = {"fact": 60, "one": 6000, "two": 500_000}

    def words(self) -> list[str]:
        """Return all texts of the task except numbers, and the commonest error message."""
        return [
            "What is times the coins in drawer ?\n",
            _coins_question(0),
            "SyntaxError: invalid syntax",
        ]

    def phrases(self) -> list[str]:
        """Return the fixed parts of prompt and response."""
        before, after = torl_prompt("|").split("|")
        return [before, after, _OPEN, _CLOSE, "\n```\n", _BOX, _END]

    def _make_facts(self, count: int) -> list[Question]:
        rng = random.Random(f"cupboard {self.seed}")
        self._coins = [rng.randint(11, 99) for _ in range(count)]
        return [
            Question(f"drawer-{i}", "fact", torl_prompt(_coins_question(i)), str(coins))
            for i, coins in enumerate(self._coins)
        ]

    def _make_question(self, kind: str, rng: random.Random) -> Question:
        product = f"{rng.randint(11, 99)}*{rng.randint(11, 99)}"
        if kind == "one":
            text = f"What is {product}?"
            return Question(product, kind, torl_prompt(text), _value(product), (product,))
        drawer = f"{product}%{len(self._coins)}"
        times = rng.randint(11, 99)
        last = f"{times}*{self._coins[int(_value(drawer))]}"
        text = f"What is {times} times the coins in drawer {drawer}?"
        name = f"{times} of {drawer}"
        return Question(name, kind, torl_prompt(text), _value(last), (drawer, last))

    def _make_trace(self, question: Question, asked: Sequence[str], answer: str) -> TextTrace:
        programs = [f"{_OPEN}{expression}{_CLOSE}" for expression in asked]
        episode = TorlEpisode(_SimulatedPython(), max_calls=len(asked))
        return make_text_trace(self.prompt(question), episode, [*programs, f"{_BOX}{answer}{_END}"])


class _SimulatedPython:
    """Prints the output of a Python interpreter for the programs of the traces."""

    async def run_async(self, code: str) -> ProgramResult:
        expression = code.strip().removeprefix("print(").removesuffix(")")
        return ProgramResult(_value(expression) + "\n", "", 0, 0.0)


def _coins_question(drawer: int) -> str:
    return f"How many coins are in drawer {drawer}?"
