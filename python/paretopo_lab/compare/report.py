"""Tables of an analysis: as lines for a terminal or a file, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paretopo.records.files import to_json
from paretopo_lab.compare.analysis import Analysis, FrontVolume
from paretopo_lab.document.report import Report, Table, format_interval, join_some
from paretopo_lab.statistics.bootstrap import Floats
from paretopo_lab.statistics.pairs import Comparison

_DIGITS = 4
_MOST_LISTED = 20  # models; of more, only non-dominated ones are listed
_SURELY = {1: "surely", -1: "surely not", 0: "open"}
_LIKELY = 0.5  # smallest probability of dominance that the table of models shows


def describe(analysis: Analysis, *, every: bool = True) -> Report:
    """Return the report of an analysis.

    Args:
        analysis: The analysis.
        every: Whether to list all models, also if they are many.
    """
    notes = "\n".join(" ".join(note.split()) for note in summarise(analysis))
    tables = [_tabulate_models(analysis, every), _tabulate_fronts(analysis)]
    if analysis.gaps:
        tables.append(_tabulate_gaps(analysis))
    if analysis.tests:
        tables.append(_tabulate_tests(analysis.tests))
    return Report("Comparison", [notes, *tables])


def summarise(analysis: Analysis) -> list[str]:
    """Return sentences on the data, followed by the notes of the analysis."""
    scores = analysis.scores
    counts = sorted({len(one) for one in scores.answered})
    if counts == [1] and not scores.paired:
        asked = "One row of each."
    else:
        many = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        how = "not all the same" if scores.shifts is not None else "the same for all"
        asked = f"Questions compared: {many} of each, {how}."
        if not scores.paired:
            asked = f"Answers compared: {many} of each, not in pairs."
    drawn = f" Bootstrap replicates: {len(analysis.replicates):,}." * bool(len(analysis.replicates))
    return [f"Models: {len(scores.models)}. {asked}{drawn}", *analysis.notes]


def to_plain(analysis: Analysis) -> dict[str, Any]:
    """Return the whole report, without the replicates, as values for JSON; NaN becomes null."""
    scores = analysis.scores
    names = [one.name for one in scores.objectives]

    def by_objective(values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    verdicts = analysis.verdicts
    models = [
        {
            "name": model,
            "front": scores.fronts[at],
            "questions": len(scores.answered[at]),
            "answers": scores.answers[at],
            "mean": by_objective(scores.means[at]),
            "standard_error": by_objective(scores.errors[at]),
            "interval": by_objective(analysis.intervals[at]),
            "on_front": bool(analysis.is_front[at]),
            "on_front_probability": analysis.on_front[at],
            "on_front_surely": None if verdicts is None else _SURELY[int(verdicts.surely[at])],
            "questions_until_settled": _count_missing(analysis, at),
            "dominated_by": {
                name: share
                for name, share in zip(scores.models, analysis.dominance[:, at], strict=True)
                if share > 0
            },
        }
        for at, model in enumerate(scores.models)
    ]
    plain: dict[str, Any] = to_json(
        {
            "objectives": [
                {"name": one.name, "column": one.key, "better": one.better}
                for one in scores.objectives
            ],
            "paired": scores.paired,
            "replicates": len(analysis.replicates),
            "models": models,
            "reference": by_objective(analysis.reference),
            "reference_guessed": analysis.guessed,
            "fronts": [_plain_front(one, analysis) for one in analysis.fronts],
            "gaps": [asdict(one) for one in analysis.gaps],
            "tests": list(map(_plain_test, analysis.tests)),
            "notes": analysis.notes,
        }
    )
    return plain


def _describe_dominance(analysis: Analysis, at: int) -> str:
    """Return the model that most likely dominates a model, with its probability; "" if unlikely."""
    column = analysis.dominance[:, at]
    best = int(column.argmax())
    if column[best] < _LIKELY:
        return ""
    name = analysis.scores.models[best]
    return name if analysis.verdicts is None else f"{name} ({format_share(float(column[best]))})"


def format_share(share: float) -> str:
    """Format a share of replicates; 1 becomes ">0.99", because no share is certain.

    >>> format_share(0.123), format_share(1.0), format_share(0.00001)
    ('0.12', '>0.99', '<0.01')
    """
    if math.isnan(share):
        return ""
    return "<0.01" if 0 < share < 0.01 else ">0.99" if share > 0.99 else f"{share:.2f}"


def _plain_front(front: FrontVolume, analysis: Analysis) -> dict[str, Any]:
    names = analysis.scores.models
    return {
        "name": front.name,
        "models": [names[at] for at in front.models],
        "hypervolume": front.volume,
        "share_of_box": front.share,
        "interval": front.interval,
        "bias": front.bias,
        "cover": [names[at] for at in front.cover],
        "covered": front.covered,
    }


def _plain_test(test: Comparison) -> dict[str, Any]:
    measure, first, second = test.other
    return {
        "objective": measure.name,
        "first": first,
        "second": second,
        "questions": len(test.differences),
        "difference": test.mean,
        "interval": test.interval,
        "p": test.raw_p,
        "p_holm": test.p,
    }


def _tabulate_models(analysis: Analysis, every: bool) -> Table:
    scores, verdicts = analysis.scores, analysis.verdicts
    order = order_models(analysis)
    hidden = 0 if every or len(order) <= _MOST_LISTED else len(order) - int(analysis.is_front.sum())
    shown = [at for at in order if analysis.is_front[at] or not hidden]
    counts = [str(len(one)) for one in scores.answered]
    columns: list[tuple[str, bool, Sequence[str]]] = [("model", True, scores.models)]
    if len(analysis.fronts) > 1:
        columns.append(("front", True, scores.fronts))
    every_model = range(len(order))
    columns.append(("on the front", True, [_describe_place(analysis, at) for at in every_model]))
    dominated = [_describe_dominance(analysis, at) for at in every_model]
    if any(dominated[at] for at in shown):
        head = "dominated by" if verdicts is None else "dominated by (p)"
        columns.append((head, True, dominated))
    if analysis.until_settled and verdicts is not None:
        more = [_count_missing(analysis, at) for at in every_model]
        cells = ["" if one == 0 else "never" if one is None else f"{one:,}" for one in more]
        columns.append(("questions to go", False, cells))
    if len(set(counts)) > 1:
        columns.append(("n", False, counts))
    for objective, means, errors in zip(
        scores.objectives, scores.means.T, scores.errors.T, strict=True
    ):
        sense = "max" if objective.sense > 0 else "min"
        columns.append((f"{objective.name}:{sense}", False, format_column(means, errors)))
    note = ""
    if verdicts is not None:
        note = (
            "±: standard error over questions. Surely, or surely not: with 95 % confidence in all "
            "such verdicts together. Yes or no: by the means; p: share of the replicates. The "
            "model that most likely dominates is named from p = 0.5 on."
        )
        if len(analysis.fronts) > 1:
            note += " On the front: within its own front; dominated: by any model."
    if analysis.until_settled and verdicts is not None:
        note += (
            " Questions to go: about so many more decide an open model, with a chance of 80 % if "
            "the means are as they seem."
        )
    if hidden:
        note = f"{hidden} dominated models are not listed; --all lists them. {note}".rstrip()
    rows = [[cells[at] for _, _, cells in columns] for at in shown]
    words = sum(is_word for _, is_word, _ in columns)
    return Table([head for head, _, _ in columns], rows, words, "Models", note)


def _describe_place(analysis: Analysis, at: int) -> str:
    word = "yes" if analysis.is_front[at] else "no"
    if analysis.verdicts is None:
        return word
    surely = int(analysis.verdicts.surely[at])
    return _SURELY[surely] if surely else f"{word}, p {format_share(float(analysis.on_front[at]))}"


def _count_missing(analysis: Analysis, at: int) -> int | None:
    """Return how many more questions decide a model; None if no number does, or none is known."""
    if analysis.verdicts is None or math.isinf(factor := float(analysis.verdicts.factor[at])):
        return None
    return math.ceil((factor - 1) * min(map(len, analysis.scores.answered)))


def format_column(means: Floats, errors: Floats) -> list[str]:
    """Format numbers with the same decimals: two digits of the smallest error.

    Without errors, they are four digits of the largest number, and two of the smallest.

    >>> format_column(np.array([134.0, 257.94]), np.array([4.13, 8.31]))
    ['134.0 ± 4.1', '257.9 ± 8.3']
    >>> format_column(np.array([0.5, 0.8251]), np.array([np.nan, np.nan]))
    ['0.5000', '0.8251']
    >>> format_column(np.array([600.0, 3.75, 0.4]), np.array([np.nan] * 3))
    ['600.00', '3.75', '0.40']
    """
    known, sizes = errors[errors > 0], np.abs(means[means != 0])
    smallest = min(sizes.max(initial=0.0) / 1000, sizes.min(initial=np.inf) / 10)
    size = known.min() / 10 if len(known) else smallest
    decimals = max(0, -math.floor(math.log10(size))) if size > 0 else 0
    return [
        f"{mean:.{decimals}f}" + ("" if math.isnan(error) else f" ± {error:.{decimals}f}")
        for mean, error in zip(means, errors, strict=True)
    ]


def order_models(analysis: Analysis) -> list[int]:
    """Return the indices of the models, from best to worst in the first objective."""
    first = analysis.scores.senses[0] * analysis.scores.means[:, 0]
    return [int(at) for at in (-first).argsort(kind="stable")]


def _tabulate_fronts(analysis: Analysis) -> Table:
    names = analysis.scores.models
    columns = [
        [
            f"{one.volume:.{_DIGITS}g} {format_interval(one.interval, f'.{_DIGITS}g')}".rstrip(),
            f"{100 * one.share:.1f} %",
            join_some([names[at] for at in one.models]),
            join_some([names[at] for at in one.cover]),
            f"{100 * one.covered:.1f} %",
        ]
        for one in analysis.fronts
    ]
    interval = ", 95 % interval" if len(analysis.replicates) else ""
    heads = [f"volume{interval}", "of the box", "non-dominated", "smallest cover", "share covered"]
    corner = ", ".join(
        f"{one.name} {value:.{_DIGITS}g}"
        for one, value in zip(analysis.scores.objectives, analysis.reference, strict=True)
    )
    guessed = ""
    if analysis.guessed:
        errors = "two standard errors and " if len(analysis.replicates) else ""
        guessed = f", the worst means, made worse by {errors}10 % of the range; --ref sets it"
    return Table(
        ["front of", *(one.name or "all models" for one in analysis.fronts)],
        list(zip(heads, *columns, strict=True)),
        1 + len(columns),
        "Hypervolume",
        f"Reference point: {corner}{guessed}. 'Of the box' is the share of the box between the "
        "reference point and the best of each objective.",
    )


def _tabulate_gaps(analysis: Analysis) -> Table:
    rows = []
    for one in analysis.gaps:
        ends = format_interval(one.interval, f"+.{_DIGITS}g")
        difference = f"{one.difference:+.{_DIGITS}g} {ends}".rstrip()
        larger = format_share(one.first_larger_probability)
        rows.append([one.first, one.second, difference, larger])
    header = ["first", "second", "hypervolume, first - second", "p (first is larger)"]
    return Table(header, rows, 2, "Fronts against each other")


def _tabulate_tests(tests: Sequence[Comparison]) -> Table:
    rows = []
    for one in tests:
        measure, first, second = one.other
        spread = (one.interval[1] - one.interval[0]) / 4  # about a standard error
        difference = measure.format(one.mean, sign=True, spread=spread)
        if all(map(math.isfinite, one.interval)):
            ends = (measure.format(end, sign=True, spread=spread) for end in one.interval)
            difference += f" [{', '.join(ends)}]"
        count, raw, corrected = str(len(one.differences)), f"{one.raw_p:.2g}", f"{one.p:.2g}"
        rows.append([measure.label, first, second, count, difference, raw, corrected])
    header = ["objective", "first", "second", "questions", "first - second", "p", "p (Holm)"]
    note = (
        "p: from random signs of the differences. In brackets: the 95 % interval of the "
        "difference, for 6 questions or more. p (Holm): corrected for all rows."
    )
    return Table(header, rows, 3, "Question by question", note)
