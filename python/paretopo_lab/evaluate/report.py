"""The report on evaluations: the paper's tables with our rows, and tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from paretopo.config import ConfigError
from paretopo_lab.document.files import label_folders
from paretopo_lab.document.report import Heading, Marked, Part, Report, Table
from paretopo_lab.evaluate import published
from paretopo_lab.evaluate.folder import EvaluationFolder
from paretopo_lab.evaluate.published import Method
from paretopo_lab.evaluate.results import Result, summarise_folder
from paretopo_lab.evaluate.tables import (
    format_p_value,
    list_datasources,
    paper_table,
    results_table,
)
from paretopo_lab.statistics.intervals import two_proportions
from paretopo_lab.statistics.questions import correct_tests

SIZES = ("1.5B", "3B", "7B")
PaperRows = Literal["auto", "all", "none", "1.5B", "3B", "7B"]


def write_report(
    folders: Sequence[EvaluationFolder], out: Path | None = None, paper: PaperRows = "auto"
) -> tuple[Path, Report]:
    """Write `report.md`.

    Args:
        folders: At least one evaluation.
        out: The folder to write to; by default `report/` of a single evaluation, and `comparison/`
            next to the first of several.
        paper: The paper's rows that are shown: of a size of base model, of "all" or "none";
            "auto" takes the sizes that the models' names say, else all.

    Returns:
        The path of `report.md`, and the report.

    Raises:
        ConfigError: An evaluation occurs twice, or has no answers or broken records.
    """
    named = _name_evaluations(folders)
    measured = {name: summarise_folder(folder) for name, folder in named.items()}
    for name, folder in named.items():
        if not measured[name]:
            raise ConfigError(f"{folder.path} has no answers yet: there is nothing to report")
    if out is None:
        first = folders[0].path.resolve()
        out = first / "report" if len(folders) == 1 else first.parent / "comparison"
    rows = {
        name: (folder.settings["tool"] != "none", measured[name]) for name, folder in named.items()
    }
    shown = _select_tables(measured, _choose_sizes(list(named), paper))
    parts: list[Part] = [*_describe_evaluations(named, measured)]
    for table, blocks in shown:
        parts += [paper_table(table, blocks, rows), *_describe_gaps(table, measured)]
    parts += [results_table(measured), *_compare_with_paper(measured, shown, paper)]
    report = Report("Evaluation", parts)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "report.md"
    path.write_text(report.write(aligned=True), encoding="utf-8")
    return path, report


def _name_evaluations(folders: Sequence[EvaluationFolder]) -> dict[str, EvaluationFolder]:
    """Return the evaluations by a short, unique name."""
    paths = [folder.path.resolve() for folder in folders]
    names = [
        (folder.name, named, f"{named} ({path.name})")
        for folder, path in zip(folders, paths, strict=True)
        for named in [f"{folder.name}, {folder.settings['tool']}"]
    ]
    return dict(zip(label_folders("evaluations", paths, names), folders, strict=True))


def _choose_sizes(names: Sequence[str], paper: PaperRows) -> Sequence[str]:
    if paper == "none":
        return ()
    if paper in SIZES:
        return (paper,)
    named = [size for size in map(published.model_size, names) if size is not None]
    return SIZES if paper == "all" or not named else named


def _select_tables(
    measured: Mapping[str, Mapping[str, Result]], sizes: Sequence[str]
) -> list[tuple[published.PaperTable, dict[str, tuple[Method, ...]]]]:
    """Return the tables that share a column with ours, with the blocks of that column."""
    ours = set(list_datasources(measured.values()))
    return [
        (table, published.select_blocks(table, sizes))
        for table in published.tables()
        if ours & set(table.columns)
    ]


def _describe_evaluations(
    named: Mapping[str, EvaluationFolder], measured: Mapping[str, Mapping[str, Result]]
) -> list[str]:
    lines = []
    for name, folder in named.items():
        settings, manifest = folder.settings, folder.manifest
        sampled = f"temperature {settings['temperature']:g}, {settings['samples']} samples"
        sampled = "greedy" if settings["temperature"] == 0 else sampled
        answered = sum(one.questions for one in measured[name].values())
        done = f"{answered} of {manifest.get('questions')} questions"
        lines.append(
            f"* **{name}**: {settings['model']}, tool {settings['tool']}, at most "
            f"{settings['max_calls']} calls and {settings['max_tokens']} tokens, {sampled}, "
            f"{settings['engine']}; {done}, {manifest.get('status')}; {folder.path.name}"
        )
    return [f"Rows as printed: {published.source()}. Rows measured here:", "\n".join(lines)]


def _describe_gaps(
    table: published.PaperTable, measured: Mapping[str, Mapping[str, Result]]
) -> list[str]:
    notes = []
    for datasource, heading in table.columns.items():
        whole = published.question_counts()[datasource]
        for name, results in measured.items():
            if datasource in results and results[datasource].questions != whole:
                notes.append(f"{heading}: {name} has {results[datasource].questions} of {whole}")
    notes = [f"Not all questions: {'; '.join(notes)}."] if notes else []
    if "nq" in list_datasources(measured.values()) and "nq" in table.columns:
        notes.append("For NQ the paper says 7,830 questions; the file it uses has 3,610.")
    return ["\n".join(notes)]


def _compare_with_paper(
    measured: Mapping[str, Mapping[str, Result]],
    shown: Sequence[tuple[published.PaperTable, Mapping[str, Sequence[Method]]]],
    paper: PaperRows,
) -> list[Part]:
    methods = [
        (f"{method.name} ({block})", method)
        for _, blocks in shown
        for block, rows in blocks.items()
        for method in rows
    ]
    if not methods:
        return []
    title = "Against the paper's rows"
    if paper == "auto" and not any(map(published.model_size, measured)):
        reason = "No tests: no name of a model says the size of its base model."
        return [Heading(title), Marked(f"{reason} `--paper 7B`, for one, says it.")]
    tests = compare_with_paper(measured, methods)
    rows = [
        [one.datasource, one.ours, one.method, f"{one.em:+.1f}"]
        + [format_p_value(p) for p in (one.p, one.holm)]
        for one in tests
    ]
    header = ["data set", "here", "as printed", "EM difference", "p", "p (Holm)"]
    note = (
        "Two-proportion test (Fisher's where a count is small), unpaired: the paper's answers are "
        f"not published. Holm's correction for {len(tests)} tests."
    )
    return [Table(header, rows, 3, title, note)]


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
            if datasource not in method.cells or not result.graded:
                continue
            printed, asked = method.cells[datasource].em, published.question_counts()[datasource]
            right = result.em * result.graded, result.graded
            p = two_proportions(*right, printed / 100 * asked, asked)
            tests.append(PaperComparison(datasource, ours, name, 100 * result.em - printed, p))
    return correct_tests(tests)
