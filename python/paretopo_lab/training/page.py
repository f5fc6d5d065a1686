"""The report on runs as a page: front, curves and table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.config import ConfigError
from paretopo.records.files import Row
from paretopo.records.measures import Measure, Series, read_column, read_limit, read_prices
from paretopo.records.trajectories import Group, shorten
from paretopo_lab.document.page import render_document
from paretopo_lab.read.history import (
    Comparison,
    History,
    compare_ends,
    describe_moment,
    find_front,
    merge_objectives,
)
from paretopo_lab.show.terminal import describe_rewards
from paretopo_lab.statistics.questions import COLUMNS, EXPLAINED, compare_questions
from paretopo_lab.training.preferences import describe_sweep
from paretopo_lab.training.summary import Summary, describe_volumes, summarise_runs

_SCRIPTS = ("marks.js", "runs.js", "front.js", "curves.js", "table.js", "report.js")
_MOST_EVALUATIONS = 400  # of a run: more are indistinguishable and slow
_MOST_POINTS = 1000  # of a curve
_MOST_CHARACTERS = 1500  # of a rollout


def render_report_page(histories: Mapping[str, History]) -> str:
    """Render the page as HTML.

    Long runs are thinned. Some hundreds of evaluations remain: the first, the last and, unless they
    are too many, those on the front. A curve of steps shows means of neighbouring points.

    Args:
        histories: At least one, by the label they get in the legend.

    Raises:
        ValueError: The runs disagree on which way of an objective is better.
    """
    objectives = merge_objectives(histories.values())
    others = dict.fromkeys(
        one for history in histories.values() for one in history.other_measures()
    )
    measures = [*objectives, *others]
    columns, rows = summarise_runs(histories)
    shown = {
        "measures": [_describe_measure(one) for one in measures],
        "objectives": len(objectives),
        "runs": [
            _describe_run(label, history, objectives, measures)
            for label, history in histories.items()
        ],
        "summary": {
            "columns": [one.label for one in columns],
            "rows": [_describe_summary(row, columns) for row in rows],
            "tested": [one.cells for one in compare_questions(histories)],
            "testColumns": COLUMNS,
            "testNote": EXPLAINED,
        },
        "volumes": describe_volumes(histories),
        "outcomes": " or ".join({one.outcome: None for one in histories.values()}),
    }
    return render_document("report", _SCRIPTS, f"{', '.join(histories)} · report", shown)


def thin_evaluations(front: NDArray[np.bool_], most: int = _MOST_EVALUATIONS) -> NDArray[np.int_]:
    """Choose the evaluations to show: evenly spread ones, and the front unless it is too large.

    >>> thin_evaluations(np.arange(9) == 3, most=5).tolist()
    [0, 2, 3, 4, 6, 8]
    """
    spread = np.linspace(0, len(front) - 1, min(len(front), most)).round().astype(int)
    best = np.flatnonzero(front)
    return np.union1d(spread, best if len(best) <= most else best[:0])


def thin_curve(columns: Series, most: int = _MOST_POINTS) -> Series:
    """Return at most `most` means of neighbouring points, with shape (points, columns); ignore NaN.

    >>> thin_curve(np.arange(10.0).reshape(5, 2), most=2).tolist()
    [[2.0, 3.0], [7.0, 8.0]]
    """
    if len(columns) <= most:
        return columns
    together = -(-len(columns) // most)
    starts = np.arange(0, len(columns), together)
    known = np.isfinite(columns)
    count = np.add.reduceat(known, starts, dtype=float)
    total = np.add.reduceat(np.where(known, columns, 0.0), starts)
    means: Series = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    return means


def _describe_measure(measure: Measure) -> Row:
    return {
        "name": measure.name,
        "title": measure.title,
        "label": measure.label,
        "better": measure.better,
        "decimals": measure.decimals,
    }


def _describe_run(
    label: str, history: History, objectives: Sequence[Measure], measures: Sequence[Measure]
) -> Row:
    measured, rewards = history.measured(measures), history.rewards(objectives)
    # A run can have fewer objectives than all runs together.
    named = {one.key for one in history.objectives}
    own = [at for at, one in enumerate(objectives) if one.key in named]
    senses = [objectives[at].sense for at in own]
    fronts = {
        "measured": find_front(measured[:, own], senses),
        "rewards": find_front(rewards[:, own], [1.0] * len(own)),
    }
    kept = thin_evaluations(fronts["measured"] | fronts["rewards"])
    rows = [history.evaluations[at] for at in kept]
    rollouts, trouble = _find_rollouts(history, {row["step"] for row in rows})
    steps = [read_column(history.steps, "step"), *(one.read(history.steps) for one in measures)]
    curves = thin_curve(np.array([*steps, _read_multiplier(history)]).T).T.tolist()
    sweep = describe_sweep(history)
    return {
        "label": label,
        "folder": history.run.path.resolve().name,
        "status": history.run.manifest.get("status", "unknown"),
        "boundary": history.boundary(),
        "evaluated": len(history.evaluations),
        "trouble": trouble,
        "evaluations": [
            {
                "step": row["step"],
                "moment": "" if history.is_evaluation else describe_moment(row),
                "hypervolume": row.get("hypervolume"),
                "measured": measured[at].tolist(),
                "rewards": rewards[at].tolist(),
                "front": {space: bool(found[at]) for space, found in fronts.items()},
                "rollout": rollouts.get(row["step"]),
            }
            for at, row in zip(kept, rows, strict=True)
        ],
        "steps": curves[0],
        "trained": curves[1:-1],
        "multiplier": curves[-1],
        "limits": _describe_limits(history, measures, rows),
        "prices": {
            f"price of a right answer in {name} ({kind} questions)": thin_curve(price).tolist()
            for (name, kind), price in read_prices(history.steps).items()
        },
        "moments": history.moments,
        "table": [_describe_comparison(one) for one in compare_ends(history)],
        "sweep": None if sweep is None else asdict(sweep),
    }


def _describe_limits(
    history: History, measures: Sequence[Measure], evaluations: Sequence[Row]
) -> list[Row]:
    """Describe the limits of a run, with a curve of each number, thinned like those of steps."""
    limits = history.limits
    described: list[Row] = []
    for at, measure in enumerate(measures):
        if measure.key not in limits:
            continue
        bound, share = limits[measure.key]
        columns = [
            read_limit(history.steps, measure.key, column) for column in ("multiplier", "share")
        ]
        multiplier, kept = thin_curve(np.array(columns).T).T.tolist()
        described.append(
            {
                "measure": at,
                "bound": bound * measure.scale,
                "share": share,
                "multiplier": multiplier,
                "kept": kept,
                "evaluated": read_limit(evaluations, measure.key, "share").tolist(),
            }
        )
    return described


def _describe_comparison(one: Comparison) -> Row:
    measure = one.measure
    return {
        "name": measure.name,
        "kind": one.kind,
        "better": measure.better or "",
        "unit": measure.unit,
        "count": one.count,
        "before": one.ends[0],
        "after": one.ends[1],
        "change": one.change,
        "verdict": one.verdict,
    }


def _describe_summary(row: Summary, columns: Sequence[Measure]) -> Row:
    return {
        "name": row.name,
        "seeds": len(row.seeds) if row.of_method else None,
        "cells": [
            {
                "text": row.describe(one),
                "verdict": row.means[one.key].verdict if one.key in row.means else "",
            }
            for one in columns
        ],
    }


def _read_multiplier(history: History) -> Series:
    """Return the multiplier, which acts only in stage 1."""
    acting = [row if row.get("stage") == 1 else {} for row in history.steps]
    return read_column(acting, "multiplier")


def _find_rollouts(history: History, steps: set[int]) -> tuple[dict[int, Any], str]:
    """Return by step the answer to one held-out question; also return an error, if any."""
    found: dict[int, Any] = {}
    question = None
    try:
        for group in history.run.trajectories():
            if not group.held_out or group.step not in steps:
                continue
            question = group.id if question is None else question
            if group.id == question:  # before the first step, the last evaluation is the one shown
                found[group.step] = _describe_rollout(group)
    except ConfigError as error:
        return {}, f"Its rollouts cannot be shown: {error}"
    return found, ""


def _describe_rollout(group: Group) -> Row:
    group = shorten(group, _MOST_CHARACTERS)
    rollout = group.rollouts[0]
    return {
        "prompt": group.prompt,
        "answer": group.answer,
        "answerName": group.answer_name,
        "solved": rollout.solved,
        "facts": describe_rewards(rollout, group.objectives),
        "segments": [{"kind": one.kind, "text": one.text} for one in rollout.segments],
    }
