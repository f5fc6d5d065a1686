"""Write tables, pictures and a page of runs, only from their records."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo.records.folder import RunFolder
from paretopo_lab.document.files import label_folders, write_files
from paretopo_lab.document.page import write_table
from paretopo_lab.document.report import Heading, Part, Report, Styled, Table
from paretopo_lab.read.history import History, compare_ends, merge_objectives, read_histories
from paretopo_lab.statistics.questions import COLUMNS, EXPLAINED, compare_questions
from paretopo_lab.training import charts, preferences
from paretopo_lab.training.summary import describe_volumes, summarise_runs

if TYPE_CHECKING:
    _AnyPath = Path
else:
    _AnyPath = type(Path())  # Python 3.11 cannot inherit from Path itself


class ReportPath(_AnyPath):
    """The path of a report, which a notebook shows as a table and the picture of the front."""

    table: Table

    def list_rows(self) -> list[str]:
        """Return the table as aligned lines for a terminal."""
        rows = (self.table.header, *self.table.rows)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]

    def _repr_html_(self) -> str:
        picture = self.with_name("front.png")
        image = ""
        if picture.is_file():
            data = base64.b64encode(picture.read_bytes()).decode()
            image = f'<img alt="Front over the evaluations" src="data:image/png;base64,{data}">'
        page = html.escape(str(self.with_suffix(".html")))
        return f"{write_table(self.table)}{image}<p>The whole report: <code>{page}</code></p>"


def write_report(runs: Sequence[RunFolder], out: Path | None = None) -> ReportPath:
    """Write ``report.md``, ``report.html`` and ``front.png``.

    Args:
        runs: at least one; several are laid over each other. A single objective has no front.
        out: the folder to write to; by default ``report/`` of a single run, and ``comparison/``
            next to the first of several.

    Returns:
        The path of ``report.md``, with the table.

    Raises:
        ValueError: no runs, one twice, a run without evaluations or with broken records, trainings
            mixed with evaluations, or runs that disagree on which way of an objective is better.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    histories = read_histories(label_runs(runs))
    kinds = [one.is_evaluation for one in histories.values()]
    if any(kinds) and not all(kinds):
        raise ValueError(
            "a report covers trainings or evaluations, not both: "
            f"{runs[kinds.index(True)].path} is an evaluation, {runs[kinds.index(False)].path} is "
            "a training"
        )
    report = describe(histories)
    if out is None:
        out = runs[0].report if len(runs) == 1 else runs[0].path.resolve().parent / "comparison"
    path = ReportPath(write_files(report, out, "report", f"{', '.join(histories)} · report"))
    path.table = next(part for part in report.parts if isinstance(part, Table))
    return path


def describe(histories: Mapping[str, History]) -> Report:
    """Return the report on runs, which are all trainings or all evaluations.

    Args:
        histories: At least one, by label.

    Raises:
        ValueError: The runs disagree on which way of an objective is better.
    """
    evaluated = next(iter(histories.values())).is_evaluation
    several = len(histories) > 1
    parts: list[Part] = []
    if several:
        parts += _tabulate_runs(histories)
        tests = compare_questions(histories)
        if tests:
            rows = [one.cells for one in tests]
            parts.append(Table(COLUMNS, rows, 3, "Question by question", EXPLAINED))
    for label, history in histories.items():
        parts += [Heading(label), _describe_run(history), *_tabulate_ends(history)]
        parts += preferences.tabulate_preferences(history)
    parts.append(describe_volumes(histories))
    if any(history.sweeps for history in histories.values()):
        parts.append(preferences.make_front(histories))
    if len(merge_objectives(histories.values())) > 1 and (not evaluated or several):
        parts.append(charts.make_front(histories))
    if not evaluated:
        parts.append(charts.make_curves(histories))
    return Report(f"{'Evaluation' if evaluated else 'Training'} report", parts, "report.html")


