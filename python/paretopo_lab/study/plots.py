"""Plots of a study: the methods at a glance, where they end, how they get there."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretopo_lab.document.pictures import COLOURS, make_grid, make_panels, save_figure
from paretopo_lab.study.analysis import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"
_MOST_PLOTTED = 8  # of more methods, these
_PLOTTED = ("paper", "accuracy_only", "grpo", "otc_grpo", "mo_grpo", "gdpo")  # next to ours


def draw(results: Results, out: Path) -> list[str]:
    """Write all plots; returns their names."""
    plots = []
    if len(results.tasks) > 1:
        draw_overview(results, out / "overview.png")
        plots.append("overview.png")
    draw_ends(results, out / "fronts.png")
    draw_dynamics(results, out / "dynamics.png")
    return [*plots, "fronts.png", "dynamics.png"]


def draw_overview(results: Results, path: Path) -> None:
    """Plot the deciding measure of every method on every task, the best worst case on the left."""
    methods, measure = results.rank_by_worst(), results.plan.study.measure
    rows = [*results.tasks, "worst"]
    share = np.full((len(rows), len(methods)), np.nan)
    for column, method in enumerate(methods):
        for row, task in enumerate(results.tasks):
            if method in results.methods(task):
                share[row, column] = 100 * results.read(task, method, measure).mean()
        share[-1, column] = 100 * results.worst(method).mean()
    # Methods side by side, so that a page of 1,280 pixels shows the numbers in their size.
    figure, (axes,) = make_panels(1, 1, (3.0 + 0.55 * len(methods), 3.2 + 0.32 * len(rows)))
    axes.imshow(share, cmap="viridis", vmin=0, vmax=100, aspect="auto")
    axes.grid(visible=False)
    for (row, column), value in np.ndenumerate(share):
        text = "—" if np.isnan(value) else f"{value:.0f}"
        dark = np.isnan(value) or value > 60
        axes.text(column, row, text, ha="center", va="center", fontsize=12,
                  color="black" if dark else "white")  # fmt: skip
    axes.axhline(len(rows) - 1.5, color="white", linewidth=4)
    axes.set_yticks(range(len(rows)), [name.replace("_", " ") for name in rows], fontsize=12)
    axes.set_xticks(range(len(methods)), methods, rotation=40, ha="right", fontsize=12)
    for label, method in zip(axes.get_xticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method == results.plan.ours else "normal")
    seeds = max(len(results.seeds(task, results.plan.ours)) for task in results.tasks)
    title = f"{measure.capitalize()} at the end, % of the best policy (mean of {seeds} seeds)"
    axes.set_title(textwrap.fill(title, 30 + 5 * len(methods)), loc="left", fontsize=13)
    save_figure(figure, path, dpi=100)


def draw_ends(results: Results, path: Path) -> None:
    """Accuracy against the first cost, a panel for each task: the ends, with deviations.

    For language models it also shows the way from the start: the mean at each evaluation.
    """
    figure, panels = make_grid(len(results.tasks), 4.0, 3.2)
    for axes, task in zip(panels, results.tasks, strict=True):
        section = results.plan.tasks[task]
        starts: list[tuple[float, float]] = []
        for index, method in _plotted_methods(results, task):
            cost = results.curve(task, method, "cost")
            right = 100 * results.curve(task, method, "accuracy")
            style = _style(index)
            axes.errorbar(
                cost[:, -1].mean(), right[:, -1].mean(),
                xerr=cost[:, -1].std(), yerr=right[:, -1].std(), **style,
            )  # fmt: skip
            if section.config is not None:
                way = {key: style[key] for key in ("color", "linewidth", "linestyle")}
                axes.plot(cost.mean(axis=0), right.mean(axis=0), alpha=0.6, **way)
                starts.append((cost[:, 0].mean(), right[:, 0].mean()))
        if starts:
            axes.plot(*zip(*starts, strict=True), "o", color="black", zorder=3)
            axes.annotate("start", max(starts), xytext=(7, -3), textcoords="offset points",
                          fontsize=8.5)  # fmt: skip
        axes.set_title(task.replace("_", " "))
        axes.set_xlabel(f"{section.cost} per question")
        axes.set_ylabel("accuracy (%)")
    _save_with_legend(figure, results, path)


def draw_dynamics(results: Results, path: Path) -> None:
    """Plot the deciding measure over the steps: mean over seeds and one standard deviation."""
    figure, panels = make_grid(len(results.tasks), 4.0, 3.2)
    for axes, task in zip(panels, results.tasks, strict=True):
        for index, method in _plotted_methods(results, task):
            steps = results.curve(task, method, "step")[0]
            share = 100 * results.curve(task, method, results.plan.study.measure)
            mean, deviation = share.mean(axis=0), share.std(axis=0)
            colour = COLOURS[index % len(COLOURS)]
            width = 2.2 if index == 0 else 1.4
            axes.plot(steps, mean, color=colour, linewidth=width, linestyle=_line(index))
            axes.fill_between(
                steps, mean - deviation, mean + deviation, color=colour, alpha=0.12, lw=0
            )
        axes.set_title(task.replace("_", " "))
        axes.set_xlabel("step")
        axes.set_ylabel(f"{results.plan.study.measure} (%)")
    _save_with_legend(figure, results, path)


def _plotted_methods(results: Results, task: str) -> list[tuple[int, str]]:
    """Ours first; each with its number, so that a method has one colour in all panels."""
    methods = results.plan.study.methods
    shown = methods if len(methods) <= _MOST_PLOTTED else _PLOTTED
    names = [results.plan.ours, *(name for name in shown if name != results.plan.ours)]
    return [(index, name) for index, name in enumerate(names) if name in results.methods(task)]


def _line(index: int) -> str:
    """Dashed where the colours begin again."""
    return "-" if index < len(COLOURS) else "--"


def _style(index: int) -> dict[str, Any]:
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "markersize": 10 if index == 0 else 6,
        "linewidth": 1.2,
        "linestyle": _line(index),
    }


def _save_with_legend(figure: Figure, results: Results, path: Path) -> None:
    from matplotlib.lines import Line2D

    plotted = sorted({pair for task in results.tasks for pair in _plotted_methods(results, task)})
    handles = [Line2D([], [], label=name, **_style(index)) for index, name in plotted]
    columns = 2 * min(2, len(results.tasks))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)
    save_figure(figure, path, dpi=100)
