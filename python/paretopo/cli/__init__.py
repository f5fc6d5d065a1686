# PYTHON_ARGCOMPLETE_OK
"""The command line: ``paretopo COMMAND``, a file each.

Every subcommand imports what it needs when it runs, so that ``paretopo --help`` is quick and
``paretopo info`` works where only NumPy is installed.
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

from paretopo.cli.evaluate import add_evaluate
from paretopo.cli.info import add_info
from paretopo.cli.prepare import add_prepare
from paretopo.cli.report import add_report
from paretopo.cli.serve_search import add_serve_search
from paretopo.cli.show import add_show
from paretopo.cli.study import add_study
from paretopo.cli.subcommands import Parser, Refusal, Run, Subcommands, refuse
from paretopo.cli.train import add_train

_WRONG_INPUT = 2
_INTERRUPTED = 130  # 128 + SIGINT, what shells expect

_EXAMPLES = """\
examples:
  paretopo info                                   what is installed, and on what machine
  paretopo prepare math500                        make a data set ready
  paretopo train examples/calculator.toml         train; a run folder appears under runs/
  paretopo train --resume runs/RUN                go on after Ctrl-C, a crash or a kill
  paretopo evaluate runs/RUN                      put questions to the trained model
  paretopo report runs/RUN                        write table and plots again
  paretopo study mine.toml                        compare methods, seeds and tasks
  paretopo show runs/RUN                          read what the policy wrote, in a browser too
  paretopo serve-search corpus.jsonl              answer searches in a corpus, for training

Tab completes commands, options, methods and keys in bash, zsh and fish: docs/commands.md.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    Args:
        arguments: the words after ``paretopo``; those of the process by default. ``train`` hands
            on the words that follow ``--``.
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
        # Bars of tqdm, in this process and those that it starts, would fill a log.
        os.environ.setdefault("TQDM_DISABLE", "1")
    parsed = parser.parse_args(own)
    run: Run = parsed.run
    try:
        if options and not parsed.hands_on:
            refuse(f"only train hands options on, got -- {' '.join(options)}")
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
    """Whether the reader of the output has left, as `head` does; the rest then goes nowhere."""
    output = sys.stdout.fileno()
    poll = select.poll()
    poll.register(output, 0)  # errors are told unasked
    if not poll.poll(0):
        return False
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), output)
    return True


def _complete(parser: Parser) -> None:
    """Answer a shell that asks for completions, and exit."""
    if "_ARGCOMPLETE" in os.environ and importlib.util.find_spec("argcomplete"):
        import argcomplete

        argcomplete.autocomplete(parser)


class _Version(argparse.Action):
    """Print the version when asked for, so that other commands do not load the core."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from paretopo_core import __version__

        print(f"paretopo {__version__}")
        parser.exit()


def make_parser() -> Parser:
    """Make the parser of the whole command line."""
    parser = Parser(
        prog="paretopo",
        description="Multi-objective training of tool-using language models.",
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
        add_show,
        add_study,
        add_serve_search,
    ):
        add_to(subcommands)
    return parser
