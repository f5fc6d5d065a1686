"""``paretopo report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paretopo.subcommands import Subcommands, announce, need, refuse

_EXAMPLES = """\
examples:
  paretopo report runs/A                    writes runs/A/report/: report.html, report.md, plots
  paretopo report runs/A runs/B runs/C      one report with all runs, in runs/comparison/
  paretopo report runs/A runs/B --out plots
  paretopo report evaluations/A             tables in the layout of the paper's tables 1 and 2
  paretopo report evaluations/A evaluations/B --paper 7B
  paretopo report mine.toml                 a study, next to its records

Pass either run folders or evaluation folders. A report on evaluations shows your rows below those
of the paper, with significance tests. --paper selects the rows of the paper by the size of the base
model. paretopo compare tests evaluations against each other (docs/evaluation.md).
"""


def add_report(subcommands: Subcommands) -> None:
    """Add the command that writes tables and plots of trainings or evaluations."""
    parser = subcommands.add(
        "report",
        _run,
        "write tables and plots of runs and evaluations",
        "Write tables and plots of training runs or evaluations.",
        _EXAMPLES,
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run folder, an evaluation folder, or the TOML file of a study",
    )
    parser.add_argument("--out", metavar="DIR", help="output folder (default: see the examples)")
    parser.add_argument(
        "--paper",
        choices=("auto", "all", "none", "1.5B", "3B", "7B"),
        default="auto",
        help="rows of the paper to show; auto: those for the sizes in your models' names",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from paretopo.config import ConfigError
    from paretopo_lab.evaluate.folder import is_evaluation

    need("matplotlib")
    arguments.runs = _leave_out_others(arguments.runs)
    kinds = [is_evaluation(path) for path in arguments.runs]
    out = None if arguments.out is None else Path(arguments.out)
    if any(kinds) and not all(kinds):
        refuse(
            "a report covers trainings or evaluations, not both: "
            f"{arguments.runs[kinds.index(True)]} is an evaluation, "
            f"{arguments.runs[kinds.index(False)]} is not"
        )
    try:
        if all(kinds):
            return _report_evaluations(arguments.runs, out, arguments.paper)
        if arguments.paper != "auto":
            refuse("--paper is only for reports on evaluations")
        announce("reading records and drawing")
        if arguments.runs[0].endswith(".toml"):
            return _report_study(arguments.runs, out)
        from paretopo.records.folder import RunFolder
        from paretopo_lab.training.report import write_report

        report = write_report([RunFolder.open(path) for path in arguments.runs], out)
        print(f"{report}\n{report.with_suffix('.html')}")
    except (ConfigError, OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _leave_out_others(paths: Sequence[str]) -> list[str]:
    """Return the folders with something to report: runs/* also holds reports and broken starts."""
    from paretopo_lab.evaluate.folder import is_evaluation

    if len(paths) == 1:
        return list(paths)
    others = {
        path: "evaluation yet" if (Path(path) / "config.toml").exists() else "run or evaluation"
        for path in paths
        if Path(path).is_dir() and not (Path(path) / "evaluations.jsonl").exists()
        if not is_evaluation(path)
    }
    if len(others) == len(paths):
        refuse(f"none of these folders holds an evaluation: {' '.join(paths)}")
    for path, lacks in others.items():
        print(f"paretopo: {path} holds no {lacks}: left out", file=sys.stderr)
    return [path for path in paths if path not in others]


def _report_study(files: Sequence[str], out: Path | None) -> int:
    from paretopo_lab.study import plan, report

    if len(files) > 1:
        refuse(f"report takes one study at a time, got {' '.join(files)}")
    file = Path(files[0])
    print(report.write_report(plan.load(file), out or report.results_folder(file)))
    return 0


def _report_evaluations(paths: Sequence[str], out: Path | None, paper: Any) -> int:
    from paretopo_lab.evaluate.folder import EvaluationFolder
    from paretopo_lab.evaluate.report import write_report

    folders = [EvaluationFolder.open(path) for path in paths]
    path, report = write_report(folders, out, paper)
    print(report.write(aligned=True))
    print(path)
    return 0
