"""Tests for differences beyond chance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from paretopo.records.measures import Measure
from paretopo_lab.evaluate.folder import AnsweredQuestion
from paretopo_lab.evaluate.published import Method, question_counts
from paretopo_lab.evaluate.results import (
    Result,
    group_by_datasource,
    question_grades,
    question_means,
)
from paretopo_lab.statistics.intervals import mcnemar_exact, two_proportions
from paretopo_lab.statistics.questions import PairedTest, correct_tests, run_sign_test

_EM = Measure("em", "EM", "%", "more")
_CALLS = Measure("calls", "calls", "per question", "fewer")


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


class PairwiseComparison(NamedTuple):
    """Two of our evaluations on the questions of a data set that both answered.

    Attributes:
        datasource: The data set.
        em: First less second, in percent points.
        calls: First less second.
    """

    datasource: str
    em: PairedTest
    calls: PairedTest


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
                tests.append(
                    (datasource, *_compare_answers(first, second, *zip(*both, strict=True)))
                )
    corrected = iter(correct_tests([one for _, em, calls in tests for one in (em, calls)]))
    return [PairwiseComparison(name, next(corrected), next(corrected)) for name, *_ in tests]


def _compare_answers(
    first: str,
    second: str,
    one: Sequence[AnsweredQuestion],
    other: Sequence[AnsweredQuestion],
) -> tuple[PairedTest, PairedTest]:
    right = question_grades(one) - question_grades(other)
    right = right[~np.isnan(right)]
    em = run_sign_test(_EM, first, second, 100 * right)
    if all(len(answer.solved) == 1 for answer in (*one, *other)):
        em = replace(em, p=mcnemar_exact(int((right > 0).sum()), int((right < 0).sum())))
    spent = question_means(one, "calls") - question_means(other, "calls")
    return em, run_sign_test(_CALLS, first, second, spent)
