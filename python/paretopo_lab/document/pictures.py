"""Pictures of reports: fronts and curves, as PNG and as elements of pages.

Groups differ by colour and marker; matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

import io
import itertools
import math
import textwrap
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from xml.etree import ElementTree

import numpy as np

from paretopo.records.measures import Series
from paretopo_lab.document.charts import Curve, Curves, Front, Group, Run
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
_MOST_MARKED = 60  # evaluations; the marks of more would hide a curve
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


def render_svg(figure: Figure, label: str) -> str:
    """Return a figure as an element of a page.

    A mark with a URL gets it as its title instead, unquoted. Styles become attributes, because the
    policy of a page refuses other ones; texts have the page's font.

    Args:
        figure: The figure.
        label: Its description.
    """
    import matplotlib

    file = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "paretopo"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    for one in [*root.iter()]:
        one.tag = one.tag.rpartition("}")[2]
        for child in [*one]:
            if child.tag.endswith(("metadata", "style")):
                one.remove(child)
        given = {name.rpartition("}")[2]: value for name, value in one.attrib.items()}
        style = given.pop("style", "")
        given |= dict(part.split(": ", 1) for part in style.split("; ") if part)
        given.pop("font-family", "")
        if one.tag == "g":
            given.pop("id", "")  # the same in every picture of a page
        if one.tag == "a":
            one.tag, title = "g", ElementTree.Element("title")
            title.text = urllib.parse.unquote(given["href"])
            one.insert(0, title)
            given = {}
        one.attrib = given
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


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
        text = axes.annotate(
            name,
            points[place],
            xytext=(7 * right, 7 * up),
            textcoords="offset points",
            ha=("center", "left", "right")[right],
            va=("center", "bottom", "top")[up],
            fontsize=_NAME_SIZE,
        )
        text.set_in_layout(False)  # a long name leaves the axes their width


# ---- fronts ----------------------------------------------------------------------------------


class _Pair(NamedTuple):
    """The two objectives of a panel."""

    up: int
    along: int


def draw_front(front: Front, path: Path) -> None:
    """Draw each pair of objectives of a front, the first one upwards.

    More than five objectives are each drawn against the first only.

    Args:
        front: With two objectives or more.
        path: The PNG to write.
    """
    pairs = _list_pairs(front)
    if len(front.axes) > _MOST_PAIRED:
        pairs = [pair for pair in pairs if pair.up == 0]
    columns = math.ceil(math.sqrt(len(pairs))) if len(pairs) > 3 else len(pairs)
    rows = math.ceil(len(pairs) / columns)
    width, height = (8.0, 5.1) if len(pairs) == 1 else (4.2, 3.6)
    figure, panels = make_panels(rows, columns, (width * columns, height * rows + 0.5))
    for spare in panels[len(pairs) :]:
        spare.remove()
    for panel, pair in zip(panels, pairs, strict=False):
        _draw_pair(panel, front, pair)
    _add_bar(panels[len(pairs) - 1], front)
    wide = round(11 * figure.get_figwidth())  # characters
    figure.suptitle("\n".join(textwrap.wrap(front.key, wide)), fontsize=10)
    if len(front.groups) > 1:
        _add_legend(figure, front)
    save_figure(figure, path, dpi=150)


def render_front(front: Front) -> list[str]:
    """Return a picture of each pair of objectives, for a page."""
    pairs, pictures = _list_pairs(front), []
    for pair in pairs:
        figure, [panel] = make_panels(1, 1, (4.8, 3.6))
        _draw_pair(panel, front, pair)
        if pair == pairs[-1]:
            _add_bar(panel, front)
        up, along = (front.axes[at].label for at in pair)
        pictures.append(render_svg(figure, f"{up}, against {along}"))
    return pictures


def render_mark(number: int) -> str:
    """Return the mark of a group, by its number, for the legend of a page."""
    figure, [panel] = make_panels(1, 1, (0.2, 0.2))
    panel.set_axis_off()
    colour, marker = _look(number)
    panel.plot([0], [0], color=colour, marker=marker, clip_on=False)
    return render_svg(figure, "")


def _list_pairs(front: Front) -> list[_Pair]:
    return [_Pair(*pair) for pair in itertools.combinations(range(len(front.axes)), 2)]


def _look(number: int) -> tuple[str, str]:
    """Return the colour and the marker of a group."""
    return COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]


def _draw_pair(panel: Axes, front: Front, pair: _Pair) -> None:
    along, up = front.axes[pair.along], front.axes[pair.up]
    for axis, name in ((along, "x"), (up, "y")):
        if axis.wide:
            scale_by_powers(panel, name)
    limits = _find_limits(front, pair)
    panel.set(xlim=limits[:, 0], ylim=limits[:, 1])
    panel.set_xlabel(_escape(along.label))
    panel.set_ylabel(_escape(up.label))
    if len(front.axes) > 2 and not along.wide:
        panel.locator_params(axis="x", nbins=4)  # thousandths of a dollar are wide
    for number in range(len(front.groups)):
        _draw_group(panel, front, number, pair, limits)
    every = _read_values(front.groups, pair)
    points = [point for group in front.groups for point in group.points]
    names = {at: _escape(point.name) for at, point in enumerate(points) if point.named}
    if names:
        name_points(panel, every, names)


def _draw_group(panel: Axes, front: Front, number: int, pair: _Pair, limits: Series) -> None:
    """Draw the points of a group, with their edge."""
    group, alone = front.groups[number], len(front.groups) == 1
    senses = front.axes[pair.along].sense, front.axes[pair.up].sense
    values = _read_values([group], pair)
    colour, marker = _look(number)
    line = _LINE if front.course and alone else colour
    worst = np.where(np.array(senses) > 0, limits[0], limits[1])
    along, up = np.concatenate([values, [worst]]).T
    edge = trace_front(along, up, senses)
    panel.plot(*edge, color=line, linewidth=1.4, alpha=0.8, zorder=2)
    if front.course:
        shades = list(_shades(front).to_rgba(_steps(group))) if alone else [colour] * len(values)
        start: Any = {"marker": "s", "s": 110, "facecolors": "none", "edgecolors": line}
        end: Any = {"marker": "*", "s": 260, "color": line, "edgecolors": "white"}
        panel.scatter(*values[0], zorder=4, **start)
        _add_titles(panel.scatter(*values[-1], zorder=5, **end), [group.points[-1].about])
    else:
        shades = [colour if point.best or not alone else _DOMINATED for point in group.points]
        _draw_ellipses(panel, front, group, pair, shades)
    inside = [
        shade if point.best else "white" for shade, point in zip(shades, group.points, strict=True)
    ]
    look: Any = {"marker": marker, "s": 22 if front.course else 38, "zorder": 3}
    dots = panel.scatter(*values.T, facecolors=inside, edgecolors=shades, **look)
    _add_titles(dots, [point.about for point in group.points])


def _draw_ellipses(
    panel: Axes, front: Front, group: Group, pair: _Pair, shades: Sequence[str]
) -> None:
    """Draw the 95 % regions of the means."""
    few = sum(len(one.points) for one in front.groups) <= _MOST_ELLIPSES
    for point, shade in zip(group.points, shades, strict=True):
        if point.covariance is not None and (few or point.named):
            own = [pair.along, pair.up]
            edge = trace_ellipse(np.asarray(point.covariance)[np.ix_(own, own)])
            region = np.asarray(point.values)[own] + edge
            panel.fill(*region.T, facecolor=shade, alpha=0.13, edgecolor=shade, linewidth=0.8)


def _add_titles(marks: Any, titles: Sequence[str]) -> None:
    marks.set_urls([urllib.parse.quote(title) for title in titles])


def _steps(group: Group) -> Series:
    return np.array([point.step for point in group.points], float)


def _shades(front: Front) -> Any:
    """Return the colours of the steps of the only course."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    steps = _steps(front.groups[0])
    # matplotlib would draw the bar of more colours as a bitmap.
    few = matplotlib.colormaps["viridis"].resampled(32)
    return ScalarMappable(Normalize(steps.min(), steps.max()), few)


