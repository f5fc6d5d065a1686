"""Comparisons of pairs: of methods seed by seed, of models question by question."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from paretopo_lab.statistics.bootstrap import Floats
from paretopo_lab.statistics.intervals import (
    holm,
    least_sign_flip_p,
    sign_flip_interval,
    sign_flips,
)

SIGNIFICANT = 0.05
Verdict = Literal["more", "less", "equal", "no worse", "no better", "unknown", "too few seeds"]


@dataclass(frozen=True)
class Comparison:
    """Pairs of numbers, seed by seed or question by question.

    Attributes:
        other: Against whom.
        differences: (seeds or questions,) ours less theirs.
        p: Of the sign-flip test, two-sided, corrected for all that is compared at once.
        raw_p: The same, not corrected.
        margin: Differences up to this are as good as none.
        least_p: The smallest p that so many pairs can give, corrected too.
    """

    other: Any
    differences: Floats
    p: float
    raw_p: float
    margin: float
    least_p: float

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float(self.differences.mean())

    @functools.cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the mean difference: the sign-flip test of this comparison, inverted.

        Infinite for fewer than 6 pairs; not corrected for other comparisons.
        """
        return sign_flip_interval(self.differences)

    @property
    def is_contradictory(self) -> bool:
        """Return whether the interval excludes 0 although the corrected p is not significant."""
        low, high = self.interval
        return self.p >= SIGNIFICANT and not low <= 0.0 <= high

    @property
    def verdict(self) -> Verdict:
        """The conclusion from a comparison.

        "more" or "less" where the difference is significant and its mean above the margin; "equal"
        where the whole interval lies within the margin, "no worse" where it begins above its lower
        end, "no better" where it ends below its upper end; else "unknown". "too few seeds" where
        so few pairs, seeds or questions, could never be significant.
        """
        if self.least_p >= SIGNIFICANT:
            return "too few seeds"
        if self.p < SIGNIFICANT and abs(self.mean) > self.margin:
            return "more" if self.mean > 0 else "less"
        low, high = self.interval
        no_worse, no_better = low >= -self.margin, high <= self.margin
        if no_worse and no_better:
            return "equal"
        return "no worse" if no_worse else "no better" if no_better else "unknown"


def compare(differences: Mapping[Any, Floats], margins: Mapping[Any, float]) -> list[Comparison]:
    """Test differences together, p corrected after Holm for how many there are."""
    raw = [sign_flips(values) for values in differences.values()]
    least = holm([least_sign_flip_p(len(values)) for values in differences.values()])
    return [
        Comparison(name, values, p, raw_p, margins[name], least_p)
        for (name, values), p, raw_p, least_p in zip(
            differences.items(), holm(raw), raw, least, strict=True
        )
    ]
