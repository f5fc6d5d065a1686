"""``paretopo data``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from paretopo.cli.subcommands import Subcommands, announce, need, refuse

_SHOWN = 20  # false negatives
_EXAMPLES = """\
examples:
  paretopo data check data/math500/test.jsonl
  paretopo data check mine.jsonl --isolation process     without bubblewrap

A policy learns from its grades, so a right answer with grade 0 teaches the opposite. The command
writes each right answer of FILE in other forms (in Unicode, as a decimal, with other blanks, plus
zero, ...) and grades each form. The rate of false negatives is the share that is graded wrong. It
also names the right answers that the grader cannot read: only a copy of their text is right. Write
such an answer as a number or a formula, or drop its row.

FILE is a file that paretopo prepare wrote, or one like it. docs/grading.md has the rules.
"""


def add_data(subcommands: Subcommands) -> None:
    """Add the command that checks the right answers of a file."""
    parser = subcommands.add(
        "data",
        _run,
        "check how the right answers of a data set are graded",
        "Grade the right answers of a file against rewritten forms of themselves.",
        _EXAMPLES,
    )
    parser.add_argument("action", metavar="check", choices=["check"], help="the only action so far")
    parser.add_argument("file", metavar="FILE", type=Path, help="a JSONL file of questions")
    parser.add_argument(
        "--isolation",
        choices=("bubblewrap", "process"),
        default="bubblewrap",
        help="how to run math-verify (default: %(default)s); process does not isolate it",
    )


def _run(arguments: argparse.Namespace, _: Sequence[str]) -> int:
    need("math_verify", "tqdm")
    from paretopo.records.schema import DataError, read_rows
    from paretopo.tools.python_interpreter import SandboxError
    from paretopo_lab.document.report import Table, write_table
    from paretopo_lab.evaluate.checking import check_answers, find_unreadable
    from paretopo_lab.evaluate.grading import Grader

    try:
        rows = list(read_rows(arguments.file))
        announce(f"grading the answers of {len(rows)} rows")
        unreadable = find_unreadable(rows, arguments.isolation)
        with Grader(rows, isolation=arguments.isolation) as grader:
            forms = check_answers(rows, grader)
    except (DataError, OSError, SandboxError) as error:
        refuse(str(error))
    cells = [
        [name, f"{one.tried}", f"{len(one.wrong)}", f"{one.undecided}"]
        for name, one in forms.items()
    ]
    print(
        "\n".join(write_table(Table(["form", "graded", "wrong", "undecided"], cells), aligned=True))
    )
    tried = sum(one.tried for one in forms.values())
    wrong = [pair for one in forms.values() for pair in one.wrong]
    print(f"\nfalse negatives: {len(wrong)} of {tried} ({100 * len(wrong) / max(tried, 1):.2f} %)")
    for row, form in wrong[:_SHOWN]:
        print(f"  {row.id}: {form!a}, where the answer is {row.answer!a}")
    print("\n".join(unreadable))
    return 0
