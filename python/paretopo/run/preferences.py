"""What each preference leads to, from the last sweep of a run: a table and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paretopo.run.files import Row
from paretopo.run.history import History, Measure, Series, find_front
from paretopo.run.plots import COLOURS, make_panels, save_figure
from paretopo.run.sweeps import agreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GREY = "#888888"


def tabulate_preferences(history: History) -> list[str]:
    """Lines of Markdown: what was measured for each preference, and how far it goes by it.

    None where the run's weights are fixed.
    """
    if not history.sweeps:
        return []
    rows, measures = history.sweeps[-1], history.objectives
    values = _measured(rows, measures)
    lines = [
        f"| asked for | {' | '.join(one.label for one in measures)} |",
        f"|---|{'---:|' * len(measures)}",
    ]
    for row, own in zip(rows, values, strict=True):
        cells = [one.format(value) for one, value in zip(measures, own, strict=True)]
        lines.append(f"| {row['preference']} | {' | '.join(cells)} |")
    front = find_front(_rewards(history), [1.0] * len(measures))
    distinct = len(np.unique(values[front], axis=0))
    told = [
        "",
        f"Of {len(rows)} preferences {distinct} lead to different points that none of the others "
        "dominates.",
    ]
    for at, measure in enumerate(measures):
        asked = _asked(rows, at, measure.key)
        if asked is None:
            continue
        share = agreement(asked, (measure.sense * values[:, at] * _way(rows, measure)).tolist())
        told.append(
            f"{measure.name}: {100 * share:.0f} % of the pairs of preferences are in the order "
            "that was asked for."
        )
    if "within_budget" in rows[0]:
        kept = [f"{100 * row['within_budget']:.1f} % ({row['preference']})" for row in rows]
        told.append(f"Within their budget: {', '.join(kept)}.")
    return [*lines, *told, ""]


def draw_preferences(histories: Mapping[str, History], path: Path) -> None:
    """The front of each run's last sweep with the preferences on it, and what was got for what.

    Args:
        histories: By the label they get in the legend; those with fixed weights are one point.
        path: The PNG to write.
    """
    steered = [one for one in histories.values() if one.sweeps]
    measures = steered[0].objectives
    others = measures[1:] or measures
    figure, panels = make_panels(1, len(others) + 1, (5.2 * (len(others) + 1), 4.6))
    for number, (label, history) in enumerate(histories.items()):
        colour = COLOURS[number % len(COLOURS)]
        for axes, other in zip(panels, others, strict=False):
            _draw_curve(axes, history, other, measures[0], colour, label)
    _draw_calibration(panels[-1], steered[0])
    for axes, other in zip(panels, others, strict=False):
        axes.set_xlabel(other.label)
        axes.set_ylabel(measures[0].label)
        axes.set_title("Front of one policy, by preference")
    panels[0].legend(frameon=False, fontsize=8)
    save_figure(figure, path, dpi=150)


def _draw_curve(
    axes: Axes, history: History, x: Measure, y: Measure, colour: str, label: str
) -> None:
    if not history.sweeps:
        values = _measured(history.evaluations[-1:], (x, y))
        axes.plot(*values.T, "*", color=colour, markersize=13, label=label)
        return
    for rows, style in (
        (history.sweeps[0], {"color": _GREY, "alpha": 0.6, "label": "start"}),
        (history.sweeps[-1], {"color": colour, "label": label}),
    ):
        values = _measured(rows, (x, y))
        axes.plot(*values.T, "o-", linewidth=1.4, **style)
    for point, here in _by_place(values, history.sweeps[-1]):
        told = " · ".join(_short(row) for row in here)
        axes.annotate(told, point, xytext=(7, -11), textcoords="offset points", fontsize=8)


def _draw_calibration(axes: Axes, history: History) -> None:
    """Each objective from its worst to its best against its weight; of budgets, used by asked."""
    rows = history.sweeps[-1]
    values = _measured(rows, history.objectives)
    budgets = "budgets" in rows[0]
    for at, measure in enumerate(history.objectives):
        asked = _asked(rows, at, measure.key)
        if asked is None:
            continue
        colour, got = COLOURS[at % len(COLOURS)], values[:, at]
        if not budgets:
            own = measure.sense * got
            span = own.max() - own.min()
            got = (own - own.min()) / span if span > 0.0 else np.full_like(own, 0.5)
        axes.plot(asked, got, "o", color=colour, label=measure.name)
        if budgets:
            axes.plot(asked, asked, color=colour, linewidth=0.8, linestyle="--")
    axes.set_xlabel("asked for at most" if budgets else "weight of the objective")
    axes.set_ylabel("used" if budgets else "from the worst (0) to the best (1) of the sweep")
    axes.set_title("Asked against used" if budgets else "Asked against got")
    axes.legend(frameon=False, fontsize=8)


def _measured(rows: Sequence[Row], measures: Sequence[Measure]) -> Series:
    """(rows, measures) in their units."""
    return np.array([measure.read(rows) for measure in measures]).T


def _rewards(history: History) -> Series:
    """(preferences, objectives) of the last sweep, larger is better."""
    keys = [measure.key for measure in history.objectives]
    return np.array(
        [[np.nan if one.get(key) is None else one[key] for key in keys] for one in history.points],
        np.float64,
    )


def _asked(rows: Sequence[Row], at: int, name: str) -> list[float] | None:
    """The weight of an objective in each row, or its budget; None where it was not asked for."""
    if "budgets" in rows[0]:
        return [row["budgets"][name] for row in rows] if name in rows[0]["budgets"] else None
    return [row["weights"][at] for row in rows]


def _way(rows: Sequence[Row], measure: Measure) -> float:
    """A larger budget lets more be used, a larger weight makes an objective better."""
    return measure.sense if "budgets" in rows[0] else 1.0


def _short(row: Row) -> str:
    numbers = row["budgets"].values() if "budgets" in row else row["weights"]
    return " : ".join(f"{number:g}" for number in numbers)


def _by_place(values: Series, rows: Sequence[Row]) -> list[tuple[Any, list[Row]]]:
    """The rows of each point, those that coincide together."""
    places: dict[tuple[float, ...], list[Row]] = {}
    for value, row in zip(values.tolist(), rows, strict=True):
        places.setdefault(tuple(value), []).append(row)
    return list(places.items())
