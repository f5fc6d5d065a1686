"""``paretopo report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paretopo.cli.subcommands import Subcommands, announce, need, refuse

if TYPE_CHECKING:
    from pathlib import Path

_EXAMPLES = """\
examples:
  paretopo report runs/A                    writes runs/A/report/: report.html, report.md, plots
  paretopo report runs/A runs/B runs/C      lays them over each other, in runs/comparison/
  paretopo report runs/A runs/B --out plots
  paretopo report evaluations/A             tables in the layout of the paper's tables 1 and 2
  paretopo report evaluations/A evaluations/B --beside 7B
  paretopo report mine.toml                 a study, next to its records

Trainings and evaluations are told apart by what is in the folder. The report on evaluations has our
rows below the paper's own, tests against both, who dominates whom, and a plot; --beside says
which of the paper's rows: of a size of base model, all or none. Reads the records only: nothing is
evaluated again.
"""


def add_report(subcommands: Subcommands) -> None:
    """Tables and plots of trainings, or of evaluations."""
    parser = subcommands.add(
        "report",
        _run,
        "tables and plots of runs and evaluations",
        "Of trainings: before and after, front, dynamics, a page. "
        "Of evaluations: tables beside the paper.",
        _EXAMPLES,
    )
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="a run folder, an evaluation's, or a study's file"
    )
    parser.add_argument("--out", metavar="DIR", help="where to write")
    parser.add_argument(
        "--beside",
        choices=("auto", "all", "none", "1.5B", "3B", "7B"),
        default="auto",
        help="rows of the paper beside evaluations; auto: of the sizes that the models' names say",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from pathlib import Path

    from paretopo.config import ConfigError
    from paretopo.evaluation.folder import is_evaluation

    need("matplotlib")
    arguments.runs = _leave_out_others(arguments.runs)
    kinds = [is_evaluation(path) for path in arguments.runs]
    out = None if arguments.out is None else Path(arguments.out)
    if any(kinds) and not all(kinds):
        refuse(
            "a report is on trainings or on evaluations, not both: "
            f"{arguments.runs[kinds.index(True)]} is an evaluation, "
            f"{arguments.runs[kinds.index(False)]} is none"
        )
    try:
        if all(kinds):
            return _report_evaluations(arguments.runs, out, arguments.beside)
        if arguments.beside != "auto":
            refuse("--beside is for evaluations")
        announce("reading records and drawing")
        if arguments.runs[0].endswith(".toml"):
            return _report_study(arguments.runs, out)
        from paretopo.run.folder import RunFolder
        from paretopo.run.report import write_report

        print(write_report([RunFolder.open(path) for path in arguments.runs], out))
    except (ConfigError, OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _leave_out_others(paths: Sequence[str]) -> list[str]:
    """The folders of several that hold a run or an evaluation: runs/* has reports among them."""
    from pathlib import Path

    from paretopo.evaluation.folder import is_evaluation

    if len(paths) == 1:
        return list(paths)
    others = [
        path
        for path in paths
        if Path(path).is_dir() and not (Path(path) / "config.toml").exists()
        if not is_evaluation(path)
    ]
    if len(others) == len(paths):
        refuse(f"none of these folders holds a run or an evaluation: {' '.join(paths)}")
    for path in others:
        print(f"paretopo: {path} holds no run or evaluation: left out", file=sys.stderr)
    return [path for path in paths if path not in others]


def _report_study(files: Sequence[str], out: Path | None) -> int:
    from pathlib import Path

    from paretopo.study import plan, report

    if len(files) > 1:
        refuse(f"one study at a time, got {' '.join(files)}")
    file = Path(files[0])
    print(report.write_report(plan.load(file), out or report.results_folder(file)))
    return 0


def _report_evaluations(paths: Sequence[str], out: Path | None, beside: Any) -> int:
    from paretopo.evaluation.folder import EvaluationFolder
    from paretopo.evaluation.report import write_report

    folders = [EvaluationFolder.open(path) for path in paths]
    path, lines = write_report(folders, out, beside)
    print("\n".join(line for line in lines if not line.startswith("![")))
    print(path)
    return 0