def label_runs(runs: Sequence[RunFolder]) -> dict[str, RunFolder]:
    """The runs by a short name: title and seed, where that is not unique the folder, or its path.

    Raises:
        ConfigError: one folder was given twice.
    """
    folders = [run.path.resolve() for run in runs]
    names = [
        (name, f"{name} ({folder.name})", f"{name} ({folder})")
        for run, folder in zip(runs, folders, strict=True)
        for name in [f"{run.title}, seed {run.config.seed}"]
    ]
    return dict(zip(label_folders("runs", folders, names), runs, strict=True))


def _tabulate_ends(history: History) -> list[Part]:
    """Tabulate every measure before and after training, with direction and unit."""
    moments, compared = history.moments, compare_ends(history)
    counted = [_COUNT] if any(one.count for one in compared) else []
    changed = ["change"] if len(moments) > 1 else []
    rows = []
    for one in compared:
        measure, kind = one.measure, f"{one.kind}: " if one.kind else ""
        head = [f"{kind}{measure.name}", measure.better or "", measure.unit]
        ends = [*one.ends, Styled(one.change, one.verdict)] if changed else one.ends[:1]
        rows.append([*head, *([one.count] if counted else []), *ends])
    note = _ERRORS if changed else _ERRORS.partition(" report.html")[0]
    heads = ["objective", "better", "unit", *counted, *moments, *changed]
    return [Table(heads, rows, 3), note if counted else ""]


_COUNT = "answers"
_ERRORS = (
    "answers: number of held-out answers; ±: standard error of their mean over questions. "
    "report.html colours a change only beyond 1.96 standard errors."
)


def _tabulate_runs(histories: Mapping[str, History]) -> list[Part]:
    """Tabulate the measures of each run and each method."""
    measures, found = summarise_runs(histories)
    rows = []
    for row in found:
        verdicts = [row.means[one.key].verdict if one.key in row.means else "" for one in measures]
        name = Styled(row.name, "strong") if row.of_method else row.name
        cells = map(Styled, map(row.describe, measures), verdicts)
        rows.append([name, str(len(row.seeds)) if row.of_method else "", *cells])
    ends = "" if all(one.is_evaluation for one in histories.values()) else "Before → after (change)"
    return [
        Table(["run", "seeds", *(measure.label for measure in measures)], rows),
        f"{ends or 'Results'}, of a run ± the standard error over its questions; bold: the mean "
        "of a method's runs ± their standard deviation, if there are several.",
    ]


def _describe_run(history: History) -> str:
    run, last = history.run, history.evaluations[-1]
    name, status = run.path.resolve().name, run.manifest.get("status", "unknown")
    text = f"Run folder: {name}; status: {status}.{_name_changed_questions(history)}"
    if last.get("hypervolume") is None:
        return text
    size = last.get("archive_size")
    outcomes = f"{size} outcome{'' if size == 1 else 's'}"
    volume = f"{text}\nArchive at the end: {outcomes}, hypervolume {last['hypervolume']:.4f}."
    return f"{volume}{_explain_zero(history)}"


def _name_changed_questions(history: History) -> str:
    """Warn that the first and the last evaluation asked different questions."""
    kept = history.run.questions()
    asked = [set(kept.get(at, {}).get("measured", ())) for at in ("first", "last")]
    if asked[0] == asked[1]:
        return ""
    return (
        f" The held-out questions changed: {len(asked[0] & asked[1])} of the first {len(asked[0])} "
        "were in the last evaluation, too, so means before and after are not comparable."
    )


def _explain_zero(history: History) -> str:
    """Name the objectives in which no outcome is above the reference, with a lower reference."""
    lower = []
    for objective, measure in zip(history.run.config.objectives, history.objectives, strict=True):
        rewards = history.rewards([measure])
        corner = history.evaluations[-1].get("reference", {}).get(objective.name)
        if corner is not None and (rewards <= corner).all():
            worst = objective.to_reference(float(rewards.min()))
            lower.append(f"{objective.name} ({worst:.4g} is the worst of them)")
    if not lower:
        return ""
    named = " and of ".join(lower)
    return f" No outcome is better than the reference: set a worse key reference of {named}."
