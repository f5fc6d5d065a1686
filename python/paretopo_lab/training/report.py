"""Write tables, pictures and a page of runs, only from their records."""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo.config import ConfigError
from paretopo.records.folder import RunFolder
from paretopo_lab.document.files import write_files
from paretopo_lab.document.page import render_part
from paretopo_lab.document.report import Heading, Judged, Part, Report, Table, join_some
from paretopo_lab.read.history import History, compare_ends, merge_objectives, read_histories
from paretopo_lab.training import charts, preferences

if TYPE_CHECKING:
    _AnyPath = Path
else:
    _AnyPath = type(Path())  # Python 3.11 cannot inherit from Path itself


class ReportPath(_AnyPath):
    """The path of a report, which a notebook shows as tables and the picture of the front."""

    report: Report

    def list_rows(self) -> list[str]:
        """Return the first table as aligned lines for a terminal."""
        table = next(part for part in self.report.parts if isinstance(part, Table))
        rows = (table.header, *table.rows)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]

    def _repr_html_(self) -> str:
        parts = [part for part in self.report.parts if isinstance(part, Heading | Table)]
        picture = self.with_name("front.png")
        image = ""
        if picture.is_file():
            data = base64.b64encode(picture.read_bytes()).decode()
            image = f'<img alt="Front over the evaluations" src="data:image/png;base64,{data}">'
        page = html.escape(str(self.with_suffix(".html")))
        return (
            f"{''.join(map(render_part, parts))}{image}<p>The whole report: <code>{page}</code></p>"
        )


def write_report(runs: Sequence[RunFolder], out: Path | None = None) -> ReportPath:
    """Write ``report.md``, ``report.html`` and ``front.png``.

    Args:
        runs: at least one; several are laid over each other. A single objective has no front.
        out: the folder to write to; by default ``report/`` of a single run, and ``comparison/``
            next to the first of several.

    Returns:
        The path of ``report.md``, with the report.

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
    path.report = report
    return path


def describe(histories: Mapping[str, History]) -> Report:
    """Return the report on runs, which are all trainings or all evaluations.

    Args:
        histories: At least one, by label.

    Raises:
        ValueError: The runs disagree on which way of an objective is better.
    """
    evaluated = next(iter(histories.values())).is_evaluation
    parts: list[Part] = []
    for label, history in histories.items():
        parts += [Heading(label), _describe_run(history), *_tabulate_ends(history)]
        parts += preferences.tabulate_preferences(history)
    parts.append(_describe_volumes(histories))
    if any(history.sweeps for history in histories.values()):
        parts.append(preferences.make_front(histories))
    if len(merge_objectives(histories.values())) > 1 and (not evaluated or len(histories) > 1):
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
    for folder, count in Counter(folders).items():
        if count > 1:
            raise ConfigError(f"a report needs different runs, got {folder} twice")
    names = [
        (name, f"{name} ({folder.name})", f"{name} ({folder})")
        for run, folder in zip(runs, folders, strict=True)
        for name in [f"{run.title}, seed {run.config.seed}"]
    ]
    taken = [Counter(level) for level in zip(*names, strict=True)]
    labels = [
        next(name for name, seen in zip(own, taken, strict=True) if seen[name] == 1)
        for own in names
    ]
    return dict(zip(labels, runs, strict=True))


def _tabulate_ends(history: History) -> list[Part]:
    """Tabulate every measure before and after training, with direction and unit."""
    moments, compared = history.moments, compare_ends(history)
    counted = [_COUNT] if any(one.count for one in compared) else []
    changed = ["change"] if len(moments) > 1 else []
    rows = []
    for one in compared:
        measure, kind = one.measure, f"{one.kind}: " if one.kind else ""
        head = [f"{kind}{measure.name}", measure.better or "", measure.unit]
        ends = [*one.ends, Judged(one.change, one.verdict)] if changed else one.ends[:1]
        rows.append([*head, *([one.count] if counted else []), *ends])
    note = _ERRORS if changed else _ERRORS.partition(" report.html")[0]
    heads = ["objective", "better", "unit", *counted, *moments, *changed]
    return [Table(heads, rows, 3), note if counted else ""]


_COUNT = "answers"
_ERRORS = (
    "answers: number of held-out answers; ±: standard error of their mean over questions. "
    "report.html colours a change only beyond 1.96 standard errors."
)


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


def _describe_volumes(histories: Mapping[str, History]) -> str:
    """Return the description of the hypervolumes, or a warning that they are not comparable."""
    named: dict[str, list[str]] = {}
    for label, history in histories.items():
        if history.evaluations[-1].get("hypervolume") is not None:
            named.setdefault(history.volume, []).append(label)
    if len(named) < 2:
        return "".join(f"Archive and hypervolume are of the {volume}." for volume in named)
    each = "; ".join(f"{join_some(labels)}: {volume}" for volume, labels in named.items())
    return (
        f"Hypervolumes are not comparable: {each}. Give all runs one gate and recipe, and each "
        "objective the key reference; or ask their policies with `paretopo evaluate`, and compare "
        "the answers with `paretopo compare`."
    )
