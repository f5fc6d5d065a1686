"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1
) -> list[str]:
    """Format a table with a readable source: words are aligned to the left, numbers to the right.

    Args:
        header: Of each column.
        rows: As many cells each.
        words: Columns of words; the rest are numbers.

    >>> print("\\n".join(markdown_table(["model", "EM"], [["a|b", "9.5"]])))
    | model |  EM |
    |-------|----:|
    | a\\|b  | 9.5 |
    """
    table = [[_escape_cell(text) for text in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[at]) for row in table)) for at in range(len(header))]
    lines = [
        "| "
        + " | ".join(
            text.ljust(width) if at < words else text.rjust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in table
    ]
    rule = "".join(
        "|" + "-" * (width + 2 if at < words else width + 1) + ("" if at < words else ":")
        for at, width in enumerate(widths)
    )
    return [lines[0], rule + "|", *lines[1:]]


def _escape_cell(text: str) -> str:
    """Text that cannot break out of its cell."""
    return " ".join(text.split()).replace("|", "\\|")
