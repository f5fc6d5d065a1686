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
from paretopo_lab.document.report import Picture, Report, Styled

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("chart.js", "marks.js", "front.js", "curves.js", "page.js")


def render_report(report: Report, name: str = "") -> str:
    """Render a report as HTML, with its charts first.

    Args:
        report: With one front and one part of curves at most; curves need a front.
        name: Of the browser's window; "" for the report's title.
    """
    content = {
        "title": report.title,
        "front": next((part for part in report.parts if isinstance(part, Front)), None),
        "curves": next((part for part in report.parts if isinstance(part, Curves)), None),
        "parts": [
            {"text": part.splitlines()} if isinstance(part, str) else part
            for part in report.parts
            if part and not isinstance(part, Front | Curves | Picture)
        ],
    }
    return render_document("report", _SCRIPTS, name or report.title, _name_fields(content))


def _name_fields(value: Any) -> Any:
    """Return a value with objects in place of named tuples, and with the styles of cells."""
    if isinstance(value, Styled):
        return [value, value.style]
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: _name_fields(one) for name, one in value.items()}
    return [_name_fields(one) for one in value] if isinstance(value, list | tuple) else value


def render_document(folder: str, scripts: Sequence[str], title: str, data: Any) -> str:
    """Render a page as HTML.

    Args:
        folder: Of the page's own parts, with its body, ``page.html``, and ``style.css``.
        scripts: Files there, in the order in which they run, after those of every page.
        title: The page's title.
        data: The content, as JSON takes it; NaN becomes null.
    """
    own = _PARTS / folder
    style = _read_parts(_PARTS / "base.css", own / "style.css")
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
