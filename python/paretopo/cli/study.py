"""``paretopo study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from paretopo.cli.subcommands import Subcommands, need, refuse

if TYPE_CHECKING:
    from pathlib import Path

    from paretopo.study.plan import Cell, Plan

_EXAMPLES = """\
examples:
  paretopo study docs/study/hypervolume.toml       everything, hours; goes on where it was left
  paretopo study docs/study/hypervolume.toml --quick   fewer seeds, minutes
  paretopo study mine.toml --out mine --workers 8
  paretopo study mine.toml --ray auto              on the Ray cluster of this machine

The file names methods (paretopo train --help lists them), seeds and tasks. A table [switches] gives
names to further keys, as paretopo train --set takes them one by one:

  [switches]
  gated = { paretopo.gate = "success" }      and "grpo+gated" is a method of this study

Tasks are tables, which train in a second, or configurations of paretopo train.
Written: records.jsonl, a line for each training that ended, and when all have ended
records.jsonl.xz in its place; report.md and plots, which paretopo report FILE.toml writes anew.
"""


def add_study(subcommands: Subcommands) -> None:
    """Compare methods."""
    parser = subcommands.add(
        "study",
        _run,
        "compare methods: methods x seeds x tasks as one grid",
        "A grid of trainings that can be stopped at any point, and what it says.",
        _EXAMPLES,
    )
    parser.add_argument("file", metavar="FILE.toml", help="what to compare")
    parser.add_argument(
        "--out", metavar="DIR", help="records and report; beside the file if not given"
    )
    parser.add_argument("--quick", action="store_true", help="fewer seeds, as the file says")
    parser.add_argument("--workers", type=int, metavar="N", help="trainings at a time; all cores")
    parser.add_argument("--ray", metavar="ADDRESS", help="run on a Ray cluster: auto, or host:port")


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from pathlib import Path

    from paretopo.config import ConfigError
    from paretopo.study import plan
    from paretopo.study.records import read_records
    from paretopo.study.report import results_folder, write_report

    need("matplotlib", "tqdm", *(["ray"] if arguments.ray else []))
    if arguments.workers is not None and arguments.workers < 1:
        refuse(f"--workers must be at least 1, got {arguments.workers}")
    file = Path(arguments.file)
    try:
        study = plan.load(file, quick=arguments.quick)
        if any(section.config for section in study.tasks.values()):
            need("torch", "transformers", "trl", "accelerate", extra="train")
        out = Path(arguments.out) if arguments.out else results_folder(file, quick=arguments.quick)
        failures = _train(study, out, arguments)
        if not read_records(study, out):
            refuse("no training has ended: " + "; ".join(failures.values()))
        print(write_report(study, out))
    except (ConfigError, OSError) as error:
        refuse(str(error))
    for cell, failure in failures.items():
        print(f"failed: {cell}: {failure}", file=sys.stderr)
    if failures:
        print(f"{len(failures)} trainings failed; run it again for those", file=sys.stderr)
    return 1 if failures else 0


def _train(study: Plan, out: Path, arguments: argparse.Namespace) -> dict[Cell, str]:
    from tqdm import tqdm

    from paretopo.study import grid
    from paretopo.study.records import read_records

    left = len(study.cells()) - len(read_records(study, out))
    with tqdm(total=left, unit="training", desc="study") as bar:

        def advance(cell: Cell, failure: str | None) -> None:
            bar.set_postfix_str(f"{cell}{' FAILED' if failure else ''}", refresh=False)
            bar.update()

        return grid.run(study, out, workers=arguments.workers, ray=arguments.ray, on_end=advance)
