"""``python -m research``: ``paretopo study``, with tabular tasks and the claims of the paper."""

from __future__ import annotations

import argparse
import sys

from paretopo.subcommands import Refusal
from paretopo_lab.cli.study import add_arguments, study
from research import questions
from research.claims import format_claims
from research.grid import TABLES

_HELP = """\
examples, from the root of a checkout:
  python -m research research/hypervolume.toml           train the missing cells, write a report
  python -m research research/hypervolume.toml --quick   fewer seeds, minutes
  python -m research research/models.toml --workers 2    small language models, hours

The file names methods, seeds and tasks as for paretopo study. A task without a configuration is a
table of research/tasks.py, on which a training takes a second.
"""


def main() -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m research",
        description="Compare methods on tables and on small language models.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    questions.write_missing()
    try:
        return study(parser.parse_args(), TABLES, format_claims)
    except Refusal as refusal:
        print(f"paretopo: {refusal}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
