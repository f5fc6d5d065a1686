r"""Is a mathematical answer right? The last box of a response against the known answer.

Three steps, each only where the one before says no: equal as text; equal as text after
normalisation (rules after Lewkowycz et al. (2022), "Minerva", arXiv 2206.14858, appendix D); equal
as mathematics, by math-verify. The third reads LaTeX that a model wrote, which can take for ever or
all memory (`9^{9^{9^9}}`): it is done in a `PythonInterpreter`, under its limits.
"""

from __future__ import annotations

import functools
import json
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from paretopo.tools.python_interpreter import PythonInterpreter

_LONGEST = 2000  # characters of an answer; longer ones are wrong
_PATIENCE = 30  # seconds by the clock for each of processor time
_REMEMBERED = 100_000  # pairs of answers: the rollouts of a group repeat each other

_PROGRAM = """
import json
from math_verify import parse, verify
sides = json.loads({sides!r})
known, given = (parse("$" + side + "$", parsing_timeout=None) for side in sides)
print(bool(known and given and verify(known, given, timeout_seconds=None)))
"""

_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"\\[{}\\]|[{}]")  # an escaped brace is a character
_WRAPPED = re.compile(
    r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|operatorname)\s*\{([^{}]*)\}"
)
_SPACES = re.compile(r"\\[,;:! ]|\\q?quad|~|\s+")
_SIZES = re.compile(r"\\(?:left|right|bigg?|Bigg?)(?![a-zA-Z])")
_FRACTION = re.compile(r"\\[dtc]?frac(?![a-zA-Z])")
_BARE_FRACTION = re.compile(r"\\frac(?:\{([^{}]*)\}|(\w))(?:\{([^{}]*)\}|(\w))")
_BARE_ROOT = re.compile(r"\\sqrt(\w)")
_THOUSANDS = re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))")
_DEGREES = re.compile(r"\^\{?\\circ\}?|\\degree")
_UNITS = re.compile(
    r"(?<=[\d}])(?:square|cubic)?(?:units?|dollars?|cents?|degrees?|points?|inch(?:es)?|feet|foot|miles?"
    r"|met(?:er|re)s?|cm|mm|km|hours?|minutes?|seconds?|days?|mph|percent)(?:\^\{?[23]\}?)?$"
)
_NAMED = re.compile(r"^[a-zA-Z](?:\([a-zA-Z]\))?=(?!=)")  # x = …, f(x) = …
_WHOLE = re.compile(r"[-+]?\d+\Z")


def last_box(text: str) -> str | None:
    r"""The content of the last `\boxed{…}` whose braces match, None without one.

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
    return content


def normalise_answer(text: str) -> str:
    r"""The answer without what carries no meaning: spaces, wrappings, sizes, units, names.

    >>> normalise_answer(r"x = \dfrac12\text{ units}"), normalise_answer(r"\$1{,}234.")
    ('\\frac{1}{2}', '1234')
    """
    text = text.strip().strip("$").strip()
    text = (
        text.replace("\\$", "").replace("\\%", "").replace("%", "").replace("\N{MINUS SIGN}", "-")
    )
    text = _WRAPPED.sub(r"\1", text)
    text = _SIZES.sub("", _SPACES.sub("", text)).replace("$", "")
    text = _FRACTION.sub(r"\\frac", _DEGREES.sub("", text))
    text = _BARE_FRACTION.sub(lambda m: rf"\frac{{{m[1] or m[2]}}}{{{m[3] or m[4]}}}", text)
    text = _BARE_ROOT.sub(r"\\sqrt{\1}", text)
    text = _THOUSANDS.sub("", text).rstrip(".")
    text = _UNITS.sub("", _NAMED.sub("", text))
    text = re.sub(r"(?<=\d)\.0+(?!\d)", "", text)
    return re.sub(r"(?<!\d)\.(?=\d)", "0.", text).lower()


class MathGrader:
    r"""Grades responses; any number of threads may ask at once.

    Args:
        cpu_seconds: processor time for one comparison; what takes longer is wrong. Not time by
            the clock: a busy machine must not make right answers wrong.
        workers: comparisons at a time.
        isolation: as for `PythonInterpreter`. What is run is no program of a model's, only a reader
            of LaTeX that it wrote: "process" is defensible where there is no bubblewrap.

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said above
            self._python = PythonInterpreter(
                timeout=_PATIENCE * cpu_seconds,
                cpu_seconds=cpu_seconds,
                workers=workers,
                isolation=isolation,
                preload=("math_verify",),
                processes=1,
            )
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="math-grader")
        self._verify_cached = functools.lru_cache(_REMEMBERED)(self._verify)
        check = self._python.run(_PROGRAM.format(sides='["1", "1"]'))
        if check.stdout != "True\n":
            self.close()
            raise RuntimeError(f"math-verify does not work: {check.stderr or check.limit}")

    def grade(self, response: str, answer: str) -> float:
        """1.0 if the last box of the response holds the answer, else 0.0; without a box 0.0."""
        given = last_box(response)
        return float(given is not None and self.are_equal(given, answer))

    def grade_all(self, responses: Sequence[str], answers: Sequence[str]) -> list[float]:
        """The same for several, side by side."""
        pairs = list(zip(responses, answers, strict=True))
        return list(self._threads.map(lambda pair: self.grade(*pair), pairs))

    def are_equal(self, given: str, answer: str) -> bool:
        """Do two answers say the same?"""
        if len(given) > _LONGEST:
            return False
        if given.strip().lower() == answer.strip().lower():
            return bool(answer.strip())
        mine, theirs = normalise_answer(given), normalise_answer(answer)
        if mine == theirs:
            return bool(theirs)
        if not mine:
            return False
        if _WHOLE.match(mine) and _WHOLE.match(theirs):
            return mine.removeprefix("+").lstrip("0") == theirs.removeprefix("+").lstrip("0")
        return self._verify_cached(given, answer)

    def _verify(self, given: str, answer: str, _retried: bool = False) -> bool:
        sides = json.dumps([answer.strip().strip("$"), given.strip().strip("$")])
        result = self._python.run(_PROGRAM.format(sides=sides))
        if result.limit == "sandbox" and not _retried:
            # A worker can be lost to the memory of the machine: that is not the answer's fault.
            return self._verify(given, answer, _retried=True)
        return result.stdout == "True\n"

    def close(self) -> None:
        """Stop the workers."""
        self._threads.shutdown()
        self._python.close()

    def __enter__(self) -> MathGrader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
