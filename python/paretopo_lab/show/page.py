"""Groups of rollouts as a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from paretopo.records.files import to_json
from paretopo.records.trajectories import Group
from paretopo_lab.document.page import render_page
from paretopo_lab.show.selection import Selection

_PARTS = Path(__file__).parent / "parts"


def render_rollouts_page(name: str, groups: Sequence[Group], selection: Selection) -> str:
    """Render the page as HTML.

    Args:
        name: The run's name.
        groups: Oldest first.
        selection: How the page shows them when it opens.
    """
    shown = {
        "name": name,
        "sort": selection.sort,
        "only": selection.only,
        "groups": [group.to_row() for group in groups],
    }
    data = _escape_markup(json.dumps(to_json(shown), separators=(",", ":")))
    body = (
        f"{(_PARTS / 'page.html').read_text(encoding='utf-8')}"
        f'<script type="application/json" id="data">{data}</script>\n'
    )
    script = "\n".join((_PARTS / one).read_text(encoding="utf-8") for one in ("panel.js", "app.js"))
    return render_page(f"{name} · trajectories", _PARTS / "style.css", body, script)


def _escape_markup(text: str) -> str:
    r"""Escape JSON so that no part of it is markup in an HTML page.

    >>> _escape_markup('"</script>"')
    '"\\u003c/script\\u003e"'
    """
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
