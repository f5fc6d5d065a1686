# PYTHON_ARGCOMPLETE_OK
"""The command line: ``paretopo COMMAND``, one file for each command, here or in paretopo_lab.cli.

Every subcommand imports its packages when it runs, so ``paretopo --help`` is quick and ``paretopo
info`` needs only NumPy.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from paretopo.cli.info import add_info
from paretopo.cli.serve_search import add_serve_search
from paretopo.cli.train import add_train
from paretopo.subcommands import Parser, Refusal, Run, Subcommands, refuse
from paretopo_lab.cli.audit import add_audit
from paretopo_lab.cli.compare import add_compare
from paretopo_lab.cli.evaluate import add_evaluate
from paretopo_lab.cli.prepare import add_prepare
from paretopo_lab.cli.report import add_report
from paretopo_lab.cli.show import add_show
from paretopo_lab.cli.study import add_study

_WRONG_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells expect

_EXAMPLES = """\
examples:
  paretopo info                                   show versions, build and devices
  paretopo prepare math500                        download and convert a data set
  paretopo train examples/calculator.toml         train a model; creates a folder under runs/
  paretopo train --resume runs/RUN                resume after Ctrl-C, a crash or a kill
  paretopo evaluate runs/RUN                      test the trained model on held-out questions
  paretopo report runs/RUN                        write the tables and plots of a run
  paretopo compare answers.csv                    compare models from the logs of their evaluations
  paretopo audit completions.parquet              find faults in a trainer's advantages
  paretopo show runs/RUN                          read the model's answers, also in a browser
  paretopo study mine.toml                        compare methods, seeds and tasks
  paretopo serve-search corpus.jsonl              start a search server for training

Run "paretopo COMMAND --help" for the options of a command. docs/commands.md explains how to turn on
tab completion in bash, zsh and fish.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    Args:
        arguments: The words after ``paretopo``; by default those of the process. ``train`` passes
            the words after ``--`` on.
    """
    parser = make_parser()
    _complete(parser)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        parser.print_help(sys.stderr)
        return _WRONG_INPUT
    if words[0] == "help":
        words = [*words[1:], "--help"]
    own = words[: words.index("--")] if "--" in words else words
    options = words[len(own) + 1 :]
    if not sys.stderr.isatty():
        # Bars of tqdm, in this process and its children, would fill a log.
        os.environ.setdefault("TQDM_DISABLE", "1")
    parsed = parser.parse_args(own)
    run: Run = parsed.run
    try:
        if options and not parsed.hands_on:
            refuse(f"only train takes options after --, got -- {' '.join(options)}")
        code = run(parsed, options)
        sys.stdout.flush()
    except Refusal as refusal:
        print(f"paretopo: {refusal}", file=sys.stderr)
        return _WRONG_INPUT
    except KeyboardInterrupt:
        print("paretopo: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        if not _is_output_closed():
            raise
        return 0
    return code


def _is_output_closed() -> bool:
    """Return whether the reader of the output has left, as `head` does."""
    output = sys.stdout.fileno()
    poll = select.poll()
    poll.register(output, 0)  # errors are always reported
    if not poll.poll(0):
        return False
    with Path(os.devnull).open("w") as null:
        os.dup2(null.fileno(), output)
    return True


def _complete(parser: Parser) -> None:
    """Reply to a shell's request for completions, and exit."""
    if "_ARGCOMPLETE" in os.environ and importlib.util.find_spec("argcomplete"):
        import argcomplete

        argcomplete.autocomplete(parser)


class _Version(argparse.Action):
    """Prints the version on demand, so that other commands do not load the core."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from paretopo_core import __version__

        print(f"paretopo {__version__}")
        parser.exit()


def make_parser() -> Parser:
    """Make the parser of the whole command line."""
    parser = Parser(
        prog="paretopo",
        description="Train and evaluate language models on several objectives at once.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "-V", "--version", action=_Version, nargs=0, help="print the version and exit"
    )
    subcommands = Subcommands(parser)
    for add_to in (
        add_info,
        add_prepare,
        add_train,
        add_evaluate,
        add_report,
        add_compare,
        add_audit,
        add_show,
        add_study,
        add_serve_search,
    ):
        add_to(subcommands)
    return parser
