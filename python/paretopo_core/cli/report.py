"""``paretopo report``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from paretopo_core.cli.refusal import need, refuse
from paretopo_core.cli.subcommands import Subcommands

if TYPE_CHECKING:
    from pathlib import Path

_EXAMPLES = """\
examples:
  paretopo report runs/A                    writes runs/A/report/
  paretopo report runs/A runs/B runs/C      lays them over each other, in runs/comparison/
  paretopo report runs/A runs/B --out figures
  paretopo report docs/study/main.toml      a study, beside its records

Reads the records of the runs only: nothing is evaluated again.
"""


def add_report(subcommands: Subcommands) -> None:
    """Tables and pictures of runs."""
    parser = subcommands.add(
        "report",
        _run,
        "tables and pictures of runs",
        "Table before and after, picture of the front, picture of the dynamics.",
        _EXAMPLES,
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="a run folder, or a study's file")
    parser.add_argument("--out", metavar="DIR", help="where to write")


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from pathlib import Path

    from paretopo_core.training.config import ConfigError
    from paretopo_core.training.records import RunFolder

    need("matplotlib")
    from paretopo_core.training.report import write_report
    from paretopo_core.training.study import plan, report

    try:
        out = None if arguments.out is None else Path(arguments.out)
        if arguments.runs[0].endswith(".toml"):
            file = _only(arguments.runs)
            print(report.write_report(plan.load(file), out or report.results_of(file)))
        else:
            print(write_report([RunFolder.open(path) for path in arguments.runs], out))
    except (ConfigError, OSError, ValueError) as error:
        refuse(str(error))
    return 0


def _only(runs: Sequence[str]) -> Path:
    from pathlib import Path

    if len(runs) > 1:
        refuse(f"one study at a time, got {' '.join(runs)}")
    return Path(runs[0])
