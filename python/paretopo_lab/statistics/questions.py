"""Runs compared question by question, from their last held-out evaluations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from paretopo.records.measures import Measure
from paretopo_lab.read.history import History, merge_objectives
from paretopo_lab.statistics.intervals import holm, sign_flip_interval, sign_flips

COLUMNS = ("objective", "first", "second", "questions", "first - second", "p", "p (Holm)")
SIGNS = (
    "p: from random signs of the differences. In brackets: the 95 % interval of the difference, "
    "for 6 questions or more. p (Holm): corrected for all rows."
)
EXPLAINED = (
    "The last evaluations of two runs, on the questions that both answered. A question that was "
    f"asked several times counts once, with the mean of its answers. {SIGNS} Training itself is "
    "random, too, which only several seeds show."
)
Test = TypeVar("Test", bound=Any)
_MOST_PAIRS = 15  # more runs are compared with the first one only


@dataclass(frozen=True)
class PairedTest:
    """A measure of two runs on the questions that both answered at their end.

    Attributes:
        measure: The objective.
        first: Label of a run.
        second: Label of the other one.
        questions: Number of questions to which the objective applies in both runs.
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


def compare_questions(histories: Mapping[str, History]) -> list[PairedTest]:
    """Test every two runs that answered the same questions; empty if there are none.

    Args:
        histories: By label.
    """
    answered = {label: read_answered(one) for label, one in histories.items()}
    known = [label for label, one in answered.items() if one]
    pairs = list(itertools.combinations(known, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [(known[0], label) for label in known[1:]]
    tests = []
    for first, second in pairs:
        if _find_source(histories[first]) != _find_source(histories[second]):
            continue
        for measure in merge_objectives([histories[first], histories[second]]):
            differences = [
                measure.scale * (one[measure.key] - answered[second][name][measure.key])
                for name, one in answered[first].items()
                if _is_known(one, measure) and _is_known(answered[second].get(name, {}), measure)
            ]
            if differences:
                tests.append(run_sign_test(measure, first, second, differences))
    return correct_tests(tests)


def correct_tests(tests: Sequence[Test]) -> list[Test]:
    """Return tests, which have `p` and `holm`, with p-values corrected for their number."""
    adjusted = holm([one.p for one in tests])
    return [replace(one, holm=p) for one, p in zip(tests, adjusted, strict=True)]


def read_answered(history: History) -> dict[str, dict[str, Any]]:
    """Return the values of each question in the last evaluation, by name; empty without records."""
    kept = history.run.questions().get("last", {})
    if history.sweeps or kept.get("step") != history.evaluations[-1]["step"]:
        return {}
    return dict(kept["measured"])


def _is_known(values: Mapping[str, Any], measure: Measure) -> bool:
    return values.get(measure.key) is not None


def run_sign_test(measure: Measure, first: str, second: str, differences: ArrayLike) -> PairedTest:
    """Test the differences of two runs or models on the same questions.

    Args:
        measure: Which objective.
        first: Label of one.
        second: Label of the other one.
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


def _find_source(history: History) -> Any:
    """Return the origin of the held-out questions: a file's digest, or how they are made."""
    config = history.run.config
    digest = history.run.manifest.get("files", {}).get("task.held_out")
    made = (config.task, config.seed) if config.task.is_made_up else config.task.held_out
    return (config.task.name, digest or made)