def _add_bar(panel: Axes, front: Front) -> None:
    """Explain the colours of the steps of the only course."""
    if front.course and len(front.groups) == 1:
        figure = cast("Figure", panel.get_figure(root=True))
        bar: Any = figure.colorbar(_shades(front), ax=panel, label="training step")
        bar.solids.set_edgecolor("face")  # no gaps between the colours


def _read_values(groups: Sequence[Group], pair: _Pair) -> Series:
    """Return (points, 2), along and up."""
    values = [point.values for group in groups for point in group.points]
    return np.array(values, float)[:, [pair.along, pair.up]]


def _find_limits(front: Front, pair: _Pair) -> Series:
    """Return the (2, 2) smallest and largest values of both axes, with room for the ellipses."""
    means = _read_values(front.groups, pair)
    places = [pair.along, pair.up]
    every = [point.covariance for group in front.groups for point in group.points]
    spreads = [[0, 0] if one is None else np.diag(one)[places] for one in every]
    errors = np.sqrt(np.nan_to_num(np.array(spreads, float)))
    known = np.isfinite(means).all(axis=1)
    if not known.any():
        return np.array([[0.0, 0.0], [1.0, 1.0]])
    means, errors = means[known], errors[known]
    limits = np.stack([(means - 2.5 * errors).min(axis=0), (means + 2.5 * errors).max(axis=0)])
    wide = np.array([front.axes[at].wide for at in places])
    limits[0, wide] = np.maximum(limits[0, wide], means[:, wide].min(axis=0, initial=np.inf) / 2)
    limits[:, wide] = np.log10(limits[:, wide])
    low, high = limits
    room = 0.06 * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    limits = np.array([low - room, high + room])
    limits[:, wide] = 10.0 ** limits[:, wide]
    return limits


