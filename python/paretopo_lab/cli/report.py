"""``paretopo report``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from paretopo.subcommands import Subcommands, announce, need, refuse

_EXAMPLES = """\
examples:
  paretopo report runs/A                    writes runs/A/report/: report.html, report.md, plots
  paretopo report runs/A runs/B runs/C      one report with all runs, in runs/comparison/
  paretopo report runs/A runs/B --out plots
  paretopo report mine.toml                 a study, next to its records

For a model on published questions, paretopo evaluate prints the table, and paretopo compare tests
several against each other (docs/evaluation.md).
"""


def add_report(subcommands: Subcommands) -> None:
    """Add the command that writes tables and plots of trainings."""
    parser = subcommands.add(
        "report",
        _run,
        "write tables and plots of runs and studies",
        "Write tables and plots of training runs or of a study.",
        _EXAMPLES,
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="a run folder, or the TOML file of a study",
    )
    parser.add_argument("--out", metavar="DIR", help="output folder (default: see the examples)")


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from paretopo.config import ConfigError
    from paretopo_lab.evaluate.folder import compare_command, is_evaluation

    need("matplotlib")
    for path in arguments.runs:
        if is_evaluation(path):
            refuse(
                f"{path} is an evaluation on published questions: paretopo evaluate prints its "
                f"table; to compare it with others: {compare_command(Path(path))}"
            )
    runs = _leave_out_others(arguments.runs)
    out = None if arguments.out is None else Path(arguments.out)
    try:
        announce("reading records and drawing")
        if runs[0].endswith(".toml"):
            return _report_study(runs, out)
        from paretopo.records.folder import RunFolder
        from paretopo_lab.training.report import write_report

        report = write_report([RunFolder.open(path) for path in runs], out)
        print(f"{report}\n{report.with_suffix('.html')}")
    except (ConfigError, OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _leave_out_others(paths: Sequence[str]) -> list[str]:
    """Return the folders with something to report: runs/* also holds reports and broken starts."""
    if len(paths) == 1:
        return list(paths)
    others = {
        path: "evaluation yet" if (Path(path) / "config.toml").exists() else "run"
        for path in paths
        if Path(path).is_dir() and not (Path(path) / "evaluations.jsonl").exists()
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
