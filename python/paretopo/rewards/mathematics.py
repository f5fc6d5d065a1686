"""Is a mathematical answer right? The last box of a response against the known answer.

docs/grading.md numbers the rules; the first that applies decides. Rule 1 is `notation.py`, rule 2
`plain_numbers.py`, and rule 6 `latex_reader.py`.

The last rule reads LaTeX that a model wrote, which can take forever or use all memory
(`9^{9^{9^9}}`). A `PythonInterpreter` runs it under its limits. A comparison that reaches a limit
is undecided, neither right nor wrong: None.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import Future
from importlib import resources
from typing import Literal

from paretopo.rewards.correctness import list_answers
from paretopo.rewards.notation import normalise_answer, split_choice, to_latex, write_as_sets
from paretopo.rewards.plain_numbers import PlainNumber, are_same_number, read_number
from paretopo.tools.batches import Batches
from paretopo.tools.python_interpreter import PythonInterpreter

_LONGEST = 2000  # characters of an answer; longer ones are wrong
_PATIENCE = 300  # seconds by the clock for each of processor time
_REMEMBERED = 100_000  # pairs of answers: the rollouts of a group repeat each other
_TOGETHER = 64  # comparisons by one process

Pair = tuple[str, str]  # given, right answer

_PROGRAM = "import json, warm_up\nwarm_up.compare_all(json.loads({pairs!r}))\n"

_BOX = re.compile(r"\\(?:boxed|fbox)\s*(?:\{|\Z)")
_BRACE = re.compile(r"\\[{}\\]|[{}]")  # an escaped brace is a character
_IN_A_BASE = re.compile(r"(?=[a-f]*\d)([\da-f]+)_(?:\{(\d+)\}|(\d+))")
_BRACKETED = re.compile(r"([(\[]|\\\{(?=.*\\\}$))((?:(?!\\[{}])[^()\[\]])*)([)\]]|\\\})")
_WORDS = re.compile(r"\\text(?:bf|it|rm)?\s*\{[^{}]*[a-zA-Z]{2}[^{}]*\}|[a-zA-Z][a-zA-Z -]{3,}")


def last_box(text: str) -> str | None:
    r"""Return the content of the last `\boxed{…}`; None without one, or if it is unfinished.

    A policy is not paid for an earlier box if it runs out of tokens in the last one.

    >>> last_box(r"So \boxed{1}, no: \boxed{\frac{1}{2}} it is")
    '\\frac{1}{2}'
    """
    boxes = {box.end() - 1 for box in _BOX.finditer(text)}  # where their braces open
    opened: list[int] = []
    last, content = -1, None
    for brace in _BRACE.finditer(text):
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            start = opened.pop()
            if start in boxes and start > last:
                last, content = start, text[start + 1 : brace.start()]
    unfinished = boxes.intersection([*opened, len(text) - 1])
    return content if last > max(unfinished, default=-1) else None


class MathGrader:
    r"""Grades responses. Any number of threads may call it; waiting comparisons share a process.

    Args:
        cpu_seconds: Processor time for one comparison; a longer one is undecided. Processor time
            makes verdicts independent of the load of the machine.
        workers: Number of processes that compare at the same time.
        isolation: As for `PythonInterpreter`. It runs no program of a model, only a reader of LaTeX
            that the model wrote, so "process" is defensible without bubblewrap.

    Attributes:
        undecided: how many gradings were neither right nor wrong so far.

    >>> with MathGrader() as grader:
    ...     grader.grade(r"… so \boxed{0.5}", r"\frac{1}{2}"), grader.grade("42", "42")
    (1.0, 0.0)
    """

    def __init__(
        self,
        *,
        cpu_seconds: int = 2,
        workers: int = 2,
        isolation: Literal["bubblewrap", "process"] = "bubblewrap",
    ) -> None:
        reader = resources.files("paretopo.rewards").joinpath("latex_reader.py")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said above
            self._python = PythonInterpreter(
                timeout=_PATIENCE * cpu_seconds,
                cpu_seconds=cpu_seconds,
                workers=workers,
                isolation=isolation,
                preload=("math_verify",),
                warm_up=reader.read_text(encoding="utf-8"),
                processes=1,
            )
        self.undecided = 0
        self._comparisons = Batches(self._compare, workers, _TOGETHER, "math-grader")
        self._known: dict[Pair, Future[bool | None]] = {}
        self._lock = threading.Lock()
        check = self._python.run(_PROGRAM.format(pairs='[["1", "1"]]'))
        if check.stdout != "True\n":
            self.close()
            raise RuntimeError(f"math-verify does not work: {check.stderr or check.limit}")

    def grade(self, response: str, answer: str | Sequence[str]) -> float | None:
        """Return 1.0 if the last box of the response holds the answer, 0.0 if not, None if
        undecided.

        One match among several answers is enough.
        """
        return self.grade_all([response], [answer])[0]

    def grade_all(
        self, responses: Sequence[str], answers: Sequence[str | Sequence[str]]
    ) -> list[float | None]:
        """Grade several responses; comparisons share processes, which run in parallel.

        Raises:
            TypeError: A response or an answer is no text.

        Cost: if rules 1 to 5 do not decide, 3 to 20 ms a comparison and 20 ms a process.
        """
        for response in responses:
            if not isinstance(response, str):
                raise TypeError(f"response must be a text, got {response!r:.80}")
        boxes = [last_box(response) or "" for response in responses]
        known = [list_answers(one) for one in answers]
        pairs = [(box, one) for box, right in zip(boxes, known, strict=True) for one in right]
        verdicts = iter(self.compare_all(pairs))
        return [_grade_by_best([next(verdicts) for _ in right]) for right in known]

    def compare_all(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Return whether the answers of each pair, (given, right), are equal; None if undecided."""
        verdicts = {pair: decide(*pair) for pair in dict.fromkeys(pairs)}
        asked = [pair for pair, verdict in verdicts.items() if verdict is None]
        with self._lock:
            new = [pair for pair in asked if pair not in self._known]
            self._known |= zip(new, self._comparisons.submit(new), strict=True)
            futures = {pair: self._known[pair] for pair in asked}
            while len(self._known) > _REMEMBERED:
                del self._known[next(iter(self._known))]
        try:
            verdicts |= {pair: future.result() for pair, future in futures.items()}
        except Exception:
            with self._lock:  # no failure is remembered
                for pair in asked:
                    self._known.pop(pair, None)
            raise
        ordered = [verdicts[pair] for pair in pairs]
        with self._lock:
            self.undecided += ordered.count(None)
        return ordered

    def _compare(self, pairs: Sequence[Pair]) -> list[bool | None]:
        """Compare pairs in one process, until a limit is reached.

        A pair that reaches a limit begins the next process, where the limit applies only to it.
        """
        sides = [write_as_sets(to_latex(answer), to_latex(given)) for given, answer in pairs]
        verdicts: list[bool | None] = []
        losses = 0
        while left := sides[len(verdicts) :]:
            result = self._python.run(_PROGRAM.format(pairs=json.dumps(left)))
            lines = result.stdout.splitlines()
            verdicts += [line == "True" for line in lines]
            if lines:
                losses = 0
            elif result.limit == "sandbox" and losses == 0:
                losses = 1  # perhaps the machine ran out of memory: try the pair again
            else:
                verdicts.append(None)
                losses = 0
        return verdicts

    def close(self) -> None:
        """Stop the workers."""
        self._comparisons.close()
        self._python.close()

    def __enter__(self) -> MathGrader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def decide(given: str, answer: str) -> bool | None:
    r"""Return the verdict by rules 1 to 5, None if mathematics has to decide.

    >>> decide("0.0000672", "0.0000673"), decide(r"2\sqrt{3}", r"\sqrt{12}")
    (False, None)
    """
    if len(given) > _LONGEST or not given.strip() or not answer.strip():
        return False
    if given.strip().lower() == answer.strip().lower():
        return True
    mine, theirs = normalise_answer(given), normalise_answer(answer)
    one, other = _read_number(given, mine), _read_number(answer, theirs)
    if one and other:
        return are_same_number(one, other)
    if mine == theirs or not mine:
        return bool(mine) and (_is_percentage(answer) or not _is_percentage(given))
    if normalise_answer(given, join_groups=False) == normalise_answer(answer, join_groups=False):
        return True  # a list of numbers of three digits
    chosen, right = split_choice(given), split_choice(answer)
    if chosen and right and not (chosen[1] and right[1]):
        return chosen[0] == right[0]
    if in_base := _IN_A_BASE.fullmatch(theirs):
        found = _IN_A_BASE.fullmatch(mine)
        return found is not None and _split_base(found) == _split_base(in_base)
    if _WORDS.fullmatch(answer.strip(" .")):
        return False
    return _compare_members(*write_as_sets(to_latex(answer), to_latex(given)))


