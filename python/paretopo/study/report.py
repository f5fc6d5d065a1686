"""The report of a study in Markdown, from its records alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from paretopo.config import ConfigError
from paretopo.study import plots
from paretopo.study.analysis import SIGNIFICANT, Comparison, Floats, Results, describe
from paretopo.study.claims import Finding, check_claims
from paretopo.study.plan import Plan
from paretopo.study.records import read_records

_LEAST_P = 1e-4  # smaller ones are written as such


def results_folder(file: Path, *, quick: bool = False) -> Path:
    """The folder of a study's records, beside its file.

    >>> results_folder(Path("mine.toml"), quick=True).name
    'mine-quick'
    """
    return file.with_name(file.stem + ("-quick" if quick else ""))


def write_report(plan: Plan, out: Path) -> Path:
    """Write ``report.md`` and the plots beside the records; returns the report.

    Raises:
        ConfigError: a line of the records is broken, or no task has a training of each method.
    """
    results = Results(plan, read_records(plan, out))
    if not results.tasks:
        raise ConfigError(f"{out} has no task on which every method was tried: nothing to report")
    names = plots.draw(results, out)
    path = out / "report.md"
    path.write_text(format_report(results, names), encoding="utf-8")
    return path


def format_report(results: Results, plots: Sequence[str]) -> str:
    """Every table and finding, as Markdown.

    Args:
        results: The records.
        plots: Names of PNG files beside the report.
    """
    parts = ["# Study", "", _origin(results), ""]
    parts += [f"![{name}]({name})\n" for name in plots]
    if results.tables:
        parts += [*_hypervolumes(results), *_outcomes(results), *_worst_case(results)]
    for task in results.tasks:
        parts += _task(results, task)
    parts += _claims(check_claims(results))
    return "\n".join(parts) + "\n"


def _origin(results: Results) -> str:
    plan = results.plan
    tasks = ", ".join(f"{task} ({len(plan.seeds_of(task))} seeds)" for task in results.tasks)
    missing = [task for task in plan.tasks if task not in results.tasks]
    lines = f"Method to defend: `{plan.ours}`. Tasks: {tasks}."
    if missing:
        lines += f" Not finished yet: {', '.join(missing)}."
    return lines


def _sort_methods(results: Results) -> list[str]:
    return sorted(results.plan.study.methods, key=lambda method: -results.worst(method).mean())


def _hypervolumes(results: Results) -> list[str]:
    lines = [
        "## Hypervolume at the end, % of the best policy",
        "",
        "Mean ± standard deviation over seeds. Worst: the least over the tasks, seed by seed.",
        "",
        _row(["method", *results.tables, "worst"]),
        _row(["---", *["---:"] * (len(results.tables) + 1)]),
    ]
    for method in _sort_methods(results):
        cells = [
            _mean_and_deviation(100 * results.at_end(task, method, "hypervolume"))
            if method in results.methods(task)
            else "—"
            for task in results.tables
        ]
        lines.append(
            _row([f"`{method}`", *cells, _mean_and_deviation(100 * results.worst(method))])
        )
    return [*lines, ""]


def _outcomes(results: Results) -> list[str]:
    lines = [
        "## Accuracy (%) / calls per question at the end",
        "",
        _row(["method", *results.tables]),
        _row(["---", *["---:"] * len(results.tables)]),
    ]
    for method in _sort_methods(results):
        cells = [
            f"{100 * results.at_end(task, method, 'accuracy').mean():.1f} / "
            f"{results.at_end(task, method, 'calls').mean():.2f}"
            if method in results.methods(task)
            else "—"
            for task in results.tables
        ]
        lines.append(_row([f"`{method}`", *cells]))
    return [*lines, ""]


def _worst_case(results: Results) -> list[str]:
    return [
        "## Worst case over the tasks: ours against each other method",
        "",
        "Paired by seed, two-sided sign-flip test, Holm's correction over the methods.",
        "",
        *_comparisons(results.compare_worst()),
        "",
    ]


def _task(results: Results, task: str) -> list[str]:
    dominating = results.find_dominating(task)
    by = ", ".join(f"`{name}`" for name in dominating) if dominating else "none"
    return [
        f"## {task}: {describe(task)}",
        "",
        f"Methods on average as accurate and as lean as ours, one of both significantly: {by}.",
        "",
        *_comparisons(results.compare(task), results, task),
        "",
    ]


def _comparisons(
    compared: Sequence[Comparison], results: Results | None = None, task: str = ""
) -> list[str]:
    more = ["accuracy %", "calls"] if results else []
    lines = [
        _row(["against", "ours less theirs, points", "seeds", "p", "ours is", *more]),
        _row(["---", "---:", "---:", "---:", "---", *["---:"] * len(more)]),
    ]
    for one in compared:
        p = f"< {_LEAST_P}" if one.p < _LEAST_P else f"{one.p:.4f}"
        cells = [
            f"`{one.other}`",
            f"{100 * one.difference:+.2f} ± {100 * one.deviation:.2f}",
            str(one.seeds),
            p,
            one.verdict,
        ]
        if results:
            cells += [
                _mean_and_deviation(100 * results.at_end(task, one.other, "accuracy")),
                _mean_and_deviation(results.at_end(task, one.other, "calls"), 3),
            ]
        lines.append(_row(cells))
    if results:
        ours = results.plan.ours
        lines.append(
            _row(
                [
                    f"ours: `{ours}`",
                    _mean_and_deviation(100 * results.at_end(task, ours, "hypervolume"), 2),
                    str(len(results.seeds(task, ours))),
                    "",
                    "",
                    _mean_and_deviation(100 * results.at_end(task, ours, "accuracy")),
                    _mean_and_deviation(results.at_end(task, ours, "calls"), 3),
                ]
            )
        )
    return lines


def _claims(found: Sequence[Finding]) -> list[str]:
    if not found:
        return []
    lines = [
        "## Claims of the paper",
        "",
        f"Paired by seed, sign-flip test, p < {SIGNIFICANT}.",
        "",
        _row(["claim", "task", "verdict", "numbers"]),
        _row(["---", "---", "---", "---"]),
    ]
    lines += [_row([one.claim, one.task, one.verdict, one.numbers]) for one in found]
    return [*lines, ""]


def _mean_and_deviation(values: Floats, decimals: int = 1) -> str:
    deviation = values.std(ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{decimals}f} ± {deviation:.{decimals}f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
