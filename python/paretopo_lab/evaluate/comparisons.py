"""Tests of our results against the paper's rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paretopo_lab.evaluate.published import Method, question_counts
from paretopo_lab.evaluate.results import Result
from paretopo_lab.statistics.intervals import two_proportions
from paretopo_lab.statistics.questions import correct_tests


@dataclass(frozen=True)
class PaperComparison:
    """One of our results against a row of the paper, which answered questions of its own.

    Attributes:
        em: Ours less the paper's, in percent points.
        p: P-value for equal shares of right answers.
        holm: The same, corrected for all rows of the table.
    """

    datasource: str
    ours: str
    method: str
    em: float
    p: float
    holm: float = math.nan


def compare_with_paper(
    measured: Mapping[str, Mapping[str, Result]], methods: Sequence[tuple[str, Method]]
) -> list[PaperComparison]:
    """Compare every result of ours with every row of the paper on the same data set.

    Several samples of a question count as one partly right answer, which overestimates chance.

    Args:
        measured: Our results by name and data set.
        methods: Rows of the paper, each under the name it is shown by.
    """
    tests = []
    for (ours, results), (name, method) in itertools.product(measured.items(), methods):
        for datasource, result in results.items():
            if datasource not in method.cells:
                continue
            printed, asked = method.cells[datasource].em, question_counts()[datasource]
            if not result.graded:
                continue
            p = two_proportions(
                result.em * result.graded, result.graded, printed / 100 * asked, asked
            )
            tests.append(PaperComparison(datasource, ours, name, 100 * result.em - printed, p))
    return correct_tests(tests)