def _compare_members(known: str, given: str) -> bool | None:
    """Compare by rule 5; return None if one of the texts is something else."""
    theirs, mine = _read_members(known), _read_members(given)
    if theirs is None or mine is None or theirs[0] != mine[0]:
        return None
    pairs = list(zip(theirs[1], mine[1], strict=False))
    same = len(theirs[1]) == len(mine[1]) and all(are_same_number(*pair) for pair in pairs)
    if theirs[0] == "{}" and not same:
        values = [[number.value for number in numbers] for _, numbers in (theirs, mine)]
        return None if any(len(set(side)) < len(side) for side in values) else False
    return same


def _read_members(text: str) -> tuple[str, list[PlainNumber]] | None:
    """Brackets and numbers, those of a set by size."""
    found = _BRACKETED.fullmatch(normalise_answer(text))
    parts = found[2].split(",") if found else []
    numbers = [number for part in parts if (number := read_number(part))]
    if found is None or len(numbers) < max(2, len(parts)):
        return None
    brackets = found[1][-1] + found[3][-1]
    if brackets == "{}":
        numbers.sort(key=lambda number: number.value)
    return brackets, numbers


def _grade_by_best(verdicts: Sequence[bool | None]) -> float | None:
    """Return the grade by several answers; one match is enough."""
    return 1.0 if True in verdicts else None if None in verdicts else 0.0


def _read_number(text: str, normal: str) -> PlainNumber | None:
    number = None if "," in normal else read_number(normal)  # a comma left there parts a list
    if number and _is_percentage(text):  # the normal form has none
        return dataclasses.replace(number, is_percentage=True)
    return number


def _is_percentage(text: str) -> bool:
    return text.rstrip(" .$").endswith("%")


def _split_base(found: re.Match[str]) -> tuple[str, str]:
    return found[1].lstrip("0"), found[2] or found[3]
