r"""Compares LaTeX by math-verify; runs inside the sandbox, and imports nothing of paretopo.

Gradings are forked from an interpreter that runs this file once, as the module `warm_up`. It reads
the typical answers below before the fork, so a comparison need not build the parser's tables again.
"""

from __future__ import annotations

import re
import resource
from collections.abc import Sequence
from typing import Any

from math_verify import LatexExtractionConfig, parse, verify
from sympy import Expr, I

_DIGITS = 15
_AGREEMENT = 1e-6  # relative; math-verify rounds at six places, even small numbers
_MOST_GROWTH_KB = 100 << 10  # of memory, after which the next comparison begins a new process
_WHOLE = [LatexExtractionConfig()]

_TYPICAL = r"""
\frac{1}{2}  -\frac{3}{4}  3.5  -7
2\sqrt{3}  \frac{\sqrt{3}}{2}  \frac{1+\sqrt{5}}{2}  \pi  \frac{\pi}{6}
x^2+2x+1  (x-1)(x+2)  ax+b  y=2x+3  x=5  3x-4y+7=0
(1,2)  \left(3,\frac{\pi}{2}\right)  1,2,3  \{1,2\}
[0,1)  (-\infty,3]\cup(5,\infty)  x \le 3  1 < x < 2  \begin{pmatrix} 1 \\ 2 \end{pmatrix}
2^{10}  10^{-3}  3 \cdot 10^5  \binom{5}{2}  6!  3+4i
\sin x + \cos 2x  \log_2 3  \ln 2  e^{-x}  \text{Monday}  50\%  |x-1|  \pm 3
"""  # with two blanks between them


def compare_all(pairs: Sequence[tuple[str, str]]) -> None:
    """Print a line for each pair, "True" or "False", as soon as it is known.

    Ends early when memory has grown much; the caller continues with a new process.
    """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for known, given in pairs:
        print(compare(known, given), flush=True)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > before + _MOST_GROWTH_KB:
            return


def compare(known: str, given: str) -> bool:
    """Return whether two LaTeX answers are equal; False if one cannot be read as a whole."""
    theirs, mine = _read(known), _read(given)
    if not theirs or not mine or not verify(theirs, mine, timeout_seconds=None):
        return False
    return _agree_in_digits(theirs[0], mine[0])


def _read(text: str) -> list[Any]:
    """Read the whole text, or nothing: by default math-verify falls back to its last number."""
    text = f"${text}$"
    read: list[Any] = parse(
        text, _WHOLE, fallback_mode="no_fallback", extraction_mode="first_match",
        parsing_timeout=None,
    )  # fmt: skip
    return [_read_imaginary_unit(one) for one in read]


def _read_imaginary_unit(read: Any) -> Any:
    """Take i for the imaginary unit; math-verify takes it for a variable."""
    names = getattr(read, "free_symbols", ())
    units = {name: I for name in names if name.name == "i"}
    try:
        return read.subs(units).doit() if units else read
    except ValueError:
        return read  # an interval, whose ends are real


def _agree_in_digits(known: Any, given: Any) -> bool:
    """False for two constants that math-verify's rounding at fixed places makes equal."""
    if not all(isinstance(one, Expr) and not one.free_symbols for one in (known, given)):
        return True
    try:
        numbers = [one.evalf(_DIGITS) for one in (known, given)]
        parts = [part for one in numbers for part in one.as_real_imag() if part != 0]
        if not all(part.is_Float and part._prec > 1 for part in parts):
            return True  # infinite, or of no certain digit
        return bool(abs(numbers[0] - numbers[1]).evalf() <= _AGREEMENT * abs(numbers[0]).evalf())
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return True


if __name__ == "warm_up":
    for typical in re.split(r"  |\n", _TYPICAL.strip()):
        compare(typical, f"{typical}+1")
    compare(r"\frac{\sqrt{3}}{2}", r"\frac{3}{2\sqrt{3}}")
