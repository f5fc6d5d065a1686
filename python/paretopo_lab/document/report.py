"""Reports: texts, tables and pictures, and how they are written as Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from paretopo_lab.document.charts import Curves, Front

_MARKS = re.compile(r"[|`]|<(?=[a-zA-Z/!?])|(?<=\])\(|\\(?=[|`<(\\])")


class Marked(str):
    """A cell or a paragraph of Markdown, which is not escaped."""

    __slots__ = ()


class Judged(str):
    """A cell with a verdict, "better" or "worse", which pages colour."""

    verdict: str

    def __new__(cls, text: str, verdict: str) -> Judged:
        """Return the text with its verdict."""
        made = super().__new__(cls, text)
        made.verdict = verdict
        return made


class Heading(NamedTuple):
    """A heading of a section."""

    text: str
    level: int = 2


class Table(NamedTuple):
    """A table.

    Attributes:
        header: Headings of the columns.
        rows: As many cells each.
        words: Number of leading columns of words; the others hold numbers.
        title: Its heading; "" for none.
        note: A sentence below it; "" for none.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    title: str = ""
    note: str = ""


class Items(NamedTuple):
    """A list; each item has a name and a text that follows it."""

    items: Sequence[tuple[str, str]]


# A text has sentences on its lines.
Part = str | Heading | Items | Table | Front | Curves


class Report(NamedTuple):
    """A report, which is written as Markdown for a file or a terminal, as a page and as pictures.

    Attributes:
        title: Its heading.
        parts: In their order; a page has the charts first. Only a page has curves.
        page: The file of the same report as a page, which the Markdown names; "" for none.
    """

    title: str
    parts: Sequence[Part]
    page: str = ""

    def write(self, *, aligned: bool = False, width: int | None = None) -> str:
        """Return the report as Markdown.

        Args:
            aligned: Whether the columns of tables are aligned in the source, for a terminal.
            width: The most characters of a row of an aligned table. Columns that do not fit go into
                further tables, each with the first column again. None for one table.
        """
        blocks = [f"# {self.title}"]
        blocks += [f"[The same as a page]({self.page})"] * bool(self.page)
        for part in self.parts:
            if isinstance(part, Heading):
                blocks.append(f"{'#' * part.level} {escape_markdown(part.text)}")
            elif isinstance(part, Front):
                blocks.append(f"![{part.caption}]({part.file})")
            elif isinstance(part, Table):
                blocks += [f"## {escape_markdown(part.title)}"] * bool(part.title)
                blocks.append("\n".join(write_table(part, aligned=aligned, width=width)))
                blocks += [escape_markdown(part.note)] * bool(part.note)
            elif isinstance(part, Items):
                lines = (f"**{name}**{text}" for name, text in part.items)
                blocks.append("\n".join(f"- {escape_markdown(line)}" for line in lines))
            elif isinstance(part, Marked):
                blocks.append(part)
            elif part and not isinstance(part, Curves):
                blocks.append("\n".join(map(escape_markdown, part.splitlines())))
        return "\n\n".join(blocks) + "\n"


def write_table(table: Table, *, aligned: bool = False, width: int | None = None) -> list[str]:
    """Return the lines of a table in Markdown; `Report.write` explains the arguments.

    >>> print("\\n".join(write_table(Table(["model", "EM"], [["a|b", "9.5"]]), aligned=True)))
    | model |  EM |
    |-------|----:|
    | a\\|b  | 9.5 |
    """
    cells = [[_write_cell(text) for text in row] for row in (table.header, *table.rows)]
    words, count = table.words, len(table.header)
    if not aligned:
        lines = [f"| {' | '.join(row)} |" for row in cells]
        rule = "".join("---|" if at < words else "---:|" for at in range(count))
        return [lines[0], f"|{rule}", *lines[1:]]
    widths = [max(3, *(len(row[at]) for row in cells)) for at in range(count)]
    parts = [[0]]
    for at in range(1, count):
        together = 1 + sum(widths[place] + 3 for place in (*parts[-1], at))
        if width is not None and together > width and len(parts[-1]) > 1:
            parts.append([0])
        parts[-1].append(at)
    lines = []
    for part in parts:
        lines += [""] * bool(lines)
        for number, row in enumerate(cells):
            padded = (
                row[at].ljust(widths[at]) if at < words else row[at].rjust(widths[at])
                for at in part
            )
            lines.append(f"| {' | '.join(padded)} |")
            if not number:
                rules = ("-" * (widths[at] + 1) + ("-" if at < words else ":") for at in part)
                lines.append(f"|{'|'.join(rules)}|")
    return lines


def _write_cell(text: str) -> str:
    return text if isinstance(text, Marked) else escape_markdown(text)


def join_some(names: Sequence[str], most: int = 5) -> str:
    """Join the first names of a list, and say how many more there are.

    >>> join_some(["a", "b", "c"], 2), join_some(["a, 1", "a, 2"])
    ('a, b and 1 more', 'a, 1; a, 2')
    """
    shown = ("; " if any("," in name for name in names) else ", ").join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def format_interval(ends: Sequence[float], form: str) -> str:
    """Format the ends of an interval, in brackets; "" if one is not finite.

    >>> format_interval((-1.234, 0.5), "+.1f"), format_interval((-math.inf, 0.5), ".1f")
    ('[-1.2, +0.5]', '')
    """
    if not all(map(math.isfinite, ends)):
        return ""
    return f"[{', '.join(format(end, form) for end in ends)}]"


def escape_markdown(text: str) -> str:
    r"""Return a text of a stranger on one line, without effect as table, code, HTML or link.

    >>> print(escape_markdown("<b>a|`b`</b> [x](y), p <.001"))
    \<b>a\|\`b\`\</b> [x]\(y), p <.001
    """
    return _MARKS.sub(r"\\\g<0>", " ".join(text.split()))
