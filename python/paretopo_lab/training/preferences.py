"""The measurements under each preference, from the last sweep of a run: a table and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretopo.records.files import Row
from paretopo.records.measures import Measure, Series
from paretopo.records.sweeps import agreement, count_distinct, expected_utility
from paretopo_lab.document.pictures import (
    COLOURS,
    MARKERS,
    find_ends,
    make_panels,
    name_points,
    save_figure,
)
from paretopo_lab.document.report import Part, Table
from paretopo_lab.read.history import History, find_front

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_WRITTEN = 60  # preferences with numbers
_NOISE = 1.96 * math.sqrt(2.0)  # standard errors within which two means do not differ
_GREY = "#888888"
_LABELS_APART = 0.03  # of the range of a sweep


@dataclass(frozen=True)
class Sweep:
    """The measurements under each preference in the last evaluation, formatted.

    Attributes:
        columns: Labels of the objectives.
        rows: For each preference its name, then the objectives.
        notes: Sentences on the distinct points, the utility and the order.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def describe_sweep(history: History) -> Sweep | None:
    """Describe the last sweep of a run; None if its weights are fixed."""
    if not history.sweeps:
        return None
    rows, measures = history.sweeps[-1], history.objectives
    values = _read_measures(rows, measures)
    cells = [
        (row["preference"], *map(Measure.format, measures, own.tolist()))
        for row, own in zip(rows, values, strict=True)
    ]
    rewards = history.rewards(measures, history.points)
    front = find_front(rewards, [1.0] * len(measures))
    errors = np.nan_to_num(np.array([measure.read_errors(rows) for measure in measures]).T)
    distinct = count_distinct(values[front], _NOISE * errors[front])
    notes = [
        f"{distinct} of {len(rows)} preferences lead to different points that none of the others "
        "dominates; differences within the noise of the answers do not count."
    ]
    utility = expected_utility([row["weights"] for row in rows], rewards)
    notes.append(
        f"Expected utility: {utility.asked:.4f} as asked; {utility.blind:.4f} if the answers "
        "to the best single preference served all of them; "
        f"{utility.best:.4f} if each preference had the best answers of this evaluation."
    )
    for at, measure in enumerate(measures):
        asked = [row["weights"][at] for row in rows]
        share = agreement(asked, (measure.sense * values[:, at]).tolist())
        notes.append(
            f"{measure.name}: {100 * share:.0f} % of the pairs of preferences are in the "
            "requested order."
        )
    return Sweep(tuple(one.label for one in measures), tuple(cells), tuple(notes))


def tabulate_preferences(history: History) -> list[Part]:
    """Return parts of a report: the measurements for each preference, and how well they match it.

    There are none if the run's weights are fixed.
    """
    sweep = describe_sweep(history)
    if sweep is None:
        return []
    return [Table(["asked for", *sweep.columns], sweep.rows), "\n".join(sweep.notes)]


def draw_preferences(histories: Mapping[str, History], path: Path) -> None:
    """Draw the front of each run's last sweep with its preferences, and request against result.

    With three or more objectives a table replaces the front: a row for each preference,
    a column for each objective, shaded from the worst to the best of the sweep.

    Args:
        histories: By the label they get in the legend; those with fixed weights are one point.
        path: The PNG to write.
    """
    steered = [one for one in histories.values() if one.sweeps]
    measures = steered[0].objectives
    if len(measures) > 2:
        save_figure(_draw_tables(histories, len(measures)), path, dpi=150)
        return
    others = measures[1:] or measures
    figure, panels = make_panels(1, len(others) + 1, (5.2 * (len(others) + 1), 4.6))
    _draw_calibration(panels[-1], steered[0])
    for axes, other in zip(panels, others, strict=False):
        points: Series = np.empty((0, 2))
        names: dict[int, str] = {}
        for number, (label, history) in enumerate(histories.items()):
            colour = COLOURS[number % len(COLOURS)]
            own, named = _draw_curve(axes, history, other, measures[0], colour, label)
            names |= {len(points) + at: name for at, name in named.items()}
            points = np.concatenate([points, own])
        axes.set_xlabel(other.label)
        axes.set_ylabel(measures[0].label)
        axes.set_title("Front of one policy, by preference")
        axes.legend(frameon=False, fontsize=8)
        name_points(axes, points, names)
    save_figure(figure, path, dpi=150)


