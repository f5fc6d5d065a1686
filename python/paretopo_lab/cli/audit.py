"""``paretopo audit``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from paretopo.subcommands import Subcommands, announce, need, refuse

_EXAMPLES = """\
examples:
  paretopo audit completions_00012.parquet              completions that TRL logs
  paretopo audit train_data_step3.jsonl --group-size 8  training data that NeMo-RL logs
  paretopo audit dump.csv --group prompt --reward correct --reward brief --advantage advantage
  paretopo audit dump.jsonl --out report

The third example needs a file like this one, with a row for each rollout:

  prompt,correct,brief,advantage
  q1,1,0.2,0.5
  q1,0,0.9,-0.5

The columns of TRL, verl, NeMo-RL, prime-rl and paretopo are found by their names, and so are common
names in other files. docs/audit.md explains the faults, and how to dump advantages in other
trainers.
"""


def add_audit(subcommands: Subcommands) -> None:
    """Add the command that finds the estimator and the faults of a dump of advantages."""
    parser = subcommands.add(
        "audit",
        _run,
        "find the estimator and the faults of a trainer's advantages",
        "Find the estimator that a trainer's advantages follow, and the faults that they show.",
        _EXAMPLES,
    )
    parser.add_argument("files", nargs="+", metavar="DUMP", help="JSONL, JSON, CSV or Parquet")
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="COLUMN",
        help="the column that names a rollout's group (default: detected); to combine columns, "
        "repeat the option",
    )
    parser.add_argument(
        "--group-size",
        type=int,
        metavar="N",
        help="the number of consecutive rows that form a group, if no column names it",
    )
    parser.add_argument(
        "--reward",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column with a reward (default: detected); give one option for each reward",
    )
    parser.add_argument(
        "--advantage", metavar="COLUMN", help="the column of the advantage (default: detected)"
    )
    parser.add_argument(
        "--length", metavar="COLUMN", help="the column of a rollout's length (default: detected)"
    )
    parser.add_argument(
        "--weights",
        metavar="NUMBERS",
        help="weights to try, with commas between them; otherwise equal weights and, for linear "
        "estimators, fitted ones",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "--out", metavar="DIR", help="also write audit.html, audit.md and audit.json to this folder"
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    from paretopo_lab.audit.describe import describe, to_plain
    from paretopo_lab.audit.faults import find_faults
    from paretopo_lab.audit.match import find_match
    from paretopo_lab.audit.read import read_dump

    paths = [Path(name) for name in arguments.files]
    if any(one.suffix.lower() == ".parquet" for one in paths):
        need("pyarrow")
    try:
        weights = arguments.weights and [float(one) for one in arguments.weights.split(",")]
        dump = read_dump(
            paths,
            group=arguments.group,
            rewards=arguments.reward,
            advantage=arguments.advantage,
            length=arguments.length,
            group_size=arguments.group_size,
        )
        announce("comparing estimators")
        match = find_match(dump, weights)
        faults = find_faults(dump, match)
        if arguments.out is not None:
            from paretopo_lab.document.files import write_files

            report, plain = describe(dump, match, faults), to_plain(dump, match, faults)
            path = write_files(report, Path(arguments.out), "audit", "Audit of advantages", plain)
            print(f"paretopo: wrote {path.with_suffix('.html')}", file=sys.stderr)
    except (OSError, ValueError) as error:  # of the files
        refuse(str(error))
    if arguments.json:
        print(json.dumps(to_plain(dump, match, faults), indent=1, ensure_ascii=False))
    else:
        print(describe(dump, match, faults).write(aligned=True), end="")
    return 0
