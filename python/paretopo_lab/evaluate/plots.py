"""EM against tool calls: the paper's points and ours, data set by data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paretopo_lab.document.pictures import COLOURS, add_legend, make_grid, save_figure
from paretopo_lab.evaluate.fronts import Panel
from paretopo_lab.evaluate.published import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRINTED = "#777777"
_MARKERS = "osD^vPX<>8"  # the paper's methods, in grey
_OURS = "*HhpdX"


def draw_panels(panels: Sequence[Panel], path: Path) -> None:
    """Draw every panel: the paper's points in grey, ours in colour, a shape for each method.

    A method without a tool is a hollow mark at 0 calls.

    Args:
        panels: At least one.
        path: The PNG to write.
    """
    figure, axes = make_grid(len(panels), 4.4, 3.6, 1.2)
    printed = dict.fromkeys(name for panel in panels for name in panel.printed)
    ours = dict.fromkeys(name for panel in panels for name in panel.ours)
    looks = {
        ("printed", name): (_PRINTED, _MARKERS[number % len(_MARKERS)], 42.0)
        for number, name in enumerate(printed)
    } | {
        ("ours", name): (COLOURS[number % len(COLOURS)], _OURS[number % len(_OURS)], 170.0)
        for number, name in enumerate(ours)
    }
    for panel, at in zip(panels, axes, strict=True):
        for whose, points in (("printed", panel.printed), ("ours", panel.ours)):
            for name, point in points.items():
                _draw_point(at, point, *looks[whose, name])
        at.set(title=panel.title, xlabel="tool calls per question", ylabel="EM (%)")
        at.margins(0.12)
    for (whose, name), (colour, marker, size) in looks.items():
        label = name if whose == "ours" else f"{name}, as printed"
        style: Any = {"color": colour, "marker": marker, "markersize": math.sqrt(size)}
        axes[0].plot([], [], linestyle="", label=label, **style)
    add_legend(figure, axes[0])
    save_figure(figure, path, dpi=150)


def _draw_point(axes: Axes, point: Outcome, colour: str, marker: str, size: float) -> None:
    hollow = point.calls is None
    axes.scatter(
        point.calls or 0.0,
        point.em,
        s=size,
        marker=marker,
        facecolors="none" if hollow else colour,
        edgecolors=colour if hollow else "white",
        linewidths=1.2 if hollow else 0.6,
        zorder=3 if colour != _PRINTED else 2,
    )
