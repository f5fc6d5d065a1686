"""The numbers of an evaluation, data set by data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paretopo_lab.document.report import Table, format_interval
from paretopo_lab.evaluate.folder import AnsweredQuestion, EvaluationFolder
from paretopo_lab.statistics.intervals import t_interval, wilson_interval


@dataclass(frozen=True)
class Result:
    """One model on one data set; intervals are of 95 %.

    Attributes:
        datasource: The data set.
        questions: Number of answered questions.
        samples: Responses to each question.
        graded: Number of questions with a graded response; EM refers to these.
        undecided: Number of responses whose comparison reached a limit.
        em: Share of right responses among the graded ones, 0 to 1; NaN without any.
        em_interval: Wilson's, for the number of these questions; with several samples it is too
            wide rather than too narrow.
        calls: Mean number of tool executions of a response.
        calls_interval: Student's t.
        productivity: Right responses per tool execution; NaN without any.
        productivity_interval: Fieller's, for a ratio; NaN if there is none.
        unanswered: Share of responses without an answer in the requested form.
        response_tokens: Mean number of tokens that the model wrote in a response.
        truncated: Share of responses that ran out of room.
        truncated_wrong: Share of responses that ran out of room and count as wrong in EM.

    Productivity is from Wang et al. (2025), "OTC", arXiv 2504.14870.
    """

    datasource: str
    questions: int
    samples: int
    graded: int
    undecided: int
    em: float
    em_interval: tuple[float, float]
    calls: float
    calls_interval: tuple[float, float]
    productivity: float
    productivity_interval: tuple[float, float]
    unanswered: float
    response_tokens: float
    truncated: float
    truncated_wrong: float


def summarise(datasource: str, answered: Sequence[AnsweredQuestion]) -> Result:
    """Compute the numbers of one data set.

    Args:
        datasource: Its name.
        answered: At least one question.

    >>> one = AnsweredQuestion("1", "nq", (True,), (2,), (90,), (False,), (True,))
    >>> summarise("nq", [one]).productivity
    0.5
    """
    grades, calls = _question_grades(answered), _question_means(answered, "calls")
    em, right = grades[~np.isnan(grades)], np.nan_to_num(grades)
    samples = max(len(one.solved) for one in answered)
    called = bool(calls.sum() > 0)
    return Result(
        datasource=datasource,
        questions=len(answered),
        samples=samples,
        graded=len(em),
        undecided=sum(one.solved.count(None) for one in answered),
        em=float(em.mean()) if len(em) else math.nan,
        em_interval=wilson_interval(float(em.sum()), len(em)) if len(em) else (math.nan, math.nan),
        calls=float(calls.mean()),
        calls_interval=_clip_at_zero(t_interval(calls)),
        productivity=float(right.sum() / calls.sum()) if called else math.nan,
        productivity_interval=_clip_at_zero(t_interval(right, calls)),
        unanswered=1.0 - float(_question_means(answered, "answered").mean()),
        response_tokens=float(_question_means(answered, "tokens").mean()),
        truncated=float(_question_means(answered, "truncated").mean()),
        truncated_wrong=float(np.mean([_share_cut_and_wrong(one) for one in answered])),
    )


def summarise_folder(folder: EvaluationFolder) -> dict[str, Result]:
    """Return the numbers of each data set so far, in the order of their first questions."""
    split: dict[str, list[AnsweredQuestion]] = {}
    for one in folder.read_answers():
        split.setdefault(one.datasource, []).append(one)
    return {name: summarise(name, own) for name, own in split.items()}


def results_table(name: str, results: Mapping[str, Result]) -> Table:
    """Return a model's results, a row for each data set; EM and shares are in percent.

    Args:
        name: Of the model.
        results: By data set.
    """
    header = ["data set", "model", "questions", "EM (%)", "#Tool", "right / call", "tokens"]
    header += ["no answer (%)", "truncated (%)", "truncated, wrong (%)", "undecided"]
    rows = [
        [
            datasource,
            name,
            f"{one.questions}" if one.samples == 1 else f"{one.questions} x {one.samples}",
            _format_with_interval(100 * one.em, one.em_interval, 100, 1),
            _format_with_interval(one.calls, one.calls_interval, 1, 2),
            _format_with_interval(one.productivity, one.productivity_interval, 1, 2),
            f"{one.response_tokens:.0f}",
            f"{100 * one.unanswered:.1f}",
            f"{100 * one.truncated:.1f}",
            f"{100 * one.truncated_wrong:.1f}",
            f"{one.undecided}",
        ]
        for datasource, one in results.items()
    ]
    note = (
        "In brackets: 95 % intervals; of EM Wilson's, of #Tool Student's t, of right / call "
        "Fieller's; all over questions."
    )
    return Table(header, rows, 2, note=note)


def _question_grades(answered: Sequence[AnsweredQuestion]) -> NDArray[np.float64]:
    """Return (questions,) the share of right among graded responses of each, NaN without any.

    >>> _question_grades([AnsweredQuestion("1", "nq", (True, None), (), (), (), ())]).tolist()
    [1.0]
    """
    known = [[right for right in one.solved if right is not None] for one in answered]
    return np.array([np.mean(one) if one else np.nan for one in known], np.float64)


def _question_means(answered: Sequence[AnsweredQuestion], name: str) -> NDArray[np.float64]:
    """Return (questions,) the mean of a measure over each question's samples."""
    return np.array([np.mean(getattr(one, name)) for one in answered], np.float64)


def _format_with_interval(
    value: float, ends: tuple[float, float], unit: float, decimals: int
) -> str:
    if math.isnan(value):
        return "/"
    interval = format_interval([unit * end for end in ends], f".{decimals}f")
    return f"{value:.{decimals}f} {interval}".rstrip()


def _share_cut_and_wrong(one: AnsweredQuestion) -> float:
    pairs = zip(one.truncated, one.solved, strict=True)
    return sum(cut and right is False for cut, right in pairs) / len(one.solved)


def _clip_at_zero(ends: tuple[float, float]) -> tuple[float, float]:
    """Return an interval of a quantity that is never below 0."""
    low, high = ends
    return (low if math.isnan(low) else max(low, 0.0)), high