def _draw_tables(histories: Mapping[str, History], objectives: int) -> Figure:
    """Draw a table for each steered run, next to its requests against results."""
    steered = {label: one for label, one in histories.items() if one.sweeps}
    most = max(len(one.sweeps[-1]) for one in steered.values())
    tall = max(4.6, 0.26 * min(most, _MOST_WRITTEN) + 2.0)
    size = (2.0 * objectives + 9.0, tall * len(steered))
    figure, panels = make_panels(len(steered), 2, size)
    grid: Any = panels[0].get_gridspec()
    grid.set_width_ratios([2.0 * objectives + 3.0, 6.0])
    for at, (label, history) in enumerate(steered.items()):
        _draw_table(panels[2 * at], history, label)
        _draw_calibration(panels[2 * at + 1], history)
    return figure


def _draw_table(axes: Axes, history: History, label: str) -> None:
    rows, measures = history.sweeps[-1], history.objectives
    values = _read_measures(rows, measures)
    own = values * [one.sense for one in measures]
    low, high = find_ends(own)
    shares = (own - low) / np.where(high > low, high - low, 1.0)
    shares[:, high <= low] = 0.5
    axes.imshow(shares, aspect="auto", cmap="viridis", vmin=0.0, vmax=1.0, alpha=0.75)
    axes.grid(visible=False)
    axes.set_xticks(range(len(measures)))
    axes.set_xticklabels([one.label.replace(", ", ",\n") for one in measures], fontsize=9)
    if len(rows) > _MOST_WRITTEN:
        axes.set_ylabel(f"{len(rows)} preferences: report.md lists them")
        axes.set_yticks([])
    else:
        axes.set_yticks(range(len(rows)))
        axes.set_yticklabels([_format_preference(row) for row in rows], fontsize=9)
        axes.set_ylabel(" : ".join(one.name for one in measures))
        for (row, column), value in np.ndenumerate(values):
            written = measures[column].format(float(value))
            shade = "white" if shares[row, column] < 0.45 else "black"
            axes.text(column, row, written, ha="center", va="center", fontsize=9, color=shade)
    axes.set_title(f"{label}: measured for each preference (light: best of the sweep)")


def _draw_curve(
    axes: Axes, history: History, x: Measure, y: Measure, colour: str, label: str
) -> tuple[Series, dict[int, str]]:
    """Draw a run; return points on its lines, and the names of some by their place."""
    if not history.sweeps:
        values = _read_measures(history.evaluations[-1:], (x, y))
        axes.plot(*values.T, "*", color=colour, markersize=13, label=label)
        return values, {}
    start, end = (_read_measures(rows, (x, y)) for rows in (history.sweeps[0], history.sweeps[-1]))
    axes.plot(*start.T, "o-", linewidth=1.4, color=_GREY, alpha=0.6, label="start")
    axes.plot(*end.T, "o-", linewidth=1.4, color=colour, label=label)
    names = {
        len(start) + at: " · ".join(map(_format_preference, here))
        for at, here in _group_coinciding(end, history.sweeps[-1])
    }
    lines = [np.linspace(one[:-1], one[1:], 50).reshape(-1, 2) for one in (start, end)]
    return np.concatenate([start, end, *lines]), names


def _draw_calibration(axes: Axes, history: History) -> None:
    """Plot each objective, scaled to 0..1, against its weight."""
    rows = history.sweeps[-1]
    values = _read_measures(rows, history.objectives)
    for at, measure in enumerate(history.objectives):
        asked, own = [row["weights"][at] for row in rows], measure.sense * values[:, at]
        span = own.max() - own.min()
        got = (own - own.min()) / span if span > 0.0 else np.full_like(own, 0.5)
        marker, colour = MARKERS[at % len(MARKERS)], COLOURS[at % len(COLOURS)]
        axes.plot(asked, got, marker, color=colour, label=measure.name, alpha=0.75)
    axes.set_xlabel("weight of the objective")
    axes.set_ylabel("from the worst (0) to the best (1) of the sweep")
    axes.set_title("Asked against got")
    axes.legend(frameon=False, fontsize=8)


def _read_measures(rows: Sequence[Row], measures: Sequence[Measure]) -> Series:
    """Return the measures in their units, with shape (rows, measures)."""
    return np.array([measure.read(rows) for measure in measures]).T


def _format_preference(row: Row) -> str:
    return " : ".join(f"{number:g}" for number in row["weights"])


def _group_coinciding(values: Series, rows: Sequence[Row]) -> list[tuple[int, list[Row]]]:
    """Group the rows whose points are too near for labels of their own, by the first place."""
    least = _LABELS_APART * np.ptp(values, axis=0)
    places: list[tuple[int, list[Row]]] = []
    for at, row in enumerate(rows):
        near = [here for one, here in places if (np.abs(values[one] - values[at]) <= least).all()]
        if near:
            near[0].append(row)
        else:
            places.append((at, [row]))
    return places
