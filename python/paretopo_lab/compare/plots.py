"""The picture of a comparison: models with regions of confidence, and the surfaces of fronts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paretopo_lab.compare.analysis import Analysis, Front
from paretopo_lab.document.plots import (
    COLOURS,
    MARKERS,
    add_legend,
    make_grid,
    name_points,
    save_figure,
    scale_by_powers,
)
from paretopo_lab.statistics.regions import (
    covariance_of_means,
    outline_band,
    trace_ellipse,
    trace_stairs,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOMINATED = "#888888"
_MOST_PAIRED = 4  # objectives; of more, each is drawn against the first only
_MOST_ELLIPSES = 40  # models; of more, only the named ones have one
_MOST_NAMES = 12  # models; of more on a front, only its cover is named
_MOST_BANDS = 3  # fronts; more bands would hide each other


def draw_models(analysis: Analysis, path: Path) -> None:
    """Draw the models: the first objective upwards, another one along; each pair has a panel.

    Filled marks are non-dominated in all objectives. With two objectives the line is the front, and
    the band lies between the goals that 95 % and 5 % of the replicates attain.

    Args:
        analysis: With two objectives or more.
        path: The PNG to write.
    """
    count = len(analysis.scores.objectives)
    pairs = list(combinations(range(count), 2))
    if count > _MOST_PAIRED:
        pairs = [pair for pair in pairs if pair[0] == 0]
    size = (8.0, 5.1) if len(pairs) == 1 else (4.6, 4.0)
    figure, panels = make_grid(len(pairs), *size)
    title = "Ellipses: 95 % regions of the means. Filled: non-dominated."
    if count == 2 and len(analysis.fronts) <= _MOST_BANDS:
        title += " Band: goals that 5 to 95 % of the replicates attain."
    figure.suptitle(title, fontsize=10)
    for axes, (up, along) in zip(panels, pairs, strict=True):
        _draw_panel(axes, analysis, up, along)
    if len(analysis.fronts) > 1:
        add_legend(figure, panels[0])
    save_figure(figure, path, dpi=150)


def _draw_panel(axes: Axes, analysis: Analysis, up: int, along: int) -> None:
    scores = analysis.scores
    pair = [along, up]
    means = scores.means[:, pair]
    limits = _find_limits(analysis, pair)
    axes.set(xlim=limits[:, 0], ylim=limits[:, 1])
    few = len(means) <= _MOST_ELLIPSES
    labels: dict[int, str] = {}
    for objective, axis in ((along, "x"), (up, "y")):
        if scores.wide[objective]:
            scale_by_powers(axes, axis)
    for number, front in enumerate(analysis.fronts):
        colour = COLOURS[number % len(COLOURS)]
        if len(scores.objectives) == 2:
            _draw_front(axes, analysis, front, pair, limits, colour)
        named = _choose_named(analysis, front)
        for at in scores.list_models(front.name):
            best = bool(analysis.is_front[at])
            shade = colour if best or len(analysis.fronts) > 1 else _DOMINATED
            if few or at in named:
                edge = means[at] + trace_ellipse(covariance_of_means(scores.answered[at][:, pair]))
                axes.fill(*edge.T, facecolor=shade, alpha=0.13, edgecolor=shade, linewidth=0.8)
            axes.scatter(
                [means[at, 0]],
                [means[at, 1]],
                marker=MARKERS[number % len(MARKERS)],
                s=38,
                zorder=3,
                facecolors=shade if best else "white",
                edgecolors=shade,
            )
        axes.scatter(
            [],
            [],
            marker=MARKERS[number % len(MARKERS)],
            s=38,
            color=colour,
            label=f" {_escape(front.name)}",  # matplotlib hides names that begin with _
        )
        labels |= {at: _escape(scores.models[at]) for at in named}
    axes.set_xlabel(_escape(scores.objectives[along].label))
    axes.set_ylabel(_escape(scores.objectives[up].label))
    name_points(axes, means, labels)


def _draw_front(
    axes: Axes,
    analysis: Analysis,
    front: Front,
    pair: list[int],
    limits: np.ndarray,
    colour: str,
) -> None:
    """Draw the front of two objectives, and the band of its attainment surfaces."""
    senses = np.array(analysis.scores.senses)[pair]
    worst = np.where(senses > 0, limits[0], limits[1])
    means = analysis.scores.means[list(front.models)][:, pair]
    axes.plot(*trace_stairs(means, senses, worst).T, color=colour, linewidth=1.3, zorder=2)
    if not len(analysis.replicates) or len(analysis.fronts) > _MOST_BANDS:
        return
    drawn = analysis.replicates[:, analysis.scores.list_models(front.name)][:, :, pair]
    axes.fill(
        *outline_band(drawn, senses, worst).T, color=colour, alpha=0.12, linewidth=0, zorder=1
    )


def _escape(text: str) -> str:
    """Return a text in one line, in which matplotlib finds no formula."""
    return " ".join(text.split()).replace("$", r"\$")


def _choose_named(analysis: Analysis, front: Front) -> Sequence[int]:
    """Return the models to name: as many as are readable, the most important first."""
    own = analysis.scores.list_models(front.name)
    choices: tuple[Sequence[int], ...] = (own, front.models, front.cover)
    return next((some for some in choices if len(some) <= _MOST_NAMES), front.cover)


def _find_limits(analysis: Analysis, pair: list[int]) -> np.ndarray:
    """Return the (2, 2) smallest and largest values of both axes, with room for the ellipses."""
    means = analysis.scores.means[:, pair]
    errors = np.nan_to_num(analysis.scores.errors[:, pair])
    limits = np.stack([(means - 2.5 * errors).min(axis=0), (means + 2.5 * errors).max(axis=0)])
    wide = np.array(analysis.scores.wide)[pair]
    limits[0, wide] = np.maximum(limits[0, wide], means[:, wide].min(axis=0, initial=np.inf) / 2)
    limits[:, wide] = np.log10(limits[:, wide])
    low, high = limits
    room = 0.06 * np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
    limits = np.array([low - room, high + room])
    limits[:, wide] = 10.0 ** limits[:, wide]
    return limits
