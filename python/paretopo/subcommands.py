"""The common frame of subcommands: their parsers, and their exit on wrong input."""

from __future__ import annotations

import argparse
import difflib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace, Sequence[str]], int]


class Parser(argparse.ArgumentParser):
    """A parser whose errors suggest the nearest name and show the usage of the subcommand.

    Its help can end in a list that is created on demand.
    """

    listing: Callable[[], str] | None = None

    def format_help(self) -> str:
        """Return the help and the list."""
        text = super().format_help()
        return text if self.listing is None else f"{text}\n{self.listing()}"

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse, and refuse the rest here: the parser above would show its own usage."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            name = rest[0].partition("=")[0].lstrip("-")
            known = [one.lstrip("-") for one in self._option_string_actions]
            meant = _suggest(name, known, "--") if rest[0].startswith("--") else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{meant}")
        return parsed, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is not a choice of the action."""
        if action.choices is not None and value not in action.choices:
            known = ", ".join(map(str, action.choices))
            message = f"must be one of {known}, got {value!r}{_suggest(str(value), action.choices)}"
            raise argparse.ArgumentError(action, message)


def _suggest(name: str, known: Iterable[Any], before: str = "") -> str:
    close = difflib.get_close_matches(name, list(map(str, known)), n=1)
    return f"; did you mean {before}{close[0]}?" if close else ""


def complete_with(action: argparse.Action, words: Callable[[str], Iterable[str]]) -> None:
    """Complete an option's value, in shells, with ``words(text before the cursor)``."""
    action.completer = lambda prefix, **_: words(prefix)  # type: ignore[attr-defined]


class Subcommands:
    """The subcommands of a parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(
            title="commands", required=True, metavar="COMMAND", parser_class=Parser
        )

    def add(
        self,
        name: str,
        run: Run,
        purpose: str,
        description: str,
        examples: str | None = None,
        *,
        hands_on: bool = False,
    ) -> Parser:
        """Add a subcommand and return its parser, which takes the arguments.

        `run` gets the parsed arguments, and the words after ``--`` if it passes them on.
        """
        command = self._commands.add_parser(
            name,
            help=purpose,
            description=description,
            epilog=examples,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run, hands_on=hands_on)
        return command


def add_trust(parser: Any) -> None:
    """Add the option without which no code that a run folder names is executed."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="execute the reward functions, tools and options that a run folder names; without it "
        "such a run is refused, because a folder from elsewhere could name any code",
    )


class Refusal(Exception):
    """Wrong input, reported in one line."""


def refuse(reason: str) -> NoReturn:
    """End the command with an error."""
    raise Refusal(reason) from None


def need(*packages: str, extra: str = "train") -> None:
    """End the command if a package is missing, and name the extra that installs it."""
    missing = describe_missing(packages, f'pip install ".[{extra}]"')
    if missing:
        refuse(missing)


def describe_missing(packages: Iterable[str], install: str) -> str:
    """Return which packages are missing, and the command that installs them; empty if none is."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    return f"{', '.join(missing)} not installed; run in a clone: {install}" if missing else ""


def announce(action: str) -> None:
    """Print a line on a terminal before an action that takes seconds."""
    if sys.stderr.isatty():
        print(f"paretopo: {action} ...", file=sys.stderr, flush=True)
