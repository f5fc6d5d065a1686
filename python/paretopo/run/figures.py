"""What all pictures share: colours, style, canvas. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito (2008): they stay apart for every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
_STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
}


def canvas(
    rows: int, columns: int, size: tuple[float, float], *, share_x: bool = False
) -> tuple[Figure, list[Axes]]:
    """An empty figure and its panels, row by row.

    Args:
        rows: of panels.
        columns: of panels.
        size: width and height in inches.
        share_x: one x axis for all panels of a column.
    """
    # Figures are made without pyplot: no window system, no global state.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(rows, columns, squeeze=False, sharex=share_x).flat)


def save(figure: Figure, path: Path, *, dpi: int) -> None:
    """Write a figure as PNG; the folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
