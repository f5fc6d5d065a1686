"""Pictures of reports: fronts, and panels in one style for all others.

Groups differ by colour and marker; matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from paretopo.records.measures import Series
from paretopo_lab.document.charts import Front, Group
from paretopo_lab.statistics.regions import trace_ellipse, trace_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"
# Okabe and Ito (2008): distinguishable for every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
_LINE = "#444444"
_DOMINATED = "#888888"
_MOST_PAIRED = 5  # objectives; the pairs of more would be too small to read
_MOST_ELLIPSES = 40  # points; of more, only the named ones have one
_NAME_SIZE = 9  # points of type
_STYLE: dict[Any, Any] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "grid.alpha": 0.35,
    "grid.linewidth": 0.6,
}


def make_panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its panels, row by row.

    Args:
        rows: Number of rows of panels.
        columns: Number of columns of panels.
        size: Width and height in inches.
    """
    # Figures are made without pyplot: no window system, no global state.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(rows, columns, squeeze=False).flat)


def save_figure(figure: Figure, path: Path, *, dpi: int) -> None:
    """Write a figure as PNG; create the folder if it is missing."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=dpi)
    with Image.open(path) as image:  # 128 colours take a third of the bytes
        image.convert("RGB").quantize(
            128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        ).save(path, optimize=True)


def scale_by_powers(axes: Axes, axis: str) -> None:
    """Make an axis, "x" or "y", logarithmic, with plain numbers at its ticks."""
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    axes.set(**{f"{axis}scale": "log"})
    scaled = axes.xaxis if axis == "x" else axes.yaxis
    scaled.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    scaled.set_minor_locator(NullLocator())
    scaled.set_major_formatter(StrMethodFormatter("{x:,g}"))


def name_points(axes: Axes, points: Series, names: Mapping[int, str]) -> None:
    """Write names next to points, each where it covers the fewest points and other names.

    Args:
        axes: With its final limits and scales.
        points: (points, 2), named or not.
        names: By the place of the point.
    """
    figure = cast("Figure", axes.get_figure(root=True))
    figure.draw_without_rendering()  # the layout moves the axes
    at = axes.transData.transform(points)
    pixel = figure.dpi / 72  # of a point of type
    height, mark = _NAME_SIZE * pixel, 4 * pixel  # of a name, and of half a point's mark
    frame = axes.get_window_extent()
    taken: list[tuple[float, float, float, float]] = []
    for place, name in sorted(names.items(), key=lambda one: -at[one[0], 1]):  # from the top
        width = 0.62 * height * len(name)
        choices: list[tuple[Any, ...]] = []
        for right, up in itertools.product((1, -1, 0), (1, -1, 0)):
            if not right and not up:
                continue
            x = at[place, 0] + right * 7 * pixel - width * (1 - right) / 2
            y = at[place, 1] + up * 7 * pixel - height * (1 - up) / 2
            box = x, y, x + width, y + height
            near = (at > np.subtract(box[:2], mark)) & (at < np.add(box[2:], mark))
            hidden = near.all(axis=1).sum()
            crossed = sum(
                x < one[2] and one[0] < box[2] and y < one[3] and one[1] < box[3] for one in taken
            )
            outside = x < frame.x0 or box[2] > frame.x1 or y < frame.y0 or box[3] > frame.y1
            choices.append((hidden + crossed + len(at) * outside, len(choices), right, up, box))
        *_, right, up, box = min(choices)
        taken.append(box)
        axes.annotate(
            name,
            points[place],
            xytext=(7 * right, 7 * up),
            textcoords="offset points",
            ha=("center", "left", "right")[right],
            va=("center", "bottom", "top")[up],
            fontsize=_NAME_SIZE,
        )


# ---- fronts ----------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """Two axes of a space, which have a panel."""

    space: int
    up: int
    along: int


def draw_front(front: Front, path: Path) -> None:
    """Draw a front: two objectives in each space, or each pair of more, the first one upwards.

    More than five objectives are each drawn against the first only.

    Args:
        front: With two objectives or more.
        path: The PNG to write.
    """
    axes = front.spaces[0].axes
    pairs = [_Pair(0, *pair) for pair in itertools.combinations(range(len(axes)), 2)]
    if len(axes) == 2:
        pairs = [_Pair(space, 0, 1) for space in range(len(front.spaces))]
    elif len(axes) > _MOST_PAIRED:
        pairs = [pair for pair in pairs if pair.up == 0]
    columns = math.ceil(math.sqrt(len(pairs))) if len(pairs) > 3 else len(pairs)
    rows = math.ceil(len(pairs) / columns)
    width, height = {1: (8.0, 5.1), 2: (5.5, 4.7)}.get(len(pairs), (4.2, 3.6))
    figure, panels = make_panels(rows, columns, (width * columns, height * rows + 0.5))
    for spare in panels[len(pairs) :]:
        spare.remove()
    for panel, pair in zip(panels, pairs, strict=False):
        dots = _draw_pair(panel, front, pair)
        panel.set_title(
            front.spaces[pair.space].name if len(axes) == len(front.spaces) == 2 else ""
        )
    if front.course and len(front.groups) == 1:
        figure.colorbar(dots, ax=panels[len(pairs) - 1], label="training step")
    _explain_marks(panels[0], front)
    if panels[0].get_legend_handles_labels()[0]:
        add_legend(figure, panels[0])
    save_figure(figure, path, dpi=150)


def _draw_pair(panel: Axes, front: Front, pair: _Pair) -> Any:
    space, up, along = pair
    axes = front.spaces[space].axes
    for axis, name in ((axes[along], "x"), (axes[up], "y")):
        if axis.wide:
            scale_by_powers(panel, name)
    limits = _find_limits(front, pair)
    panel.set(xlim=limits[:, 0], ylim=limits[:, 1])
    panel.set_xlabel(_escape(axes[along].label))
    panel.set_ylabel(_escape(axes[up].label))
    if len(front.spaces[0].axes) > 2 and not axes[along].wide:
        panel.locator_params(axis="x", nbins=4)  # thousandths of a dollar are wide
    dots = None
    for number, group in enumerate(front.groups):
        dots = _draw_group(panel, front, group, number, pair, limits)
    every = _read_values(front.groups, pair)
    points = [point for group in front.groups for point in group.points]
    names = {at: _escape(point.name) for at, point in enumerate(points) if point.named}
    if names:
        name_points(panel, every, names)
    return dots


def _draw_group(
    panel: Axes, front: Front, group: Group, number: int, pair: _Pair, limits: Series
) -> Any:
    """Draw the points of a group, with their edge; return the marks."""
    axes = front.spaces[pair.space].axes
    senses = axes[pair.along].sense, axes[pair.up].sense
    values = _read_values([group], pair)
    colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
    alone = len(front.groups) == 1
    line = _LINE if front.course and alone else colour
    worst = np.where(np.array(senses) > 0, limits[0], limits[1])
    along, up = np.concatenate([values, [worst]]).T
    edge = trace_front(along, up, senses)
    panel.plot(*edge, color=line, linewidth=1.4, alpha=0.8, zorder=2)
    if front.course:
        steps = [point.step for point in group.points]
        shade: Any = {"c": steps, "cmap": "viridis"} if alone else {"color": colour}
        style: Any = {"s": 22, "alpha": 0.75, "linewidths": 0, "zorder": 3} | shade
        dots = panel.scatter(*values.T, marker=marker, **style)
        start: Any = {"marker": "s", "s": 110, "facecolors": "none", "edgecolors": line}
        end: Any = {"marker": "*", "s": 260, "color": line, "edgecolors": "white"}
        panel.scatter(*values[0], zorder=4, **start)
        panel.scatter(*values[-1], zorder=5, **end)
        return dots
    few = sum(len(one.points) for one in front.groups) <= _MOST_ELLIPSES
    for point, mean in zip(group.points, values, strict=True):
        shade = colour if point.best[pair.space] or not alone else _DOMINATED
        if point.covariance is not None and (few or point.named):
            both = np.ix_([pair.along, pair.up], [pair.along, pair.up])
            region = mean + trace_ellipse(np.asarray(point.covariance)[both])
            panel.fill(*region.T, facecolor=shade, alpha=0.13, edgecolor=shade, linewidth=0.8)
        inside = shade if point.best[pair.space] else "white"
        look: Any = {"marker": marker, "s": 38, "zorder": 3, "edgecolors": shade}
        panel.scatter(*mean[:, None], facecolors=inside, **look)
    return None


def _read_values(groups: Sequence[Group], pair: _Pair) -> Series:
    """Return (points, 2), along and up."""
    values = [point.values[pair.space] for group in groups for point in group.points]
    return np.array(values, float)[:, [pair.along, pair.up]]


def _find_limits(front: Front, pair: _Pair) -> Series:
    """Return the (2, 2) smallest and largest values of both axes, with room for the ellipses."""
    means = _read_values(front.groups, pair)
    places = [pair.along, pair.up]
    every = [point.covariance for group in front.groups for point in group.points]
    known_in = pair.space == 0  # covariances are of the first space
    spreads = [np.diag(one)[places] if known_in and one is not None else [0, 0] for one in every]
    errors = np.sqrt(np.nan_to_num(np.array(spreads, float)))
    known = np.isfinite(means).all(axis=1)
    if not known.any():
        return np.array([[0.0, 0.0], [1.0, 1.0]])
    means, errors = means[known], errors[known]
    limits = np.stack([(means - 2.5 * errors).min(axis=0), (means + 2.5 * errors).max(axis=0)])
    axes = front.spaces[pair.space].axes
    wide = np.array([axes[pair.along].wide, axes[pair.up].wide])
    limits[0, wide] = np.maximum(limits[0, wide], means[:, wide].min(axis=0, initial=np.inf) / 2)
    limits[:, wide] = np.log10(limits[:, wide])
    low, high = limits
    room = 0.06 * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    limits = np.array([low - room, high + room])
    limits[:, wide] = 10.0 ** limits[:, wide]
    return limits


def _explain_marks(axes: Axes, front: Front) -> None:
    """Name the groups, and the start and the end of a course, for the legend."""
    if len(front.groups) > 1:
        for number, group in enumerate(front.groups):
            colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
            # matplotlib hides names that begin with _
            label = f" {_escape(group.name)}"
            axes.plot([], [], linestyle="none", color=colour, marker=marker, label=label)
    if front.course:
        style: dict[str, Any] = {"linestyle": "none", "color": _LINE}
        axes.plot([], [], marker="s", markersize=9, fillstyle="none", label="start", **style)
        axes.plot([], [], marker="*", markersize=13, label="end", **style)
        axes.plot([], [], color=_LINE, linewidth=1.4, label="Pareto front of these two")
    else:
        figure = cast("Figure", axes.get_figure(root=True))
        wide = round(11 * figure.get_figwidth())  # characters
        figure.suptitle("\n".join(textwrap.wrap(front.key, wide)), fontsize=10)


def _escape(text: str) -> str:
    """Return a text in one line, in which matplotlib finds no formula."""
    return " ".join(text.split()).replace("$", r"\$")


def add_legend(figure: Figure, axes: Axes) -> None:
    """Explain the marks of the first panel below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 4 if max(map(len, labels)) < 35 else 2
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), frameon=False
    )
