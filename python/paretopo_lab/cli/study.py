"""``paretopo study``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo.subcommands import Subcommands, announce, need, refuse

if TYPE_CHECKING:
    from paretopo_lab.study.plan import Cell, Plan, Table
    from paretopo_lab.study.report import Section

_EXAMPLES = """\
examples:
  paretopo study mine.toml                         the whole study; resumes if interrupted
  paretopo study mine.toml --quick                 a smaller study, to try it
  paretopo study mine.toml --out mine --workers 8

The file names methods (paretopo train --help lists them), seeds and tasks. Each task names a
configuration of paretopo train; docs/study/word_problems.toml is an example. A table [switches]
gives names to sets of keys, so that you can combine them with methods:

  [switches]
  gated = { paretopo.gate = "success" }      "grpo+gated" is then a method of this study

The study appends a line to records.jsonl for each finished training. It also writes report.md and a
picture of several tasks; paretopo report FILE.toml writes these again.
"""


def add_study(subcommands: Subcommands) -> None:
    """Add the command that compares methods."""
    parser = subcommands.add(
        "study",
        _run,
        "compare methods over seeds and tasks",
        "Train every method with every seed on every task, and write a report.",
        _EXAMPLES,
    )
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of a study."""
    parser.add_argument("file", metavar="FILE.toml", help="the methods, seeds and tasks to train")
    parser.add_argument(
        "--out", metavar="DIR", help="folder of records and report (default: next to the file)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="train at the smaller size that the section [quick] of the file sets",
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="trainings that run at the same time (default: one per core)",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    return study(arguments)


def study(
    arguments: argparse.Namespace,
    tables: Mapping[str, Table] | None = None,
    further: Section | None = None,
) -> int:
    """Train every cell of a study that has no record, and write the report.

    Args:
        arguments: Parsed by a parser with `add_arguments`.
        tables: Tasks without a configuration, by name.
        further: Returns the lines of a last section of the report.

    Returns:
        The exit status.
    """
    announce("loading packages")
    from paretopo.config import ConfigError
    from paretopo_lab.study import plan
    from paretopo_lab.study.records import read_records
    from paretopo_lab.study.report import results_folder, write_report

    need("matplotlib", "tqdm")
    if arguments.workers is not None and arguments.workers < 1:
        refuse(f"--workers must be at least 1, got {arguments.workers}")
    file = Path(arguments.file)
    try:
        loaded = plan.load(file, quick=arguments.quick, tables=tables)
        if any(section.config for section in loaded.tasks.values()):
            need("torch", "transformers", "trl", "accelerate", extra="train")
        usual = results_folder(file, quick=arguments.quick)
        out = Path(arguments.out) if arguments.out else usual
        lacking = read_records(loaded, usual).keys() - read_records(loaded, out).keys()
        if lacking:
            refuse(
                f"{usual} has the records of {len(lacking)} trainings that {out} lacks: copy them "
                "there or leave out --out; to train them again, copy the file to another folder"
            )
        failures = _train(loaded, out, arguments)
        if not read_records(loaded, out):
            refuse("no training has finished: " + "; ".join(failures.values()))
        print(write_report(loaded, out, further))
    except (ConfigError, OSError) as error:
        refuse(str(error))
    for cell, failure in failures.items():
        print(f"failed: {cell}: {failure}", file=sys.stderr)
    if failures:
        print(
            f"{len(failures)} trainings failed; run the command again to retry them",
            file=sys.stderr,
        )
    return 1 if failures else 0


def _train(plan: Plan, out: Path, arguments: argparse.Namespace) -> dict[Cell, str]:
    from paretopo.progress import make_bar
    from paretopo_lab.study import grid
    from paretopo_lab.study.records import read_records

    left = grid.find_missing(plan, read_records(plan, out))
    with make_bar(total=len(left), unit="training", desc="study") as bar:

        def advance(cell: Cell, failure: str | None) -> None:
            bar.set_postfix_str(f"{cell}{' FAILED' if failure else ''}", refresh=False)
            bar.update()

        return grid.run(plan, out, workers=arguments.workers, on_end=advance)
