"""Plots of runs, drawn from their histories: the front and the training dynamics.

Runs differ by colour and marker. The panels and their style serve evaluations and studies, too;
matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from paretopo.records.measures import (
    RESPONSE_LENGTH,
    Measure,
    Series,
    read_column,
    read_limit,
    read_prices,
)
from paretopo_lab.read.history import History, merge_objectives

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^vPX"
# Okabe and Ito (2008): distinguishable for every kind of colour vision.
COLOURS = ("#0072B2", "#D55E00", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
_LINE = "#444444"
_MOST_PAIRED = 5  # objectives; the pairs of more would be too small to read
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


def make_panels(
    rows: int, columns: int, size: tuple[float, float], *, share_x: bool = False
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure and its panels, row by row.

    Args:
        rows: Number of rows of panels.
        columns: Number of columns of panels.
        size: Width and height in inches.
        share_x: One x axis for all panels of a column.
    """
    # Figures are made without pyplot: no window system, no global state.
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        return figure, list(figure.subplots(rows, columns, squeeze=False, sharex=share_x).flat)


def make_grid(
    count: int, width: float, height: float, more: float = 0.5
) -> tuple[Figure, list[Axes]]:
    """Return an empty figure of up to three panels in a row, and the panels.

    Args:
        count: Number of panels.
        width: Of a panel, in inches.
        height: Of a panel, in inches.
        more: Height for a title and a legend.
    """
    columns = min(3, count)
    rows = -(-count // columns)
    figure, panels = make_panels(rows, columns, (width * columns, height * rows + more))
    for spare in panels[count:]:
        spare.set_axis_off()
    return figure, panels[:count]


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


def draw_front(histories: Mapping[str, History], path: Path) -> None:
    """Draw the evaluations of each run, objective by objective.

    Two objectives are drawn twice: in their own units, and as the rewards in the archive. Three or
    more get a plot for each pair, and below them a line for each evaluation across all objectives.
    More than five are each drawn against the first only.

    Args:
        histories: by the label they get in the legend.
        path: the PNG to write.

    Raises:
        ValueError: the runs have fewer than two objectives among them, or disagree on a direction.
    """
    objectives = merge_objectives(histories.values())
    if len(objectives) < 2:
        raise ValueError(f"a front needs two objectives, got {len(objectives)}")
    draw = _draw_two if len(objectives) == 2 else _draw_pairs
    save_figure(draw(histories, objectives), path, dpi=150)


def draw_dynamics(histories: Mapping[str, History], path: Path) -> None:
    """Draw every objective, response length and hypervolume over the training steps.

    If a run has a stage 1, its multiplier is drawn as well. A dotted line marks the limit of an
    objective. Each limit has a panel for its multiplier, and a limit on a share one for the share.
    A learnt price of a right answer has a panel, with a line for each kind of question.

    Strong lines are held-out evaluations, faint ones the rollouts of the step. A dashed line
    marks the beginning of stage 2.

    Args:
        histories: by the label they get in the legend.
        path: the PNG to write.

    Raises:
        ValueError: the runs disagree on a direction.
    """
    measures = [*merge_objectives(histories.values())]
    if all(measure.key != "tokens" for measure in measures):
        measures.append(RESPONSE_LENGTH)
    has_stage_1 = any(row.get("stage") == 1 for one in histories.values() for row in one.steps)
    limits = {label: one.limits for label, one in histories.items()}
    every = [held for one in limits.values() for held in one.items()]
    on_share = {name for name, limit in every if limit.share is not None}
    held = [
        (name, column)
        for name in dict.fromkeys(name for name, _ in every)
        for column in ("share", "multiplier")
        if column == "multiplier" or name in on_share
    ]
    prices = {label: read_prices(one.steps) for label, one in histories.items()}
    priced = [*dict.fromkeys(name for one in prices.values() for name, _ in one)]
    count = len(measures) + 1 + len(held) + len(priced) + has_stage_1
    columns = 1 if count <= 5 else 2
    rows = math.ceil(count / columns)
    figure, panels = make_panels(
        rows, columns, (8.5 * columns**0.6, 2.2 * rows + 0.7), share_x=True
    )
    for spare in panels[count:]:
        spare.set_visible(False)
    panels = panels[:count]
    measured, volume = panels[: len(measures)], panels[len(measures)]
    pressed = panels[len(measures) + 1 :]
    learnt = dict(zip(priced, pressed[len(held) :], strict=False))
    multiplier = panels[-1] if has_stage_1 else None
    for (label, history), style in _pair_with_styles(histories):
        evaluated = read_column(history.evaluations, "step")
        trained = read_column(history.steps, "step")
        strong: dict[str, Any] = {
            "color": style.colour,
            "marker": style.marker,
            "markersize": 4,
            "markevery": max(1, len(evaluated) // 12),
            "linewidth": 1.8,
            "label": label,
        }
        for axes, measure in zip(measured, measures, strict=True):
            faint: dict[str, Any] = {"color": style.colour, "alpha": 0.3, "linewidth": 0.9}
            axes.plot(trained, measure.read(history.steps), **faint)
            axes.plot(evaluated, measure.read(history.evaluations), **strong)
            limit = limits[label].get(measure.key)
            if limit is not None:
                axes.axhline(limit.bound * measure.scale, color=style.colour, linestyle=":")
        for axes, (name, column) in zip(pressed, held, strict=False):
            found = read_limit(history.steps, name, column)
            if column == "multiplier":
                axes.plot(trained, found, color=style.colour)
                continue
            axes.plot(trained, found, color=style.colour, alpha=0.3, linewidth=0.9)
            axes.plot(evaluated, read_limit(history.evaluations, name, column), **strong)
            limit = limits[label].get(name)
            if limit is not None and limit.share is not None:
                axes.axhline(limit.share, color=style.colour, linestyle=":")
        for (name, _), price in prices[label].items():
            learnt[name].plot(trained, price, color=style.colour)
        volume.plot(evaluated, read_column(history.evaluations, "hypervolume"), **strong)
        if multiplier is not None:
            acting = [row for row in history.steps if row.get("stage") == 1]
            steps = read_column(acting, "step")
            multiplier.plot(steps, read_column(acting, "multiplier"), color=style.colour)
    _mark_boundaries(histories, panels)
    for axes, measure in zip(measured, measures, strict=True):
        direction = f"\n{measure.better} is better" if measure.better else ""
        axes.set_ylabel(measure.title + direction)
        if axes.dataLim.y0 >= 0.0:
            axes.set_ylim(bottom=0)
        if measure.unit == "%":
            axes.set_ylim(0, 103)
    volume.set_ylabel("hypervolume\nof the archive")
    for axes, (name, column) in zip(pressed, held, strict=False):
        multiplied = column == "multiplier"
        title = "multiplier of" if multiplied else "answers within (%)"
        axes.set_ylabel(f"{title}\nthe limit on {name}")
        axes.set_ylim(bottom=0, top=None if multiplied else 103)
    for name, axes in learnt.items():
        axes.set_ylabel(f"price of a right\nanswer in {name}")
        axes.set_ylim(bottom=0)
    if multiplier is not None:
        multiplier.set_ylabel("stage-1\nmultiplier")
    for axes in panels:
        axes.locator_params(axis="x", integer=True)
    for axes in panels[-columns:]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("training step (strong: held out, faint: rollouts of the step)")
    figure.align_ylabels(panels)
    if len(histories) > 1:
        add_legend(figure, panels[0])
    save_figure(figure, path, dpi=150)


# ---- fronts ----------------------------------------------------------------------------------


class _Style(NamedTuple):
    colour: str
    marker: str


def _draw_two(histories: Mapping[str, History], objectives: Sequence[Measure]) -> Figure:
    figure, (seen, rewarded) = make_panels(1, 2, (11.0, 5.2))
    upwards, along = objectives
    single = len(histories) == 1
    for (label, history), style in _pair_with_styles(histories):
        dots = _draw_outcomes(
            seen, history.measured(objectives)[:, ::-1], (along.sense, upwards.sense),
            history, style, single=single,
        )  # fmt: skip
        _draw_outcomes(
            rewarded, history.rewards(objectives)[:, ::-1], (1.0, 1.0),
            history, style, single=single,
        )  # fmt: skip
        if single:
            figure.colorbar(dots, ax=rewarded, label="training step", shrink=0.8)
        else:
            seen.plot([], [], color=style.colour, marker=style.marker, label=label)
    _explain_ends(seen)
    seen.set(title="Held-out questions", xlabel=along.label, ylabel=upwards.label)
    rewarded.set(
        title=f"The same, as {' or '.join({one.outcome: None for one in histories.values()})}",
        xlabel=f"{along.name} as a reward, more is better",
        ylabel=f"{upwards.name} as a reward, more is better",
    )
    seen.margins(0.08)
    rewarded.margins(0.08)
    add_legend(figure, seen)
    return figure


def _draw_pairs(histories: Mapping[str, History], objectives: Sequence[Measure]) -> Figure:
    pairs = list(combinations(range(len(objectives)), 2))
    title = "Held-out questions, each pair of objectives"
    if len(objectives) > _MOST_PAIRED:
        pairs = [pair for pair in pairs if 0 in pair]
        title = f"Held-out questions, {objectives[0].name} against each other objective"
    columns = math.ceil(math.sqrt(len(pairs))) if len(pairs) > 3 else 3
    rows = math.ceil(len(pairs) / columns)
    figure, panels = make_panels(rows + 1, columns, (3.9 * columns, 3.5 * rows + 4.6))
    for spare in panels[len(pairs) :]:
        spare.remove()
    grid: Any = panels[0].get_gridspec()
    grid.set_height_ratios([1.0] * rows + [1.1])
    across = figure.add_subplot(grid[rows, :])
    single = len(histories) == 1
    for (label, history), style in _pair_with_styles(histories):
        values = history.measured(objectives)
        for axes, (above, along) in zip(panels, pairs, strict=False):
            senses = objectives[along].sense, objectives[above].sense
            dots = _draw_outcomes(
                axes, values[:, [along, above]], senses, history, style, single=single
            )
        if single:
            figure.colorbar(dots, ax=across, label="training step")
        else:
            panels[0].plot([], [], color=style.colour, marker=style.marker, label=label)
    for axes, (above, along) in zip(panels, pairs, strict=False):
        axes.set_xlabel(objectives[along].label, fontsize=9)
        axes.set_ylabel(objectives[above].label, fontsize=9)
        axes.margins(0.08)
        axes.locator_params(axis="x", nbins=4)  # thousandths of a dollar are wide
    _draw_across(across, histories, objectives)
    _explain_ends(panels[0])
    figure.suptitle(title)
    add_legend(figure, panels[0])
    return figure


def _draw_outcomes(
    axes: Axes,
    points: Series,
    senses: tuple[float, float],
    history: History,
    style: _Style,
    *,
    single: bool,
) -> Any:
    """Draw the (evaluations, 2) points of a run, their front, start and end; return the points."""
    x, y = points.T
    # One run shows its progress by shade; several runs need distinct colours.
    shade: Any = {"color": style.colour}
    if single:
        shade = {"c": read_column(history.evaluations, "step"), "cmap": "viridis"}
    line = _LINE if single else style.colour
    edge_x, edge_y = trace_front(x, y, senses)
    axes.plot(edge_x, edge_y, color=line, linewidth=1.4, alpha=0.8, zorder=2)
    if single and len(edge_y):
        axes.fill_between(edge_x, edge_y, edge_y[0], color=line, alpha=0.06, lw=0)
    dots = axes.scatter(
        x, y, marker=style.marker, s=22, alpha=0.75, linewidths=0, zorder=3, **shade
    )
    first, last = (x[:1], y[:1]), (x[-1:], y[-1:])
    axes.scatter(*first, marker="s", s=110, facecolors="none", edgecolors=line, zorder=4)
    axes.scatter(*last, marker="*", s=260, color=line, edgecolors="white", zorder=5)
    return dots


def _draw_across(
    axes: Axes, histories: Mapping[str, History], objectives: Sequence[Measure]
) -> None:
    """Draw parallel coordinates, with better values up and numbers at both ends of each axis."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    every = np.concatenate([history.measured(objectives) for history in histories.values()])
    senses = np.array([measure.sense for measure in objectives])
    worst, best = find_ends(every * senses)
    span = np.where(best > worst, best - worst, 1.0)
    places = np.arange(len(objectives))
    for (_, history), style in _pair_with_styles(histories):
        heights = (history.measured(objectives) * senses - worst) / span
        lines = np.stack([np.broadcast_to(places, heights.shape), heights], axis=-1)
        shades: Any = style.colour
        if len(histories) == 1:
            shades = colormaps["viridis"](np.linspace(0.0, 1.0, len(heights)))
        axes.add_collection(LineCollection(list(lines), colors=shades, linewidths=0.8, alpha=0.45))
        for end, dashes in ((0, "--"), (-1, "-")):
            colour = style.colour if len(histories) > 1 else shades[end]
            axes.plot(places, heights[end], color=colour, linewidth=2.4, linestyle=dashes)
    for place, measure in enumerate(objectives):
        axes.axvline(place, color=_LINE, linewidth=0.8)
        for at, value, below in ((0.0, worst, True), (1.0, best, False)):
            axes.annotate(
                measure.format(float(senses[place] * value[place])),
                (place, at),
                xytext=(0, -4 if below else 4),
                textcoords="offset points",
                ha="center",
                va="top" if below else "bottom",
                fontsize=9,
            )
    axes.set(
        title="All objectives at once, better is up (dashed: start, strong: end)",
        xticks=places,
        yticks=[],
        xlim=(-0.4, len(objectives) - 0.6),
        ylim=(-0.14, 1.14),
    )
    axes.set_xticklabels([measure.label.replace(", ", ",\n") for measure in objectives], fontsize=9)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def find_ends(values: Series) -> tuple[Series, Series]:
    """Return minimum and maximum of each column of (rows, columns), 0 for one without a number."""
    known = np.isfinite(values)
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(np.isfinite(low), low, 0.0), np.where(np.isfinite(high), high, 0.0)


def trace_front(x: Series, y: Series, senses: tuple[float, float]) -> tuple[Series, Series]:
    """Return the edge of the region dominated by the outcomes, from the best x to the worst.

    Args:
        x: (outcomes,); NaN is left out.
        y: (outcomes,); NaN is left out.
        senses: For x and y, 1 if larger is better, -1 if smaller is.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y = senses[0] * x[known], senses[1] * y[known]
    if not len(x):
        return x, y
    order = np.lexsort((-y, -x))  # best x first, best y first among equals
    best_x, best_y = x[order], y[order]
    previous = np.concatenate([[-np.inf], np.maximum.accumulate(best_y)[:-1]])
    best_x, best_y = best_x[best_y > previous], best_y[best_y > previous]
    corners_x = np.concatenate([np.repeat(best_x, 2), [x.min()]])
    corners_y = np.concatenate([[y.min()], np.repeat(best_y, 2)])
    return senses[0] * corners_x, senses[1] * corners_y


# ---- dynamics --------------------------------------------------------------------------------


def _mark_boundaries(histories: Mapping[str, History], panels: Sequence[Axes]) -> None:
    boundaries = {history.boundary() for history in histories.values()}
    for boundary in sorted(at for at in boundaries if at is not None):
        for axes in panels:
            axes.axvline(boundary, color="#666666", linestyle="--", linewidth=1)
        for axes, text, height in (
            (panels[0], "stage 2", 1.0),
            (panels[-1], "not used in stage 2", 0.5),
        ):
            axes.annotate(
                text,
                (boundary, height),
                xycoords=("data", "axes fraction"),
                xytext=(5, 2),
                textcoords="offset points",
                color=_LINE,
                fontsize=9,
            )


# ---- legend ----------------------------------------------------------------------------------


def _pair_with_styles(
    histories: Mapping[str, History],
) -> Iterator[tuple[tuple[str, History], _Style]]:
    for number, item in enumerate(histories.items()):
        yield item, _Style(COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])


def _explain_ends(axes: Axes) -> None:
    style: dict[str, Any] = {"linestyle": "none", "color": _LINE}
    axes.plot([], [], marker="s", markersize=9, fillstyle="none", label="start", **style)
    axes.plot([], [], marker="*", markersize=13, label="end", **style)
    axes.plot([], [], color=_LINE, linewidth=1.4, label="Pareto front of the evaluations")


def add_legend(figure: Figure, axes: Axes) -> None:
    """Explain the marks of the first panel below all panels."""
    handles, labels = axes.get_legend_handles_labels()
    columns = 4 if max(map(len, labels)) < 35 else 2
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), frameon=False
    )
