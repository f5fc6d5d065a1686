"""A page in one file: no server, no network, nothing to install.

The content is not trusted: models wrote parts of it. A page's policy allows only its own style, and
its own script if it has one, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path

from paretopo_lab.document.charts import Curves, Front
from paretopo_lab.document.pictures import render_curves, render_front, render_mark
from paretopo_lab.document.report import Heading, Items, Judged, Part, Report, Table

_FOLDER = Path(__file__).parent
_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}</body>
</html>
"""


def render_report(report: Report, name: str = "") -> str:
    """Render a report as HTML, with its charts first.

    Args:
        report: The report.
        name: Of the browser's window; "" for the report's title.
    """
    parts = sorted(report.parts, key=lambda part: not isinstance(part, Front | Curves))
    body = "\n".join(map(render_part, parts))
    header = f"<header><h1>{escape(report.title)}</h1></header>"
    return render_page(
        name or report.title, _FOLDER / "report.css", f"{header}\n<main>\n{body}\n</main>\n"
    )


def render_page(title: str, style: Path, body: str, script: str = "") -> str:
    """Render a page as HTML.

    Args:
        title: Of the browser's window.
        style: The file of its style, which follows that of every page.
        body: Its content as HTML.
        script: Runs at its end; "" for none.
    """
    styles = "\n".join(one.read_text(encoding="utf-8") for one in (_FOLDER / "base.css", style))
    policy = (
        f"default-src 'none'; style-src {_digest(styles)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    body += f"<script>{script}</script>\n" * bool(script)
    return _PAGE.format(policy=policy, title=escape(title), style=styles, body=body)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def render_part(part: Part) -> str:
    """Render a part of a report as HTML."""
    if isinstance(part, Front):
        figures = "".join(f"<figure>{one}</figure>" for one in render_front(part))
        return _render_chart(part, [one.name for one in part.groups], figures)
    if isinstance(part, Curves):
        figures = "".join(
            f"<figure><figcaption>{escape(one.title)}</figcaption>{drawn}</figure>"
            for one, drawn in zip(part.curves, render_curves(part), strict=True)
        )
        return _render_chart(part, [one.name for one in part.runs], figures)
    if isinstance(part, Heading):
        return f"<h{part.level}>{escape(part.text)}</h{part.level}>"
    if isinstance(part, Table):
        title = f"<h2>{escape(part.title)}</h2>\n" * bool(part.title)
        label = escape(part.title or ", ".join(part.header))
        # A table at its natural width, inside an element that scrolls separately.
        return (
            f'{title}<div class="scrolled" tabindex="0" role="region" aria-label="{label}">'
            f"{_write_table(part)}</div>{_render_lines(part.note)}"
        )
    if isinstance(part, Items):
        items = (f"<p><b>{escape(name)}</b>{escape(text)}</p>" for name, text in part.items)
        return "".join(items)
    return _render_lines(part)


def _render_chart(part: Front | Curves, names: Sequence[str], figures: str) -> str:
    marks = (f"<li>{render_mark(at)} {escape(name)}</li>" for at, name in enumerate(names))
    legend = f"<ul>{''.join(marks)}</ul>" if len(names) > 1 else ""
    return (
        f"<section>\n<h2>{escape(part.title)}</h2>\n{_render_lines(part.key)}{legend}"
        f'<div class="figures">{figures}</div>\n</section>'
    )


def _render_lines(text: str) -> str:
    return "".join(f'<p class="key">{escape(line)}</p>' for line in text.splitlines())


def _write_table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_class(table, at)}>{escape(text)}</th>'
        for at, text in enumerate(table.header)
    )
    rows = (
        "<tr>" + "".join(_write_cell(table, at, text) for at, text in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _write_cell(table: Table, at: int, text: str) -> str:
    verdict = text.verdict if isinstance(text, Judged) else ""
    tag = "td" if at else 'th scope="row"'
    judged = f' <span class="verdict">{verdict}</span>' * bool(verdict)
    return f"<{tag}{_class(table, at, verdict)}>{escape(text)}{judged}</{tag[:2]}>"


def _class(table: Table, at: int, verdict: str = "") -> str:
    classes = " ".join(filter(None, ["number" if at >= table.words else "", verdict]))
    return f' class="{classes}"' * bool(classes)
