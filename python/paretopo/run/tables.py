"""Tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKS = re.compile(r"[|`]|<(?=[a-zA-Z/!?])|(?<=\])\(|\\(?=[|`<(\\])")


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
    table = [[escape_markdown(text) for text in row] for row in (header, *rows)]
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


def join_cells(cells: Sequence[str]) -> str:
    """Write a row of a table without alignment."""
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def escape_markdown(text: str) -> str:
    r"""Return a text of a stranger on one line, without effect as table, code, HTML or link.

    >>> print(escape_markdown("<b>a|`b`</b> [x](y), p <.001"))
    \<b>a\|\`b\`\</b> [x]\(y), p <.001
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
