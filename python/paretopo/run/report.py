"""Tables and pictures of runs from their records alone: nothing is computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from paretopo.run.files import Row
from paretopo.run.folder import RunFolder, find_start
from paretopo.run.plots import draw_dynamics, draw_front, measure

# Measure, its key in a row, factor, decimals, and whether its change is told in percent. Economy is
# not among them: the first evaluation is scored before leaner solutions are known.
_MEASURES = (
    ("accuracy (%)", "correct", 100.0, 1, False),
    ("calls per question", "calls", 1.0, 2, True),
    ("response tokens", "response_tokens", 1.0, 1, True),
)


def write_report(runs: Sequence[RunFolder], out: Path | None = None) -> Path:
    """Write ``report.md``, ``front.png`` and ``dynamics.png``.

    Args:
        runs: at least one; several are laid over each other.
        out: the folder to write to; by default ``report/`` of a single run, and ``comparison/``
            beside the first of several.

    Returns:
        The path of ``report.md``.

    Raises:
        ValueError: no runs, one twice, or a run without evaluations or with broken records.
    """
    if not runs:
        raise ValueError("a report needs at least one run")
    for run in runs:
        if not run.evaluations():
            raise ValueError(f"{run.path} has no evaluations yet: there is nothing to report")
    if out is None:
        out = runs[0].report if len(runs) == 1 else runs[0].path.resolve().parent / "comparison"
    labelled = labels(runs)
    out.mkdir(parents=True, exist_ok=True)
    draw_front(labelled, out / "front.png")
    draw_dynamics(labelled, out / "dynamics.png")
    parts = ["# Training report", ""]
    if len(runs) > 1:
        parts += [*_comparison(labelled), ""]
    for label, run in labelled.items():
        parts += [f"## {label}", "", *_origin(run), "", *_before_after(run), ""]
    parts += [
        "![Front over the evaluations](front.png)",
        "",
        "![Training dynamics](dynamics.png)",
        "",
    ]
    path = out / "report.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def labels(runs: Sequence[RunFolder]) -> dict[str, RunFolder]:
    """The runs by a short name: recipe and seed, where that is not unique the folder, or its path.

    Raises:
        ValueError: one folder was given twice.
    """
    names = [f"{run.config.recipe}, seed {run.config.seed}" for run in runs]
    folders = [run.path.resolve() for run in runs]
    labelled = {}
    for name, folder, run in zip(names, folders, runs, strict=True):
        if folders.count(folder) > 1:
            raise ValueError(f"a report needs different runs, got {folder} twice")
        alike = [other.name for also, other in zip(names, folders, strict=True) if also == name]
        where = folder.name if alike.count(folder.name) == 1 else folder
        labelled[name if len(alike) == 1 else f"{name} ({where})"] = run
    return labelled


def before_and_after(run: RunFolder) -> tuple[Row, Row]:
    """The last evaluation before the first step (or the first there is) and the last of all."""
    rows = run.evaluations()
    return rows[find_start(rows)], rows[-1]


def _before_after(run: RunFolder) -> list[str]:
    before, after = before_and_after(run)
    lines = [
        f"|  | {_moment(before)} | {_moment(after)} | change |",
        "|---|---:|---:|---:|",
    ]
    lines += _measured("", before, after)
    kinds = after.get("by_kind") or {}
    for kind, values in sorted(kinds.items()):
        earlier = (before.get("by_kind") or {}).get(kind, {})
        lines += _measured(f"{kind}: ", earlier, values)
    return lines


def _measured(prefix: str, before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    lines = []
    for title, name, factor, decimals, relative in _MEASURES:
        old, new = (_number(measure(row, name), factor) for row in (before, after))
        if math.isnan(old) and math.isnan(new):
            continue
        change = _change(old, new, decimals, relative=relative)
        lines.append(f"| {prefix}{title} | {old:.{decimals}f} | {new:.{decimals}f} | {change} |")
    return lines


def _comparison(runs: Mapping[str, RunFolder]) -> list[str]:
    columns = (
        "run",
        "accuracy before (%)",
        "after (%)",
        "calls before",
        "after",
        "change of calls",
    )
    lines = [
        f"| {' | '.join((*columns, 'tokens before', 'after'))} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    table = []
    for label, run in runs.items():
        row = []
        for name, factor in (("correct", 100.0), ("calls", 1.0), ("response_tokens", 1.0)):
            row += [_number(measure(end, name), factor) for end in before_and_after(run)]
        table.append(row)
        lines.append(_comparison_row(label, row))
    means = [sum(column) / len(table) for column in zip(*table, strict=True)]
    lines.append(_comparison_row("**mean**", means))
    return lines


def _comparison_row(label: str, row: Sequence[float]) -> str:
    accuracy, accuracy_after, calls, calls_after, tokens, tokens_after = row
    change = _change(calls, calls_after, 2, relative=True)
    return (
        f"| {label} | {accuracy:.1f} | {accuracy_after:.1f} | {calls:.2f} | {calls_after:.2f} | "
        f"{change} | {tokens:.1f} | {tokens_after:.1f} |"
    )


def _origin(run: RunFolder) -> list[str]:
    manifest = run.manifest
    last = run.evaluations()[-1]
    name, status = run.path.resolve().name, manifest.get("status", "unknown")
    lines = [f"Run folder: `{name}`; status: {status}."]
    if last.get("hypervolume") is not None:
        size = last.get("archive_size")
        lines.append(
            f"Archive at the end: {size} outcome{'' if size == 1 else 's'}, hypervolume "
            f"{last['hypervolume']:.4f}."
        )
    return lines


def _moment(row: Row) -> str:
    named = {"pretrained": "before training", "warmup": "after warm-up", "final": "end"}
    phase = str(row.get("phase"))
    return f"{named.get(phase, 'evaluation')} (step {row['step']})"


def _number(value: object, factor: float) -> float:
    return factor * float(value) if isinstance(value, int | float) else math.nan


def _change(old: float, new: float, decimals: int, *, relative: bool) -> str:
    if math.isnan(old) or math.isnan(new):
        return ""
    if not relative:
        return f"{new - old:+.{decimals}f}"
    return f"{100 * (new - old) / old:+.0f} %" if old else f"{new - old:+.{decimals}f}"
