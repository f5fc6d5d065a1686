"""Plots of runs, drawn from their records: the front and the training dynamics.

Runs differ by colour and marker. The canvas and its style serve evaluations and studies, too;
matplotlib is loaded when something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paretopo.run.files import Row
from paretopo.run.folder import RunFolder, find_start

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX"
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


def draw_front(runs: Mapping[str, RunFolder], path: Path) -> None:
    """Accuracy against calls, and the archive in reward space, over the evaluations of each run.

    Args:
        runs: the runs by the label they get in the legend.
        path: the PNG to write.
    """
    figure, (seen, rewarded) = canvas(1, 2, (11.0, 5.2))
    for (label, run), colour, marker in _styled(runs):
        rows = _trained(run)
        calls, accuracy = _column(rows, "calls"), 100 * _column(rows, "correct")
        outcomes = _outcomes(run)[-len(rows) :]
        # One run shows its progress by shade; several runs need their colour to be told apart.
        shade: Any = {"c": _column(rows, "step"), "cmap": "viridis"}
        if len(runs) > 1:
            shade = {"color": colour}
        line = "#444444" if len(runs) == 1 else colour
        for axes, x, y, sense in (
            (seen, calls, accuracy, -1.0),
            (rewarded, outcomes[:, 1], outcomes[:, 0], 1.0),
        ):
            steps_x, steps_y = _staircase(x, y, sense)
            axes.plot(steps_x, steps_y, color=line, linewidth=1.4, alpha=0.8, zorder=2)
            if len(runs) == 1 and len(steps_y):
                axes.fill_between(steps_x, steps_y, min(steps_y), color=line, alpha=0.06, lw=0)
            dots = axes.scatter(
                x, y, marker=marker, s=22, alpha=0.75, linewidths=0, zorder=3, **shade
            )
            first, last = (x[:1], y[:1]), (x[-1:], y[-1:])
            axes.scatter(*first, marker="s", s=110, facecolors="none", edgecolors=line, zorder=4)
            axes.scatter(*last, marker="*", s=260, color=line, edgecolors="white", zorder=5)
        if len(runs) == 1:
            figure.colorbar(dots, ax=rewarded, label="training step", shrink=0.8)
        else:
            seen.plot([], [], color=colour, marker=marker, label=label)
    _name_ends(seen)
    seen.set(
        title="Held-out questions",
        xlabel="tool calls per question (fewer is better)",
        ylabel="held-out accuracy (%)",
    )
    rewarded.set(
        title="The same in reward space, as the archive sees it",
        xlabel="mean tool economy (reward, 0 to 1)",
        ylabel="mean correctness (reward, 0 to 1)",
    )
    seen.margins(0.08)
    rewarded.margins(0.08)
    _legend(figure, seen)
    save(figure, path, dpi=150)


def draw_dynamics(runs: Mapping[str, RunFolder], path: Path) -> None:
    """Accuracy, calls, response length and multiplier over the training steps.

    Strong lines are held-out evaluations, faint ones the rollouts of the step. A dashed line
    marks where stage 2 begins.

    Args:
        runs: the runs by the label they get in the legend.
        path: the PNG to write.
    """
    figure, panels = canvas(4, 1, (8.5, 9.5), share_x=True)
    names = ("correct", "calls", "response_tokens")
    labels = ("accuracy (%)", "tool calls\nper question", "response length\n(tokens)")
    for (label, run), colour, marker in _styled(runs):
        steps, rows = run.steps(), _trained(run)
        spaced = max(1, len(rows) // 12)
        for axes, name in zip(panels[:3], names, strict=True):
            unit = 100.0 if name == "correct" else 1.0
            axes.plot(
                _column(steps, "step"),
                unit * _column(steps, name),
                color=colour,
                alpha=0.3,
                linewidth=0.9,
            )
            axes.plot(
                _column(rows, "step"),
                unit * _column(rows, name),
                color=colour,
                marker=marker,
                markersize=4,
                markevery=spaced,
                linewidth=1.8,
                label=label,
            )
        acting = [row for row in steps if row.get("stage") == 1]
        panels[3].plot(_column(acting, "step"), _column(acting, "multiplier"), color=colour)
    boundaries = {_boundary(run) for run in runs.values()}
    for boundary in sorted(at for at in boundaries if at is not None):
        for axes in panels:
            axes.axvline(boundary, color="#666666", linestyle="--", linewidth=1)
        panels[0].annotate(
            "stage 2",
            (boundary, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, 2),
            textcoords="offset points",
            color="#444444",
            fontsize=9,
        )
        panels[3].annotate(
            "not used in stage 2",
            (boundary, 0.5),
            xycoords=("data", "axes fraction"),
            xytext=(8, 0),
            textcoords="offset points",
            color="#666666",
            fontsize=9,
        )
    for axes, text in zip(panels[:3], labels, strict=True):
        axes.set_ylabel(text)
        axes.set_ylim(bottom=0)
    panels[0].set_ylim(0, 103)
    panels[3].set_ylabel("stage-1\nmultiplier")
    panels[3].set_xlabel("training step (strong: held-out evaluation, faint: rollouts of the step)")
    figure.align_ylabels(panels)
    if len(runs) > 1:
        _legend(figure, panels[0])
    save(figure, path, dpi=150)


# ---- records as arrays -----------------------------------------------------------------------


def _trained(run: RunFolder) -> list[Row]:
    """Evaluations from the end of the warm-up on; what was before would only stretch axes."""
    rows = run.evaluations()
    return rows[find_start(rows) :]


def _column(rows: Sequence[Row], name: str) -> NDArray[np.float64]:
    values = [measure(row, name) for row in rows]
    return np.array([np.nan if value is None else float(value) for value in values])


def measure(row: Mapping[str, Any], name: str) -> Any:
    """A number of a row: the mean of an objective in its own unit, or an entry of the row."""
    return (row.get("measured") or {}).get(name, row.get(name))


def _outcomes(run: RunFolder) -> NDArray[np.float64]:
    """The first two objectives of each outcome by what is known at the end, (evaluations, 2)."""
    pairs = [[*outcome.values(), np.nan, np.nan][:2] for outcome in run.outcomes()]
    return np.array(pairs, np.float64).reshape(-1, 2)


def _boundary(run: RunFolder) -> float | None:
    """Between the last step of stage 1 and the first of stage 2, None where one is missing."""
    steps = run.steps()
    first = [row["step"] for row in steps if row.get("stage") == 2]
    if not first or len(first) == len(steps):
        return None
    return float(first[0]) - 0.5


def _staircase(
    x: NDArray[np.float64], y: NDArray[np.float64], sense: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edge of what the outcomes dominate, within their range; x is minimised with sense -1."""
    known = np.isfinite(x) & np.isfinite(y)
    order = np.lexsort((-y[known], -sense * x[known]))  # best x first, best y first among equals
    best_x, best_y = x[known][order], y[known][order]
    if not len(best_x):
        return best_x, best_y
    previous = np.concatenate([[-np.inf], np.maximum.accumulate(best_y)[:-1]])
    best_x, best_y = best_x[best_y > previous], best_y[best_y > previous]
    worst_x, worst_y = sense * np.nanmin(sense * x[known]), np.nanmin(y[known])
    corners_x = np.concatenate([np.repeat(best_x, 2), [worst_x]])
    corners_y = np.concatenate([[worst_y], np.repeat(best_y, 2)])
    return corners_x, corners_y


# ---- legend ----------------------------------------------------------------------------------


def _styled(runs: Mapping[str, RunFolder]) -> Iterator[tuple[tuple[str, RunFolder], str, str]]:
    for number, item in enumerate(runs.items()):
        yield item, COLOURS[number % len(COLOURS)], _MARKERS[number % len(_MARKERS)]


def _name_ends(axes: Axes) -> None:
    style: dict[str, Any] = {"linestyle": "none", "color": "#444444"}
    axes.plot([], [], marker="s", markersize=9, fillstyle="none", label="start", **style)
    axes.plot([], [], marker="*", markersize=13, label="end", **style)
    axes.plot([], [], color="#444444", linewidth=1.4, label="Pareto front of the evaluations")


def _legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = 4 if max(map(len, labels)) < 35 else 2
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(columns, len(labels)), frameon=False
    )
