"""Tables of an analysis: as lines for a terminal or a file, and as plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from paretopo.compare.analysis import Analysis, Front
from paretopo.run.files import to_json
from paretopo.run.questions import COLUMNS, SIGNS
from paretopo.run.tables import escape_markdown, markdown_table

_DIGITS = 4
_LIKELY = 0.5  # smallest probability of dominance that the table of models shows


class Table(NamedTuple):
    """A table of a report.

    Attributes:
        title: Its heading.
        header: Headings of the columns.
        rows: Cells, as texts.
        words: Number of leading columns with words; the others hold numbers.
        note: A sentence below the table.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int
    note: str = ""


def describe(analysis: Analysis) -> list[str]:
    """Return the whole report as lines of Markdown."""
    lines = ["# Comparison", "", *map(escape_markdown, summarise(analysis)), ""]
    for table in list_tables(analysis):
        lines += [f"## {table.title}", "", *markdown_table(*table[1:4]), ""]
        lines += [table.note, ""] if table.note else []
    return lines


def summarise(analysis: Analysis) -> list[str]:
    """Return sentences on the data, followed by the notes of the analysis."""
    scores = analysis.scores
    counts = sorted({len(one) for one in scores.values})
    many = " to ".join(str(count) for count in dict.fromkeys((counts[0], counts[-1])))
    how = "all models answered the same" if scores.paired else "not paired"
    return [
        f"Models: {len(scores.models)}. Questions of each: {many} ({how}). Bootstrap replicates: "
        f"{len(analysis.replicates):,}.",
        *analysis.notes,
    ]


def list_tables(analysis: Analysis) -> list[Table]:
    """Return the tables of an analysis: models, fronts, gaps and tests, if there are any."""
    tables = [_tabulate_models(analysis), _tabulate_fronts(analysis)]
    if analysis.gaps:
        tables.append(_tabulate_gaps(analysis))
    if analysis.tests:
        tables.append(
            Table(
                "Question by question",
                COLUMNS,
                [one.cells for one in analysis.tests],
                3,
                SIGNS,
            )
        )
    return tables


def to_plain(analysis: Analysis) -> dict[str, Any]:
    """Return the whole report, without the replicates, as values for JSON; NaN becomes null."""
    scores = analysis.scores
    names = [one.name for one in scores.objectives]

    def by_objective(values: Iterable[Any]) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    models = [
        {
            "name": model,
            "front": scores.fronts[at],
            "questions": len(scores.values[at]),
            "answers": scores.answers[at],
            "mean": by_objective(scores.means[at]),
            "standard_error": by_objective(scores.errors[at]),
            "interval": by_objective(analysis.intervals[at]),
            "on_front": bool(analysis.is_front[at]),
            "on_front_probability": analysis.on_front[at],
            "dominated_by": _by_model(analysis, at),
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
            "gaps": [
                {
                    "first": one.first,
                    "second": one.second,
                    "difference": one.difference,
                    "interval": one.interval,
                    "first_larger_probability": one.larger,
                }
                for one in analysis.gaps
            ],
            "tests": [
                {
                    "objective": one.measure.name,
                    "first": one.first,
                    "second": one.second,
                    "questions": one.questions,
                    "difference": one.difference,
                    "interval": one.interval,
                    "p": one.p,
                    "p_holm": one.holm,
                }
                for one in analysis.tests
            ],
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
    return f"{analysis.scores.models[best]} ({format_share(float(column[best]))})"


def format_share(share: float) -> str:
    """Format a share of replicates; 1 becomes ">0.99", because no share is certain.

    >>> format_share(0.123), format_share(1.0), format_share(0.00001)
    ('0.12', '>0.99', '<0.01')
    """
    if math.isnan(share):
        return ""
    return "<0.01" if 0 < share < 0.01 else ">0.99" if share > 0.99 else f"{share:.2f}"


def _by_model(analysis: Analysis, at: int) -> dict[str, float]:
    names = analysis.scores.models
    return {
        names[other]: float(share)
        for other, share in enumerate(analysis.dominance[:, at])
        if share > 0
    }


def _plain_front(front: Front, analysis: Analysis) -> dict[str, Any]:
    names = analysis.scores.models
    return {
        "name": front.name,
        "models": [names[at] for at in front.models],
        "hypervolume": front.volume,
        "interval": front.interval,
        "bias": front.bias,
        "cover": [names[at] for at in front.cover],
        "covered": front.covered,
    }


def _tabulate_models(analysis: Analysis) -> Table:
    scores = analysis.scores
    several = len(analysis.fronts) > 1
    header = ["model", *(["front"] if several else []), "non-dominated", "dominated by (p)"]
    header += ["on the front, p", "n", *(one.label for one in scores.objectives)]
    rows = []
    for at in order_models(analysis):
        cells = [
            f"{mean:.{_DIGITS}g}" + ("" if math.isnan(error) else f" ± {error:.2g}")
            for mean, error in zip(scores.means[at], scores.errors[at], strict=True)
        ]
        rows.append(
            [
                scores.models[at],
                *([scores.fronts[at]] if several else []),
                "yes" if analysis.is_front[at] else "",
                _describe_dominance(analysis, at),
                format_share(float(analysis.on_front[at])),
                str(len(scores.values[at])),
                *cells,
            ]
        )
    note = (
        "±: standard error over questions. p: share of the replicates; the model that most likely "
        "dominates is named from p = 0.5 on."
    )
    if several:
        note += " Non-dominated and on the front: within its own front; dominated: by any model."
    return Table("Models", header, rows, 4 if several else 3, note)


def order_models(analysis: Analysis) -> list[int]:
    """Return the indices of the models, from best to worst in the first objective."""
    first = analysis.scores.senses[0] * analysis.scores.means[:, 0]
    return [int(at) for at in (-first).argsort(kind="stable")]


def _tabulate_fronts(analysis: Analysis) -> Table:
    names = analysis.scores.models
    rows = [
        [
            one.name or "all models",
            ", ".join(names[at] for at in one.models),
            ", ".join(names[at] for at in one.cover),
            f"{100 * one.covered:.1f} %",
            f"{one.volume:.{_DIGITS}g} {_format_interval(one.interval)}".rstrip(),
        ]
        for one in analysis.fronts
    ]
    corner = ", ".join(
        f"{one.name} {value:.{_DIGITS}g}"
        for one, value in zip(analysis.scores.objectives, analysis.reference, strict=True)
    )
    guessed = ", the worst means with a margin of 10 %; --ref sets it" if analysis.guessed else ""
    return Table(
        "Hypervolume",
        [
            "front of",
            "non-dominated",
            "smallest cover",
            "share covered",
            "hypervolume, 95 % interval",
        ],
        rows,
        3,
        f"Reference point: {corner}{guessed}.",
    )


def _tabulate_gaps(analysis: Analysis) -> Table:
    rows = [
        [
            one.first,
            one.second,
            f"{one.difference:+.{_DIGITS}g} {_format_interval(one.interval, sign=True)}".rstrip(),
            format_share(one.larger),
        ]
        for one in analysis.gaps
    ]
    header = ["first", "second", "hypervolume, first - second", "p (first is larger)"]
    return Table("Fronts against each other", header, rows, 2)


def _format_interval(ends: tuple[float, float], *, sign: bool = False) -> str:
    if not all(map(math.isfinite, ends)):
        return ""
    low, high = (format(end, f"{'+' if sign else ''}.{_DIGITS}g") for end in ends)
    return f"[{low}, {high}]"
