"""Is the number that a response ends with the right one? 7.0 is 7, -7 and 70 are not."""

import re as _re

_NUMBER = _re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")


def correct(completions, answer):
    """1 for a right answer, 0 for another or none."""
    return [_grade(text, target) for text, target in zip(completions, answer, strict=True)]


def _grade(text, target):
    numbers = _NUMBER.findall(text)
    if not numbers:
        return 0.0
    return float(abs(float(numbers[-1].replace(",", "")) - float(target)) < 1e-6)
