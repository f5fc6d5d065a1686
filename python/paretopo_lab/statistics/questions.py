"""Models compared question by question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from paretopo.records.measures import Measure
from paretopo_lab.statistics.intervals import holm, sign_flip_interval, sign_flips

COLUMNS = ("objective", "first", "second", "questions", "first - second", "p", "p (Holm)")
SIGNS = (
    "p: from random signs of the differences. In brackets: the 95 % interval of the difference, "
    "for 6 questions or more. p (Holm): corrected for all rows."
)
Test = TypeVar("Test", bound=Any)


@dataclass(frozen=True)
class PairedTest:
    """A measure of two models on the questions that both answered.

    Attributes:
        measure: The objective.
        first: Name of a model.
        second: Name of the other one.
        questions: Number of questions.
        difference: Mean of first minus second, in the unit of the measure.
        interval: Its 95 % interval; infinite for fewer than 6 questions.
        p: p-value of "both are alike", by random signs.
        holm: The same, corrected for all tests of the report.
    """

    measure: Measure
    first: str
    second: str
    questions: int
    difference: float
    interval: tuple[float, float]
    p: float
    holm: float = math.nan

    @property
    def cells(self) -> tuple[str, ...]:
        """The numbers as they are written, in the order of `COLUMNS`."""
        spread = (self.interval[1] - self.interval[0]) / 4  # about a standard error
        difference = self.measure.format(self.difference, sign=True, spread=spread)
        if all(map(math.isfinite, self.interval)):
            ends = (self.measure.format(end, sign=True, spread=spread) for end in self.interval)
            difference += f" [{', '.join(ends)}]"
        count, p, corrected = str(self.questions), f"{self.p:.2g}", f"{self.holm:.2g}"
        return self.measure.label, self.first, self.second, count, difference, p, corrected

    def to_plain(self) -> dict[str, Any]:
        """Return the test as values for JSON."""
        names = ("first", "second", "questions", "difference", "interval", "p")
        found = {name: getattr(self, name) for name in names}
        return {"objective": self.measure.name, **found, "p_holm": self.holm}


def correct_tests(tests: Sequence[Test]) -> list[Test]:
    """Return tests, which have `p` and `holm`, with p-values corrected for their number."""
    adjusted = holm([one.p for one in tests])
    return [replace(one, holm=p) for one, p in zip(tests, adjusted, strict=True)]


def run_sign_test(measure: Measure, first: str, second: str, differences: ArrayLike) -> PairedTest:
    """Test the differences of two models on the same questions.

    Args:
        measure: Which objective.
        first: Name of one.
        second: Name of the other one.
        differences: (questions,) first less second, in the unit of the measure.
    """
    values = np.asarray(differences, np.float64)
    return PairedTest(
        measure,
        first,
        second,
        len(values),
        float(values.mean()),
        sign_flip_interval(values),
        sign_flips(values),
    )
