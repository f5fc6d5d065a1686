"""The frame of every subcommand: how it is added, and how it ends on wrong input."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace, Sequence[str]], int]


class Subcommand(argparse.ArgumentParser):
    """The parser of a subcommand; its help can end in a list that is made when it is asked for."""

    listing: Callable[[], str] | None = None

    def format_help(self) -> str:
        """Give the help and the list."""
        text = super().format_help()
        return text if self.listing is None else f"{text}\n{self.listing()}"


class Subcommands:
    """The subcommands of a parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(
            title="commands", required=True, metavar="COMMAND", parser_class=Subcommand
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
    ) -> Subcommand:
        """Add one and return its parser, for the arguments.

        `run` gets the parsed arguments, and the words behind ``--`` if it hands them on.
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


class Refusal(Exception):
    """Wrong input, reported in one line."""


def refuse(reason: str) -> NoReturn:
    """End the command."""
    raise Refusal(reason) from None


def need(*packages: str, extra: str = "train") -> None:
    """End the command if a package is missing, and name the extra that brings it."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        refuse(f"{', '.join(missing)} not installed; run: pip install 'paretopo[{extra}]'")
