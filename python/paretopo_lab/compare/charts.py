"""The front of a comparison, for its picture and its page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paretopo_lab.compare.analysis import Analysis, FrontVolume
from paretopo_lab.compare.report import format_share, order_models
from paretopo_lab.document import charts
from paretopo_lab.document.report import join_some
from paretopo_lab.statistics.bootstrap import Floats
from paretopo_lab.statistics.regions import covariance_of_means

_MOST_NAMED = 12  # models; of more on a front, a picture names only its cover
_MOST_LISTED = 6  # dominating models, from this share on
_LEAST_LISTED = 0.01


def make_front(analysis: Analysis) -> charts.Front:
    """Return the models as a front, with the regions of their means."""
    scores = analysis.scores
    order = order_models(analysis)
    groups = []
    for front in analysis.fronts:
        named = set(_choose_named(analysis, front))
        own = [at for at in order if scores.fronts[at] == front.name]
        points = [_describe_model(analysis, at, named=at in named) for at in own]
        groups.append(charts.Group(front.name, points))
    line = "the front of these two objectives" if len(scores.objectives) > 2 else "the front"
    regions = " · ellipses: 95 % regions of the means" if len(analysis.replicates) else ""
    axes = [
        charts.Axis(one.label, one.sense, wide)
        for one, wide in zip(scores.objectives, scores.wide, strict=True)
    ]
    return charts.Front(
        "Front",
        "The models and their front",
        "front.png",
        axes,
        groups,
        f"filled: non-dominated · line: {line}{regions}",
    )


def _describe_model(analysis: Analysis, at: int, *, named: bool) -> charts.Point:
    scores = analysis.scores
    lines = [scores.models[at]]
    lines += [
        f"{one.name}: {mean:.4g}" + ("" if np.isnan(error) else f" ± {error:.2g}")
        for one, mean, error in zip(
            scores.objectives, scores.means[at], scores.errors[at], strict=True
        )
    ]
    listed = {
        "questions": str(len(scores.answered[at])),
        "on the front, p": format_share(float(analysis.on_front[at])),
        "dominated by": _list_likely(analysis, analysis.dominance[:, at]),
        "dominates": _list_likely(analysis, analysis.dominance[at]),
    }
    lines += [f"{name}: {text}" for name, text in listed.items() if text]
    return charts.Point(
        scores.models[at],
        scores.means[at].tolist(),
        bool(analysis.is_front[at]),
        "\n".join(lines),
        covariance_of_means(scores.answered[at]),
        named=named,
    )


def _list_likely(analysis: Analysis, shares: Floats) -> str:
    """Return the models with the largest shares, with these; "" if all are unlikely."""
    order = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= _LEAST_LISTED]
    names = [f"{analysis.scores.models[at]} ({format_share(float(shares[at]))})" for at in order]
    return join_some(names, _MOST_LISTED)


def _choose_named(analysis: Analysis, front: FrontVolume) -> Sequence[int]:
    """Return the models to name: as many as are readable, the most important first."""
    own = analysis.scores.list_models(front.name)
    choices: tuple[Sequence[int], ...] = (own, front.models, front.cover)
    return next((some for some in choices if len(some) <= _MOST_NAMED), front.cover)
