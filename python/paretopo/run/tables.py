"""Tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

_MARKS = re.compile(r"[|`]|<(?=[a-zA-Z/!?])|(?<=\])\(|\\(?=[|`<(\\])")


def markdown_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    words: int = 1,
    *,
    width: int | None = None,
) -> list[str]:
    """Format a table with a readable source: words are aligned to the left, numbers to the right.

    Args:
        header: Of each column.
        rows: As many cells each.
        words: Columns of words; the rest are numbers.
        width: The most characters of a line. Columns that do not fit go into further tables, each
            with the first column again. None for one table.

    >>> print("\\n".join(markdown_table(["model", "EM"], [["a|b", "9.5"]])))
    | model |  EM |
    |-------|----:|
    | a\\|b  | 9.5 |
    """
    table = [[escape_markdown(text) for text in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[at]) for row in table)) for at in range(len(header))]
    parts = [[0]]
    for at in range(1, len(header)):
        together = 1 + sum(widths[place] + 3 for place in (*parts[-1], at))
        if width is not None and together > width and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(at)
    lines: list[str] = []
    for part in parts:
        lines += [""] * bool(lines)
        for number, row in enumerate(table):
            cells = [
                row[at].ljust(widths[at]) if at < words else row[at].rjust(widths[at])
                for at in part
            ]
            lines.append(f"| {' | '.join(cells)} |")
            if not number:
                rules = ("-" * (widths[at] + 1) + ("-" if at < words else ":") for at in part)
                lines.append(f"|{'|'.join(rules)}|")
    return lines


def join_cells(cells: Sequence[str]) -> str:
    """Write a row of a table without alignment."""
    return f"| {' | '.join(map(escape_markdown, cells))} |"


def join_some(names: Sequence[str], most: int = 5) -> str:
    """Join the first names of a list, and say how many more there are.

    >>> join_some(["a", "b", "c"], 2), join_some(["a, 1", "a, 2"])
    ('a, b and 1 more', 'a, 1; a, 2')
    """
    shown = ("; " if any("," in name for name in names) else ", ").join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def escape_markdown(text: str) -> str:
    r"""Return a text of a stranger on one line, without effect as table, code, HTML or link.

    >>> print(escape_markdown("<b>a|`b`</b> [x](y), p <.001"))
    \<b>a\|\`b\`\</b> [x]\(y), p <.001
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
