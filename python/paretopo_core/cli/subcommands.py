"""How a subcommand comes into the command line, the same for all."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace, Sequence[str]], int]


class Add(Protocol):
    """Adds a subcommand and returns its parser, for the arguments."""

    def __call__(
        self,
        name: str,
        run: Run,
        purpose: str,
        description: str,
        examples: str | None = None,
        *,
        hands_on: bool = False,
    ) -> argparse.ArgumentParser:
        """`run` gets the parsed arguments, and the words behind ``--`` if it hands them on."""
