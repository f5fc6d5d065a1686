r"""Plain numbers in answers, read and compared exactly.

A plain number is a whole number, a decimal, a fraction, a mixed number or a power of ten, with a
sign, thousands separators, a currency sign or a percent sign: `-7`, `3.50`, `1/2`, `\frac{1}{2}`,
`3 1/2`, `1,200`, `4.5e33`, `1.6 \times 10^{-19}`, `$5`, `50%`. Nothing else is one: `7 apples`,
`\sqrt{2}` and `2\pi` are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

_LARGEST_EXPONENT = 5000  # of ten; beyond it a text is no plain number
_LONGEST = 2000  # characters
_PLACES = 6  # as math-verify rounds decimals
_SIX_DIGITS = Context(prec=_PLACES)

_DECIMAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_EXPONENT = r"\^(?:\{([-+]?[0-9]+)\}|(-?[0-9]+))"
_SCIENTIFIC = re.compile(rf"({_DECIMAL})[eE]([-+]?[0-9]+)")
_POWER = re.compile(rf"(?:({_DECIMAL})(?:\\times|\\cdot|\*|x|\u00d7))?10{_EXPONENT}")
_QUOTIENT = re.compile(rf"([-+]?{_DECIMAL})/([-+]?{_DECIMAL})")
_FRACTION = re.compile(rf"([0-9]*)\\[dt]?frac\{{([-+]?{_DECIMAL})\}}\{{([-+]?{_DECIMAL})\}}")
_MIXED = re.compile(r"([0-9]+) +([0-9]+) */ *([0-9]+)")
_SPACES = re.compile(r"\\[,;:! ]|~|\s+")
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_CURRENCY = "$€£¥"


@dataclass(frozen=True)
class PlainNumber:
    """A number, and how it was written.

    Attributes:
        value: The number, exactly; of `50%`, 50.
        is_decimal: Was it written with a point or as a power of ten, so that it may be rounded?
        is_percentage: Had it a percent sign?
    """

    value: Fraction
    is_decimal: bool = False
    is_percentage: bool = False


def read_number(text: str) -> PlainNumber | None:
    r"""Read a number from a text; return None if the text is something else.

    >>> read_number("-1,200.50").value, read_number(r"3\frac{1}{2}").value
    (Fraction(-2401, 2), Fraction(7, 2))
    >>> read_number("7 apples") is None, read_number("1,20") is None
    (True, True)
    """
    if len(text) > _LONGEST:
        return None
    text = text.strip().rstrip(".").strip().strip("$").replace("\N{MINUS SIGN}", "-")
    is_percentage = text.endswith("%")
    text = text.removesuffix("%").removesuffix("\\").strip()
    text = _MIXED.sub(r"\1\\frac{\2}{\3}", text)
    text = _SPACES.sub("", text).replace("{,}", ",").replace("\\$", "$")
    sign = text[:1] if text[:1] in ("-", "+") else ""
    text = text.removeprefix(sign).lstrip(_CURRENCY)
    if not sign and text[:1] in ("-", "+"):  # $-5
        sign, text = text[:1], text[1:]
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    number = _read_unsigned(text)
    if number is None:
        return None
    value, is_decimal = number
    return PlainNumber(-value if sign == "-" else value, is_decimal, is_percentage)


def are_same_number(given: PlainNumber, known: PlainNumber) -> bool:
    """Do two plain numbers say the same?

    Exactly, unless one is a decimal: then both must round to the same number at six decimal places
    and at six significant digits. A percentage equals a hundredth of the number before its sign. If
    the known number is a percentage, the given one may lack the sign.

    >>> third, sign = read_number("1/3"), read_number("50%")
    >>> are_same_number(third, read_number("0.333333")), are_same_number(third, read_number("0.33"))
    (True, False)
    >>> are_same_number(read_number("50"), sign), are_same_number(read_number("0.5"), sign)
    (True, True)
    >>> are_same_number(sign, read_number("50")), are_same_number(sign, read_number("0.5"))
    (False, True)
    """
    is_decimal = given.is_decimal or known.is_decimal
    one, other = (
        number.value / 100 if number.is_percentage else number.value for number in (given, known)
    )
    is_short = known.is_percentage and not given.is_percentage
    return _agree(one, other, is_decimal) or (
        is_short and _agree(given.value, known.value, is_decimal)
    )


def _agree(one: Fraction, other: Fraction, is_decimal: bool) -> bool:
    if one == other or not is_decimal:
        return one == other
    if round(one, _PLACES) != round(other, _PLACES):
        return False
    return _round_digits(one) == _round_digits(other)


def _round_digits(value: Fraction) -> Decimal:
    return _SIX_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _read_unsigned(text: str) -> tuple[Fraction, bool] | None:
    """Return the value, and whether it was written as a decimal."""
    if re.fullmatch(_DECIMAL, text):
        return Fraction(text), "." in text
    if found := _SCIENTIFIC.fullmatch(text):
        return _scale(found[1], found[2])
    if found := _POWER.fullmatch(text):
        return _scale(found[1] or "1", found[2] or found[3])
    if found := _QUOTIENT.fullmatch(text):
        return _divide(found[1], found[2])
    if (found := _FRACTION.fullmatch(text)) and (part := _divide(found[2], found[3])):
        value, is_decimal = part
        if not found[1]:
            return value, is_decimal
        return None if value < 0 else (int(found[1]) + value, is_decimal)
    return None


def _scale(digits: str, exponent: str) -> tuple[Fraction, bool] | None:
    if len(exponent) > 5 or abs(int(exponent)) > _LARGEST_EXPONENT:
        return None
    power = int(exponent)
    return Fraction(digits) * Fraction(10) ** power, "." in digits or power < 0


def _divide(numerator: str, denominator: str) -> tuple[Fraction, bool] | None:
    below = Fraction(denominator)
    return (Fraction(numerator) / below, "." in numerator + denominator) if below else None
