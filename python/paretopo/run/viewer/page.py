"""Groups of rollouts as one page: no server, no network, nothing to install.

Model text is not trusted. It travels as JSON that holds no `<`, the scripts put it on the page as
text only, and the page's own policy lets no script run but those written here: their digests are
in it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path

from paretopo.run.trajectories import Group
from paretopo.run.viewer.selection import Selection

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("elements.js", "plot.js", "panel.js", "app.js")


def render_page(name: str, groups: Sequence[Group], selection: Selection) -> str:
    """The page, as HTML.

    Args:
        name: What the run is called.
        groups: Oldest first.
        selection: How the page shows them when it opens.
    """
    style = (_PARTS / "style.css").read_text(encoding="utf-8")
    script = "\n".join((_PARTS / part).read_text(encoding="utf-8") for part in _SCRIPTS)
    shown = {
        "name": name,
        "sort": selection.sort,
        "only": selection.only,
        "groups": [group.to_row() for group in groups],
    }
    parts = {
        "policy": _content_policy(style, script),
        "name": html.escape(name),
        "style": style,
        "data": _escape_markup(json.dumps(shown, separators=(",", ":"))),
        "script": script,
    }
    template = (_PARTS / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda part: parts[part[1]], template)


def _content_policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _escape_markup(text: str) -> str:
    r"""JSON that nothing in an HTML page takes for markup.

    >>> _escape_markup('"</script>"')
    '"\\u003c/script\\u003e"'
    """
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
