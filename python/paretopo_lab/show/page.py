"""Groups of rollouts as a page."""

from __future__ import annotations

from collections.abc import Sequence

from paretopo.records.trajectories import Group
from paretopo_lab.document.page import render_document
from paretopo_lab.show.selection import Selection

_SCRIPTS = ("panel.js", "app.js")


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
    return render_document("rollouts", _SCRIPTS, f"{name} · trajectories", shown)
