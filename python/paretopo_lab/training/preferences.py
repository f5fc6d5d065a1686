"""The measurements under each preference, from the last sweep of a run: a table and a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from paretopo.records.files import Row
from paretopo.records.measures import Measure, Series
from paretopo.records.sweeps import agreement, count_distinct, expected_utility
from paretopo_lab.document.charts import Axis, Front, Group, Point
from paretopo_lab.document.report import Part, Table
from paretopo_lab.read.history import History, find_front

_MOST_NAMED = 15  # preferences of a run; the names of more would hide each other
_NOISE = 1.96 * math.sqrt(2.0)  # standard errors within which two means do not differ


def tabulate_preferences(history: History) -> list[Part]:
    """Return parts of a report: the measurements for each preference, and how well they match it.

    There are none if the run's weights are fixed.
    """
    if not history.sweeps:
        return []
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
    heads = ["asked for", *(one.label for one in measures)]
    return [Table(heads, cells), "\n".join(notes)]


def make_front(histories: Mapping[str, History]) -> Front:
    """Return the last sweep of each run as a front, with the weights next to its points.

    Args:
        histories: By the label they get in the legend; those with fixed weights are one point.
    """
    measures = next(one for one in histories.values() if one.sweeps).objectives
    groups = []
    for label, history in histories.items():
        rows = history.sweeps[-1] if history.sweeps else history.evaluations[-1:]
        values = _read_measures(rows, measures)
        named = bool(history.sweeps) and len(rows) <= _MOST_NAMED
        front = find_front(values, [one.sense for one in measures])
        points = [
            _describe_point(label, row, measures, own, best)._replace(named=named)
            for row, own, best in zip(rows, values.tolist(), front.tolist(), strict=True)
        ]
        groups.append(Group(label, points))
    axes = [Axis(one.label, one.sense) for one in measures]
    key = f"weights of {' : '.join(one.name for one in measures)} · filled: non-dominated"
    title = "Results under each preference"
    return Front(title, title, "preferences.png", axes, groups, key)


def _describe_point(
    label: str, row: Row, measures: Sequence[Measure], values: list[float], best: bool
) -> Point:
    name = " : ".join(f"{number:g}" for number in row.get("weights", ()))
    texts = map(Measure.format, measures, values)
    lines = [
        ": ".join(filter(None, [label, name])),
        *(f"{one.title}: {text}" for one, text in zip(measures, texts, strict=True)),
    ]
    return Point(name, values, best, "\n".join(lines))


def _read_measures(rows: Sequence[Row], measures: Sequence[Measure]) -> Series:
    """Return the measures in their units, with shape (rows, measures)."""
    return np.array([measure.read(rows) for measure in measures]).T
