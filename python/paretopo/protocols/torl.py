r"""ToRL's prompt and protocol: Python programs in a text, each followed by its output.

A model writes a block of Python and opens a block of output; there it is stopped, the program is
run, and its output is filled in. After `max_calls` rounds it finishes on its own.

Source: Li et al. (2025), "ToRL: Scaling tool-integrated RL", arXiv 2503.23383, and the published
code, with its prompt `tir_base_0309`. We differ in two places. The fence of
the output, which the model writes, stays in the text also where no program came before it (there
ToRL cuts it out). And tokens are appended turn by turn, so the mask of the observations cannot
slip, as theirs does from the second one on.
"""

from __future__ import annotations

from typing import Protocol

from paretopo.protocols.episode import StepResult
from paretopo.tools.python_interpreter import ProgramResult

STOP = "```output"

_OPEN, _FENCE = "```python", "```"
_LONGEST, _KEPT = 256, 128  # characters
_NOTHING = "timeout_decorator.timeout_decorator.TimeoutError: 'Timed Out'"
_BROKEN = "UnknownError"

_PROMPT = (
    "A conversation between User and Assistant. The user asks a question, and the Assistant solves "
    "it.\nUser: Please integrate natural language reasoning with programs to solve the problem "
    "above, and put your final answer within \\boxed{}.\n"
)


def torl_prompt(problem: str) -> str:
    r"""Return the text that a base model continues.

    >>> torl_prompt("What is 6*7?")[-60:]
    ' your final answer within \\boxed{}.\nWhat is 6*7?\nAssistant:\n'
    """
    return f"{_PROMPT}{problem}\nAssistant:\n"


def boxed_answer(answer: str) -> str:
    r"""Return the response that gives an answer and nothing else.

    >>> boxed_answer("42")
    'The answer is \\boxed{42}.'
    """
    return f"The answer is \\boxed{{{answer}}}."


class RunsPrograms(Protocol):
    """`PythonInterpreter`, or anything else that runs a program."""

    async def run_async(self, code: str) -> ProgramResult:
        """Run a program."""
        ...


class TorlEpisode:
    r"""One rollout.

    Args:
        python: runs the programs.
        max_calls: rounds with the tool; ToRL's C, 1 in its smallest setting.

    Attributes:
        stop: "```output", and nothing in the last, free generation.
        calls: programs that were run.
        failed_calls: programs that ended with an error or at a limit.

    >>> import asyncio
    >>> from paretopo.tools.python_interpreter import PythonInterpreter
    >>> with PythonInterpreter(workers=1, preload=()) as python:
    ...     episode = TorlEpisode(python)
    ...     asyncio.run(episode.step("Let me see.\n```python\nprint(6 * 7)\n```\n```output"))
    StepResult(feedback='\n42\n```\n', done=False)
    """

    turn_tokens = None
    feedback_tokens = None

    def __init__(self, python: RunsPrograms, *, max_calls: int = 1) -> None:
        if max_calls < 0:
            raise ValueError(f"max_calls must be at least 0, got {max_calls}")
        self._python = python
        self._rounds_left = max_calls
        self.calls = self.failed_calls = 0

    @property
    def stop(self) -> tuple[str, ...]:
        """The string that ends the next piece of text, if any."""
        return (STOP,) if self._rounds_left > 0 else ()

    async def step(self, text: str) -> StepResult:
        """Run the program that was just written, if there is one."""
        if self._rounds_left == 0 or STOP not in text:
            return StepResult("", done=True)
        self._rounds_left -= 1
        before, _, behind = text.partition(STOP)
        program = last_program(before)
        if not program.strip():
            return StepResult("", done=False)
        self.calls += 1
        result = await self._python.run_async(program)
        self.failed_calls += result.returncode != 0 or result.limit is not None
        seen = format_observation(result)
        newline = "" if behind.endswith("\n") else "\n"  # a token can hold fence and line end
        return StepResult(f"{newline}{seen}\n{_FENCE}\n", done=False)


def last_program(text: str) -> str:
    r"""Return the last block of Python; "" if there is none or it is not closed.

    A block opens with a line that begins or ends with "```python" and closes with one that begins
    with "```".

    >>> last_program("```python\nx = 1\n```\nand\n```python\nprint(x)\n```\n")
    'print(x)\n'
    >>> last_program("```python\nprint(1)")
    ''
    """
    program: list[str] = []
    is_open = False
    for line in text.split("\n"):
        if line.startswith(_OPEN) or line.endswith(_OPEN):
            program, is_open = [], True
        elif line.startswith(_FENCE):
            is_open = False
        elif is_open:
            program.append(line + "\n")
    return "" if is_open else "".join(program)


def format_observation(result: ProgramResult) -> str:
    r"""Format the output of a program for the model.

    This is its output or, if it failed without output, the last line of its errors. Texts of 256
    characters and more keep their first and last 128. For a program without any output it reports
    a time-out, even if there was none, as ToRL does.

    >>> format_observation(ProgramResult("42\n", "", 0, 0.1))
    '42'
    >>> trace = "Traceback (most recent call last):\n  …\nZeroDivisionError: division by zero\n"
    >>> format_observation(ProgramResult("", trace, 1, 0.1))
    'ZeroDivisionError: division by zero'
    """
    if result.limit == "sandbox":
        return _BROKEN
    text = result.stdout if result.returncode == 0 or result.stdout else result.stderr
    text = text.strip()
    if "Error" in text:
        text = text.rsplit("\n", 1)[-1].strip()
    if not text:
        text = _NOTHING
    return text if len(text) < _LONGEST else f"{text[:_KEPT]}...{text[-_KEPT:]}"
