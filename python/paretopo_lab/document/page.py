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

import numpy as np
from numpy.typing import NDArray

from paretopo.records.files import to_json
from paretopo.records.measures import Series
from paretopo_lab.document.charts import Curves, Front, Group
from paretopo_lab.document.report import Heading, Items, Part, Picture, Report, Styled, Table

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("chart.js", "marks.js", "front.js", "curves.js", "page.js")
_MOST_EVALUATIONS = 400  # points of a course: more are indistinguishable and slow
_MOST_POINTS = 1000  # of a curve


def render_report(report: Report, name: str = "") -> str:
    """Render a report as HTML, with its charts first.

    Long courses are thinned. Some hundreds of points remain: the first, the last and, unless they
    are too many, those on the front. A curve shows means of neighbouring steps.

    Args:
        report: With one front and one part of curves at most; curves need a front.
        name: Of the browser's window; "" for the report's title.
    """
    fronts = [part for part in report.parts if isinstance(part, Front)]
    curves = [part for part in report.parts if isinstance(part, Curves)]
    kept = [_thin_group(group, course=one.course) for one in fronts for group in one.groups]
    front, curve = fronts[0] if fronts else None, curves[0] if curves else None
    content = {
        "title": report.title,
        "front": front and _plain_front(front, kept),
        "curves": curve and _plain_curves(curve, kept),
        "parts": [
            _plain_part(part)
            for part in report.parts
            if part and not isinstance(part, Front | Curves | Picture)
        ],
    }
    return render_document("report", _SCRIPTS, name or report.title, content)


def thin_evaluations(front: NDArray[np.bool_], most: int = _MOST_EVALUATIONS) -> NDArray[np.int_]:
    """Choose the evaluations to show: evenly spread ones, and the front unless it is too large.

    >>> thin_evaluations(np.arange(9) == 3, most=5).tolist()
    [0, 2, 3, 4, 6, 8]
    >>> thin_evaluations(np.ones(9, bool), most=5).tolist(), thin_evaluations(np.ones(2, bool))
    ([0, 2, 4, 6, 8], array([0, 1]))
    """
    spread = np.linspace(0, len(front) - 1, min(len(front), most)).round().astype(int)
    best = np.flatnonzero(front)
    return np.union1d(spread, best if len(best) <= most else best[:0])


def thin_curve(columns: Series, most: int = _MOST_POINTS) -> Series:
    """Return at most `most` means of neighbouring points, with shape (points, columns); ignore NaN.

    >>> thin_curve(np.array([[1.0, np.nan], [3.0, np.nan], [5.0, 2.0], [7.0, np.nan]]), most=2)
    array([[ 2., nan],
           [ 6.,  2.]])
    """
    if len(columns) <= most:
        return columns
    together = -(-len(columns) // most)
    starts = np.arange(0, len(columns), together)
    known = np.isfinite(columns)
    count = np.add.reduceat(known, starts, dtype=float)
    total = np.add.reduceat(np.where(known, columns, 0.0), starts)
    means: Series = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means


def _thin_group(group: Group, *, course: bool) -> NDArray[np.int_]:
    best = np.array([any(point.best) for point in group.points])
    return thin_evaluations(best) if course else np.arange(len(best))


def _plain_front(front: Front, kept: Sequence[NDArray[np.int_]]) -> dict[str, Any]:
    groups = []
    for group, own in zip(front.groups, kept, strict=True):
        few, every = len(own), len(group.points)
        note = f" ({few} of {every} evaluations)" if few < every else group.note
        points = [group.points[at]._asdict() for at in own]
        groups.append(group._asdict() | {"note": note, "points": points})
    chosen, place = front.selected
    selected = {"group": chosen, "at": int(np.abs(kept[chosen] - place).argmin())}
    axes = [[axis._asdict() for axis in space.axes] for space in front.spaces]
    spaces = [{"name": one.name, "axes": own} for one, own in zip(front.spaces, axes, strict=True)]
    return front._asdict() | {"groups": groups, "spaces": spaces, "selected": selected}


def _plain_curves(curves: Curves, kept: Sequence[NDArray[np.int_]]) -> dict[str, Any]:
    runs = [
        run._asdict() | {"steps": thin_curve(run.steps), "evaluated": run.evaluated[own]}
        for run, own in zip(curves.runs, kept, strict=True)
    ]
    drawn = []
    for curve in curves.curves:
        lines = [
            line
            and {
                "trained": None if line.trained is None else thin_curve(line.trained),
                "evaluated": None if line.evaluated is None else line.evaluated[own],
                "bound": line.bound,
            }
            for line, own in zip(curve.lines, kept, strict=True)
        ]
        drawn.append(curve._asdict() | {"lines": lines})
    return curves._asdict() | {"runs": runs, "curves": drawn}


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
