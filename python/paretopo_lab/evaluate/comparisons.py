"""Tests for differences beyond chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paretopo_lab.evaluate.folder import AnsweredQuestion
from paretopo_lab.evaluate.published import Method, question_counts
from paretopo_lab.evaluate.results import (
    Result,
    group_by_datasource,
    question_grades,
    question_means,
)
from paretopo_lab.statistics.intervals import (
    holm,
    mcnemar_exact,
    sign_flip_interval,
    sign_flips,
    two_proportions,
)


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


@dataclass(frozen=True)
class Difference:
    """A measure of the first evaluation less that of the second.

    Attributes:
        mean: Over the shared questions.
        interval: Its 95 % interval, by random signs; infinite of fewer than 6 questions.
        p: P-value for no difference.
        holm: The same, corrected for all tests of the table.
    """

    mean: float
    interval: tuple[float, float]
    p: float
    holm: float = math.nan


@dataclass(frozen=True)
class PairwiseComparison:
    """Two of our evaluations on the questions that both answered: EM in percent points, and calls.

    Attributes:
        questions: Number of shared questions.
    """

    datasource: str
    first: str
    second: str
    questions: int
    em: Difference
    calls: Difference


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
    adjusted = holm([test.p for test in tests])
    return [replace(test, holm=p) for test, p in zip(tests, adjusted, strict=True)]


def compare_pairwise(
    answered: Mapping[str, Sequence[AnsweredQuestion]],
) -> list[PairwiseComparison]:
    """Compare every two of our evaluations.

    Args:
        answered: The questions of each evaluation, by its name.
    """
    tests = []
    for (first, one), (second, other) in itertools.combinations(answered.items(), 2):
        theirs = group_by_datasource(other)
        for datasource, own in group_by_datasource(one).items():
            found = {answer.id: answer for answer in theirs.get(datasource, [])}
            both = [(answer, found[answer.id]) for answer in own if answer.id in found]
            if any({*mine.solved} != {None} != {*yours.solved} for mine, yours in both):
                tests.append(_compare_answers(datasource, first, second, *zip(*both, strict=True)))
    adjusted = iter(holm([one.p for test in tests for one in (test.em, test.calls)]))
    return [
        replace(
            test,
            em=replace(test.em, holm=next(adjusted)),
            calls=replace(test.calls, holm=next(adjusted)),
        )
        for test in tests
    ]


def _compare_answers(
    datasource: str,
    first: str,
    second: str,
    one: Sequence[AnsweredQuestion],
    other: Sequence[AnsweredQuestion],
) -> PairwiseComparison:
    em = question_grades(one) - question_grades(other)
    em = em[~np.isnan(em)]
    calls = question_means(one, "calls") - question_means(other, "calls")
    single = all(len(answer.solved) == 1 for answer in (*one, *other))
    em_p = mcnemar_exact(int((em > 0).sum()), int((em < 0).sum())) if single else sign_flips(em)
    low, high = sign_flip_interval(em)
    points = Difference(100 * float(em.mean()), (100 * low, 100 * high), em_p)
    spent = Difference(float(calls.mean()), sign_flip_interval(calls), sign_flips(calls))
    return PairwiseComparison(datasource, first, second, len(one), points, spent)
