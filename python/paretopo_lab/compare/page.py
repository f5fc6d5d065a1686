"""The page of a comparison: one file for the browser, with every model at the pointer."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretopo_lab.compare.analysis import Analysis, Front
from paretopo_lab.compare.report import format_share, list_tables, order_models, summarise
from paretopo_lab.document.page import render_document
from paretopo_lab.document.report import join_some
from paretopo_lab.statistics.bootstrap import Floats
from paretopo_lab.statistics.regions import covariance_of_means, outline_band

_SCRIPTS = ("../report/marks.js", "../report/table.js", "compare.js")
_STYLES = ("../report/style.css", "style.css")
_MOST_NAMED = 6  # dominating models, from this share on
_LEAST_NAMED = 0.01


def render_page(analysis: Analysis) -> str:
    """Render the page as HTML; it loads nothing."""
    scores = analysis.scores
    names = [one.name for one in analysis.fronts]
    content = {
        "objectives": [
            {"name": one.name, "label": one.label, "better": one.better, "log": wide}
            for one, wide in zip(scores.objectives, scores.wide, strict=True)
        ],
        "models": [
            {
                "name": scores.models[at],
                "front": names.index(scores.fronts[at]),
                "mean": scores.means[at],
                "error": scores.errors[at],
                "covariance": covariance_of_means(scores.answered[at]),
                "questions": len(scores.answered[at]),
                "best": bool(analysis.is_front[at]),
                "share": format_share(float(analysis.on_front[at])),
                "above": _name_likely(analysis, analysis.dominance[:, at]),
                "below": _name_likely(analysis, analysis.dominance[at]),
            }
            for at in order_models(analysis)
        ],
        "fronts": [
            {"name": one.name or "all models", "band": _trace(one, analysis)}
            for one in analysis.fronts
        ],
        "notes": summarise(analysis),
        "tables": [table._asdict() for table in list_tables(analysis)],
    }
    title = f"{len(scores.models)} models · comparison"
    return render_document("compare", _SCRIPTS, title, content, _STYLES)


def _name_likely(analysis: Analysis, shares: Floats) -> str:
    """Return the models with the largest shares, with these; "" if all are unlikely."""
    order = [at for at in np.argsort(-shares, kind="stable") if shares[at] >= _LEAST_NAMED]
    return join_some(
        [f"{analysis.scores.models[at]} ({format_share(float(shares[at]))})" for at in order],
        _MOST_NAMED,
    )


def _trace(front: Front, analysis: Analysis) -> Any:
    """Return the outline of the attainment band of two objectives, as (along, up) pairs."""
    scores = analysis.scores
    if len(scores.objectives) != 2 or not len(analysis.replicates):
        return None
    pair = [1, 0]
    senses = np.array(scores.senses)[pair]
    drawn = analysis.replicates[:, scores.list_models(front.name)][:, :, pair]
    # Far away: the page cuts the band at the edges of the chart.
    spread = np.ptp(scores.means[:, pair], axis=0) + np.abs(scores.means[:, pair]).max(axis=0)
    worst = scores.means[:, pair].mean(axis=0) - 4 * senses * np.maximum(spread, 1.0)
    return outline_band(drawn, senses, worst)
