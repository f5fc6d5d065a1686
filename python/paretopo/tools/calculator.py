"""A calculator for language models: arithmetic on text, without `eval`.

A hand-written parser reads numbers, `+ - * / // % **`, signs and brackets; nothing else exists, so
there are no names, attributes or calls to abuse. Arithmetic is exact (`fractions.Fraction`), and
every operation is checked against `Limits` *before* it is carried out: a hostile expression costs
microseconds. The tool answers every input with text; a mistake comes back as a sentence that the
model can read and learn from.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

_TOKEN = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)|(\*\*|//|[-+*/%()]))", re.ASCII)
_LOOSENESS = {"+": 1, "-": 1, "*": 2, "/": 2, "//": 2, "%": 2}
_OPERATIONS: dict[str, Callable[[Fraction, Fraction], Fraction | int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}


class CalculationError(ValueError):
    """The expression cannot be evaluated; the message says why, in words for the model."""


@dataclass(frozen=True)
class Limits:
    """The most that one call may cost.

    Attributes:
        characters: Length of the expression, in characters.
        depth: Nested brackets, signs and powers.
        operations: Binary operations in one expression; 1 makes a pocket calculator.
        digits: Decimal digits of any numerator or denominator on the way.
        exponent: Largest absolute exponent of `**`.
    """

    characters: int = 200
    depth: int = 20
    operations: int = 50
    digits: int = 60
    exponent: int = 64


def evaluate(expression: str, limits: Limits | None = None) -> Fraction:
    """Value of an arithmetic expression, exactly.

    Args:
        expression: Numbers (`12`, `0.5`), `+ - * / // % **`, signs, brackets and spaces.
        limits: Limits of the evaluation; the defaults of `Limits` when None.

    Returns:
        The exact value.

    Raises:
        CalculationError: The text is no arithmetic, divides by zero, or exceeds a limit.

    Example:
        >>> evaluate("2 * (3 + 4) ** 2")
        Fraction(98, 1)
        >>> evaluate("0.1 + 0.2") == evaluate("0.3")
        True
    """
    return _Parser(expression, limits or Limits()).value()


def format_number(value: Fraction) -> str:
    """The number as a calculator shows it: integers in full, others with 12 significant digits.

    Example:
        >>> format_number(Fraction(98)), format_number(Fraction(1, 3))
        ('98', '0.333333333333')
    """
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"


def make_calculator(limits: Limits | None = None) -> Callable[[str], str]:
    """The tool itself, a function named `calculator` from text to text.

    Args:
        limits: Limits of one call; the defaults of `Limits` when None.

    Returns:
        A function that never raises: it answers a mistake with `error: …`.

    Example:
        >>> pocket = make_calculator(Limits(operations=1))
        >>> pocket("12*34"), pocket("1+2+3")
        ('408', 'error: at most 1 operation per call')
    """
    allowed = limits or Limits()

    # The docstring of the inner function is the description that the model is shown.
    def calculator(expression: str) -> str:
        """Evaluates an arithmetic expression.

        Args:
            expression: The arithmetic expression, for example 12*34.

        Returns:
            The value, or what is wrong with the expression.
        """
        try:
            return format_number(evaluate(expression, allowed))
        except CalculationError as error:
            return f"error: {error}"

    return calculator


class _Parser:
    """Recursive descent over the tokens of one expression, evaluating as it reads."""

    def __init__(self, expression: str, limits: Limits) -> None:
        self._limits = limits
        self._operations = 0
        self._next = 0
        self._tokens = self._split(expression)

    def _split(self, expression: str) -> list[str]:
        if not isinstance(expression, str):
            raise CalculationError(f"expected text, got {type(expression).__name__}")
        if len(expression) > self._limits.characters:
            raise CalculationError(f"at most {self._limits.characters} characters")
        text, position, tokens = expression.rstrip(), 0, []
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                seen = text[position:].lstrip()[:1]
                raise CalculationError(
                    f"cannot read {seen!r}, only numbers and + - * / // % ** ( )"
                )
            tokens.append(match.group(1) or match.group(2))
            position = match.end()
        if not tokens:
            raise CalculationError("the expression is empty")
        return tokens

    def value(self) -> Fraction:
        result = self._sum_or_product(1, 0)
        if self._peek():
            raise CalculationError(f"unexpected {self._peek()!r}")
        return result

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _sum_or_product(self, loosest: int, depth: int) -> Fraction:
        """Left-associative operators that bind at least as tightly as `loosest`."""
        left = self._signed(depth)
        while _LOOSENESS.get(self._peek(), 0) >= loosest:
            sign = self._take()
            right = self._sum_or_product(_LOOSENESS[sign] + 1, depth + 1)
            left = self._apply(sign, left, right)
        return left

    def _signed(self, depth: int) -> Fraction:
        if depth > self._limits.depth:
            raise CalculationError(f"nested more than {self._limits.depth} deep")
        if self._peek() in ("+", "-"):
            sign = -1 if self._take() == "-" else 1
            return sign * self._signed(depth + 1)  # -2**2 is -4: the sign binds more loosely
        return self._power(depth)

    def _power(self, depth: int) -> Fraction:
        base = self._number_or_bracket(depth)
        if self._peek() != "**":
            return base
        self._take()
        return self._apply("**", base, self._signed(depth + 1))  # right-associative, as 2**-1 is

    def _number_or_bracket(self, depth: int) -> Fraction:
        token = self._take()
        if token == "(":
            inside = self._sum_or_product(1, depth + 1)
            if self._take() != ")":
                raise CalculationError("a bracket is not closed")
            return inside
        if not token:
            raise CalculationError("the expression ends too early")
        if not token[0].isdigit():
            raise CalculationError(f"unexpected {token!r}")
        return self._check_digits(Fraction(token))

    def _apply(self, sign: str, left: Fraction, right: Fraction) -> Fraction:
        self._operations += 1
        if self._operations > self._limits.operations:
            plural = "" if self._limits.operations == 1 else "s"
            raise CalculationError(f"at most {self._limits.operations} operation{plural} per call")
        if sign == "**":
            return self._raise_to(left, right)
        if sign in ("/", "//", "%") and right == 0:
            raise CalculationError("division by zero")
        return self._check_digits(Fraction(_OPERATIONS[sign](left, right)))

    def _raise_to(self, base: Fraction, exponent: Fraction) -> Fraction:
        if exponent.denominator != 1 or abs(exponent) > self._limits.exponent:
            raise CalculationError(
                f"exponents must be whole numbers from -{self._limits.exponent} "
                f"to {self._limits.exponent}"
            )
        if base == 0 and exponent < 0:
            raise CalculationError("division by zero")
        power = int(exponent)
        largest = max(abs(base.numerator), base.denominator)
        # Known before computing: the result has about `power` times as many bits as the base.
        if (largest.bit_length() - 1) * abs(power) > self._limits.digits * 3.33:
            raise CalculationError(f"the result has more than {self._limits.digits} digits")
        return self._check_digits(base**power)

    def _check_digits(self, value: Fraction) -> Fraction:
        if max(abs(value.numerator), value.denominator) >= 10**self._limits.digits:
            raise CalculationError(f"the result has more than {self._limits.digits} digits")
        return value
