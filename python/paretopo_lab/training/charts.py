"""The charts of runs: their evaluations as a front, and their measures over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from paretopo.records.measures import (
    RESPONSE_LENGTH,
    Measure,
    Series,
    read_column,
    read_limit,
    read_prices,
)
from paretopo_lab.document.charts import Axis, Curve, Curves, Front, Group, Line, Point, Run
from paretopo_lab.read.history import History, describe_moment, find_front, merge_objectives

_KEY = "□ start · ★ end · filled: on the front of all objectives · line: front of these two"
_CURVES = "strong: held-out evaluations · faint: rollouts of the step · dashed: stage 2 begins"


def make_front(histories: Mapping[str, History]) -> Front:
    """Return the evaluations of runs as a front.

    Args:
        histories: At least one, with two objectives or more, by the label they get in the legend.

    Raises:
        ValueError: The runs disagree on which way of an objective is better.
    """
    objectives = merge_objectives(histories.values())
    others = dict.fromkeys(
        one for history in histories.values() for one in history.other_measures()
    )
    groups = [
        Group(label, _list_points(label, history, objectives, [*objectives, *others]))
        for label, history in histories.items()
    ]
    axes = [Axis(one.label, one.sense) for one in objectives]
    caption = "Front over the evaluations"
    return Front("Held-out evaluations", caption, "front.png", axes, groups, _KEY, course=True)


def _list_points(
    label: str, history: History, objectives: Sequence[Measure], measures: Sequence[Measure]
) -> list[Point]:
    measured = history.measured(measures)
    # A run can have fewer objectives than all runs together.
    named = {one.key for one in history.objectives}
    own = [at for at, one in enumerate(objectives) if one.key in named]
    best = find_front(measured[:, own], [objectives[at].sense for at in own])
    points = []
    for at, row in enumerate(history.evaluations):
        volume = row.get("hypervolume")
        moment = f"step {row['step']}" if history.is_evaluation else describe_moment(row)
        lines = [f"{label}: {moment}" + ("" if volume is None else f", hypervolume {volume:.4g}")]
        lines += [
            f"{one.title}: {one.format(value) or 'unknown'}"
            for one, value in zip(measures, measured[at].tolist(), strict=True)
        ]
        values, about = measured[at, : len(objectives)].tolist(), "\n".join(lines)
        points.append(Point("", values, bool(best[at]), about, step=row["step"]))
    return points


def make_curves(histories: Mapping[str, History]) -> Curves:
    """Return every measure over the steps, with its limit, then the controller's signals."""
    every = list(histories.values())
    measures = [*merge_objectives(every)]
    if all(measure.key != "tokens" for measure in measures):
        measures.append(RESPONSE_LENGTH)
    curves = [
        Curve(
            one.label,
            [
                Line(one.read(run.steps), one.read(run.evaluations), _bound(run, one))
                for run in every
            ],
        )
        for one in measures
    ]
    for name in dict.fromkeys(name for run in every for name in run.limited):
        lines = [_curves_of_limit(run, name) for run in every]
        if any(share is not None for share, _ in lines):
            title = f"answers within the limit on {name} (%)"
            curves.append(Curve(title, [share for share, _ in lines]))
        curves.append(
            Curve(f"multiplier of the limit on {name}", [one for _, one in lines], strong=True)
        )
    prices = [read_prices(run.steps) for run in every]
    for name, kind in dict.fromkeys(key for one in prices for key in one):
        title = f"price of a right answer in {name} (kind {kind})"
        found = [one.get((name, kind)) for one in prices]
        curves.append(
            Curve(title, [None if one is None else Line(one) for one in found], strong=True)
        )
    volumes = [Line(None, read_column(run.evaluations, "hypervolume")) for run in every]
    curves.append(Curve("hypervolume of the archive, as it was at the time", volumes))
    multipliers = [Line(_read_multiplier(run)) for run in every]
    curves.append(Curve("multiplier of stage 1", multipliers, strong=True))
    return Curves(
        "Training",
        [
            Run(
                label,
                read_column(run.steps, "step"),
                read_column(run.evaluations, "step"),
                run.boundary(),
            )
            for label, run in histories.items()
        ],
        [one for one in curves if any(map(_is_known, one.lines))],
        _CURVES + (" · dotted: a limit" if any(run.limited for run in every) else ""),
    )


def _bound(history: History, measure: Measure) -> float | None:
    limit = history.limited[measure.key].limit if measure.key in history.limited else None
    return None if limit is None else limit * measure.scale


def _curves_of_limit(history: History, name: str) -> tuple[Line | None, Line | None]:
    """Return the share of answers that keep a limit, if it has a share; and its multiplier."""
    if name not in history.limited:
        return None, None
    share = history.limited[name].share
    trained = read_limit(history.steps, name, "share")
    evaluated = read_limit(history.evaluations, name, "share")
    multiplier = Line(read_limit(history.steps, name, "multiplier"))
    return None if share is None else Line(trained, evaluated, 100.0 * share), multiplier


def _read_multiplier(history: History) -> Series:
    """Return the multiplier, which acts only in stage 1."""
    acting = [row if row.get("stage") == 1 else {} for row in history.steps]
    return read_column(acting, "multiplier")


def _is_known(line: Line | None) -> bool:
    return line is not None and any(
        values is not None and bool(np.isfinite(values).any())
        for values in (line.trained, line.evaluated)
    )
