"""A page in one file: no server, no network, nothing to install.

The content is not trusted: models wrote parts of it. It is embedded as JSON without any `<`, the
scripts show it only as text, and the page's content policy allows only these scripts, by their
digests.

``parts`` holds the parts of every page; each kind of page has a folder there for its own.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from paretopo.records.files import to_json
from paretopo_lab.document.charts import Curves, Front
from paretopo_lab.document.report import Heading, Items, Part, Picture, Report, Styled, Table

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("chart.js", "marks.js", "front.js", "curves.js", "page.js")


def render_report(report: Report, name: str = "") -> str:
    """Render a report as HTML, with its charts first.

    Args:
        report: With one front and one part of curves at most; curves need a front.
        name: Of the browser's window; "" for the report's title.
    """
    fronts = [part for part in report.parts if isinstance(part, Front)]
    curves = [part for part in report.parts if isinstance(part, Curves)]
    front, curve = fronts[0] if fronts else None, curves[0] if curves else None
    content = {
        "title": report.title,
        "front": front and _plain_front(front),
        "curves": curve and _plain_curves(curve),
        "parts": [
            _plain_part(part)
            for part in report.parts
            if part and not isinstance(part, Front | Curves | Picture)
        ],
    }
    return render_document("report", _SCRIPTS, name or report.title, content)


def _plain_front(front: Front) -> dict[str, Any]:
    groups = [
        group._asdict() | {"points": [point._asdict() for point in group.points]}
        for group in front.groups
    ]
    selected = dict(zip(("group", "at"), front.selected, strict=True))
    axes = [[axis._asdict() for axis in space.axes] for space in front.spaces]
    spaces = [{"name": one.name, "axes": own} for one, own in zip(front.spaces, axes, strict=True)]
    return front._asdict() | {"groups": groups, "spaces": spaces, "selected": selected}


def _plain_curves(curves: Curves) -> dict[str, Any]:
    drawn = [
        curve._asdict() | {"lines": [line and line._asdict() for line in curve.lines]}
        for curve in curves.curves
    ]
    return curves._asdict() | {"runs": [run._asdict() for run in curves.runs], "curves": drawn}


def _plain_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Heading):
        return {"heading": part.text, "level": part.level}
    if isinstance(part, Items):
        return {"items": part.items}
    if not isinstance(part, Table):
        return {"text": str(part).splitlines()}
    rows = [[[cell, cell.style] if isinstance(cell, Styled) else cell for cell in row]
            for row in part.rows]  # fmt: skip
    return part._asdict() | {"rows": rows}


def render_document(
    folder: str,
    scripts: Sequence[str],
    title: str,
    data: Any,
    styles: Sequence[str] = ("style.css",),
) -> str:
    """Render a page as HTML.

    Args:
        folder: Of the page's own parts, with ``page.html``, its body.
        scripts: Files there, in the order in which they run, after those of every page.
        title: The page's title.
        data: The content, as JSON takes it; NaN becomes null.
        styles: Style sheets there, after the one of every page.
    """
    own = _PARTS / folder
    style = _read_parts(_PARTS / "base.css", *(own / name for name in styles))
    script = _read_parts(_PARTS / "elements.js", *(own / name for name in scripts))
    parts = {
        "policy": _content_policy(style, script),
        "title": html.escape(title),
        "style": style,
        "data": _escape_markup(json.dumps(to_json(data), separators=(",", ":"))),
        "script": script,
    }
    template = _read_parts(_PARTS / "document.html")
    template = template.replace("{{body}}", _read_parts(own / "page.html"))
    # One pass: inserted text is not searched for further marks.
    return re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]], template)


def _read_parts(*paths: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def _content_policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape_markup(text: str) -> str:
    r"""Escape JSON so that no part of it is markup in an HTML page.

    >>> _escape_markup('"</script>"')
    '"\\u003c/script\\u003e"'
    """
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
