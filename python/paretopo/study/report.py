"""The report of a study: from its records alone."""

from __future__ import annotations

from pathlib import Path

from paretopo.config import ConfigError
from paretopo.study import figures, grid, tables
from paretopo.study.analysis import Results
from paretopo.study.plan import Plan


def results_of(file: Path, *, quick: bool = False) -> Path:
    """The folder of a study's records, beside its file.

    >>> results_of(Path("mine.toml"), quick=True).name
    'mine-quick'
    """
    return file.with_name(file.stem + ("-quick" if quick else ""))


def write_report(plan: Plan, out: Path) -> Path:
    """Write ``report.md`` and the pictures beside the records; returns the report.

    Raises:
        ConfigError: a line of the records is broken, or no task has a training of each method.
    """
    results = Results(plan, grid.records(plan, out))
    if not results.tasks:
        raise ConfigError(f"{out} has no task on which every method was tried: nothing to report")
    pictures = figures.draw(results, out)
    path = out / "report.md"
    path.write_text(tables.report(results, pictures), encoding="utf-8")
    return path