def _add_legend(figure: Figure, front: Front) -> None:
    """Name the groups below all panels."""
    from matplotlib.lines import Line2D

    labels = [f" {_escape(group.name)}" for group in front.groups]  # _ would hide one
    marks = [
        Line2D([], [], linestyle="none", color=colour, marker=marker)
        for colour, marker in map(_look, range(len(labels)))
    ]
    columns = 4 if max(map(len, labels)) < 35 else 2
    figure.legend(
        marks, labels, loc="outside lower center", ncols=min(columns, len(labels)), frameon=False
    )


def _escape(text: str) -> str:
    """Return a text in one line, in which matplotlib finds no formula, and XML no control."""
    printable = "".join(one for one in " ".join(text.split()) if one.isprintable())
    return printable.replace("$", r"\$")


# ---- curves ----------------------------------------------------------------------------------


def render_curves(curves: Curves) -> list[str]:
    """Return a picture of each curve, for a page."""
    return [_render_curve(curves.runs, curve) for curve in curves.curves]


def _render_curve(runs: Sequence[Run], curve: Curve) -> str:
    figure, [panel] = make_panels(1, 1, (4.8, 2.1))
    for number, (run, line) in enumerate(zip(runs, curve.lines, strict=True)):
        colour, marker = _look(number)
        if run.boundary is not None:
            panel.axvline(run.boundary, color=_DOMINATED, linestyle="--", linewidth=0.8)
        if line is None:
            continue
        if line.bound is not None:
            panel.axhline(line.bound, color=colour, linestyle=":", linewidth=1.4)
        if line.trained is not None:
            strength: Any = {"linewidth": 1.6} if curve.strong else {"linewidth": 0.8, "alpha": 0.5}
            panel.plot(run.steps, line.trained, color=colour, **strength)
        if line.evaluated is not None:
            panel.plot(run.evaluated, line.evaluated, color=colour, linewidth=1.6)
        if line.evaluated is not None and len(run.evaluated) <= _MOST_MARKED:
            dots = panel.scatter(run.evaluated, line.evaluated, s=14, color=colour, marker=marker)
            _add_titles(
                dots,
                [
                    f"{run.name}: step {step:g}, {value:.4g}"
                    for step, value in zip(run.evaluated, line.evaluated, strict=True)
                ],
            )
    panel.set_xlabel("training step")
    if panel.dataLim.y0 >= 0:
        panel.set_ylim(bottom=max(0.0, panel.get_ylim()[0]))
    return render_svg(figure, f"{curve.title}, over the training steps")
