"""EM against tool calls: the paper's points and ours, data set by data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paretopo_core.pictures import COLOURS, canvas, save
from paretopo_core.training.evaluation.fronts import Panel, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PRINTED = "#777777"
_MARKERS = "*sD^vPXo"


def draw_points(panels: Sequence[Panel], path: Path) -> None:
    """Draw every panel; the paper's points are named grey dots, ours have colours.

    A method without a tool is a hollow mark at 0 calls.

    Args:
        panels: At least one.
        path: The PNG to write.
    """
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = canvas(rows, columns, (4.6 * columns, 3.8 * rows + 0.5))
    names = list(dict.fromkeys(point.name for panel in panels for point in panel.ours))
    for panel, at in zip(panels, axes, strict=False):
        for point in panel.printed:
            _dot(at, point, _PRINTED, "o", 26)
        _name(at, panel.printed)
        for point in panel.ours:
            number = names.index(point.name)
            colour = COLOURS[number % len(COLOURS)]
            marker = _MARKERS[number % len(_MARKERS)]
            _dot(at, point, colour, marker, 170 if marker == "*" else 70)
        at.set(title=panel.title, xlabel="tool calls per question", ylabel="EM (%)")
        at.margins(0.16)
    for at in axes[len(panels) :]:
        at.set_axis_off()
    for number, name in enumerate(names):
        colour, marker = COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]
        size = 13 if marker == "*" else 8
        axes[0].plot([], [], marker=marker, color=colour, linestyle="", markersize=size, label=name)
    axes[0].plot([], [], marker="o", color=_PRINTED, linestyle="", label="as printed in the paper")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, columns), frameon=False)
    save(figure, path, dpi=150)


def _dot(axes: Axes, point: Point, colour: str, marker: str, size: float) -> None:
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


def _name(axes: Axes, points: Sequence[Point]) -> None:
    """Write names beside points; those at one place share a line."""
    places: dict[tuple[float, float], list[str]] = {}
    for point in points:
        places.setdefault((point.calls or 0.0, point.em), []).append(point.name)
    for place, names in places.items():
        axes.annotate(
            ", ".join(names),
            place,
            xytext=(5, 3),
            textcoords="offset points",
            fontsize=7,
            color="#555555",
        )
