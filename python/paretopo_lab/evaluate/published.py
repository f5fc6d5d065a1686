"""The paper's own numbers, as its tables 1 and 2 print them; `published.json` holds them."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """The results of a method on a data set.

    Attributes:
        em: Exact match in percent.
        calls: Tool calls per question; None for a method without a tool.
    """

    em: float
    calls: float | None


@dataclass(frozen=True)
class Method:
    """A row of a table: a method, and its results on each data set."""

    name: str
    has_tool: bool
    cells: dict[str, Outcome]


@dataclass(frozen=True)
class PaperTable:
    """One of the tables.

    Attributes:
        number: In the paper.
        title: Its subject.
        columns: Maps the name of a data set to its heading.
        blocks: Maps a base model to its rows.
    """

    number: int
    title: str
    columns: dict[str, str]
    blocks: dict[str, tuple[Method, ...]]


@functools.cache
def _read_content() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def source() -> str:
    """Return the source of the numbers."""
    return str(_read_content()["source"])


def question_counts() -> dict[str, int]:
    """Return the number of questions of each data set; NQ's is the published file's, 3,610.

    >>> question_counts()["aime24"]
    30
    """
    counts: dict[str, int] = _read_content()["questions"]
    return counts


@functools.cache
def tables() -> tuple[PaperTable, ...]:
    """Tables 1 and 2.

    >>> tables()[0].blocks["Qwen2.5-Math-7B"][-1].cells["math500"]
    Outcome(em=84.6, calls=1.2)
    """
    return tuple(
        PaperTable(
            one["number"],
            one["title"],
            one["columns"],
            {
                block: tuple(_parse_method(row, one["columns"]) for row in rows)
                for block, rows in one["blocks"].items()
            },
        )
        for one in _read_content()["tables"]
    )


def model_size(name: str) -> str | None:
    """Return the size of a base model in a name, None without one.

    >>> model_size("Qwen2.5-Math-1.5B"), model_size("runs/qwen-7b-seed0"), model_size("tiny")
    ('1.5B', '7B', None)
    """
    sizes = {_block_size(block) for table in tables() for block in table.blocks}
    pieces = "".join(c if c.isalnum() or c == "." else " " for c in name.upper()).split()
    return next((piece for piece in pieces if piece in sizes), None)


def select_blocks(table: PaperTable, sizes: Sequence[str]) -> dict[str, tuple[Method, ...]]:
    """Return the blocks of a table with base models of some sizes.

    >>> list(select_blocks(tables()[1], ["3B"]))
    ['Qwen2.5-3B (Base)']
    """
    return {block: rows for block, rows in table.blocks.items() if _block_size(block) in sizes}


def _block_size(block: str) -> str:
    return next(piece for piece in block.replace("-", " ").split() if piece.endswith("B"))


def _parse_method(row: Sequence[Any], columns: Sequence[str]) -> Method:
    name, has_tool, cells = row
    pairs = zip(columns, cells, strict=True)
    return Method(name, has_tool, {column: Outcome(*cell) for column, cell in pairs})
