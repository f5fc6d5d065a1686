"""The command line: ``paretopo COMMAND``, a file each.

Every subcommand imports what it needs when it runs, so that ``paretopo --help`` is quick and
``paretopo info`` works where only NumPy is installed.
"""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path

from paretopo.cli.evaluate import add_evaluate
from paretopo.cli.info import add_info
from paretopo.cli.prepare import add_prepare
from paretopo.cli.report import add_report
from paretopo.cli.serve_search import add_serve_search
from paretopo.cli.show import add_show
from paretopo.cli.study import add_study
from paretopo.cli.subcommands import Refusal, Run, Subcommands, refuse
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
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for wrong input, 130 after Ctrl-C.

    Args:
        arguments: the words after ``paretopo``; those of the process by default. What stands
            behind ``--`` is handed on by ``train``.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index("--")] if "--" in words else words
    options = words[len(own) + 1 :]
    parsed = make_parser().parse_args(own)
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


def make_parser() -> argparse.ArgumentParser:
    """Make the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="paretopo",
        description="Multi-objective training of tool-using language models.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
