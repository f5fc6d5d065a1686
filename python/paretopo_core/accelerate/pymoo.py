"""pymoo's calls of moocore and its NumPy code over all pairs, on this core.

Its modules import moocore's functions by name and call them with moocore's signatures. Each of
these names gets the function of :mod:`paretopo_core.compat.moocore`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from pymoo.algorithms.moo import sms
from pymoo.indicators import epsilon, hv, igd, igd_plus
from pymoo.indicators.distance_indicator import (
    DistanceIndicator,
    euclidean_distance,
    modified_distance,
)
from pymoo.indicators.hv import approximate
from pymoo.util.nds import non_dominated_sorting as sorting

import paretopo_core as pp
from paretopo_core.accelerate import Replacement
from paretopo_core.compat import moocore

_average_any = DistanceIndicator._do
_FROM_POINTS = {
    euclidean_distance: pp.generational_distance,
    modified_distance: pp.generational_distance_plus,
}


def replacements() -> list[Replacement]:
    """Ranks, fronts, hypervolumes, contributions and distances: the algorithms and indicators."""
    return [
        Replacement(sorting, "pareto_rank", moocore.pareto_rank),
        Replacement(sorting, "is_nondominated", moocore.is_nondominated),
        Replacement(hv, "_hypervolume", moocore.hypervolume),
        Replacement(sms, "hv_contributions", moocore.hv_contributions),
        Replacement(approximate, "hv_contributions", moocore.hv_contributions),
        Replacement(igd, "_igd", _of_numbers(moocore.igd, igd._igd)),
        Replacement(igd_plus, "_igd_plus", _of_numbers(moocore.igd_plus, igd_plus._igd_plus)),
        *(
            Replacement(
                epsilon,
                f"_{name}",
                _of_numbers(getattr(moocore, name), getattr(epsilon, f"_{name}")),
            )
            for name in ("epsilon_additive", "epsilon_mult")
        ),
        Replacement(DistanceIndicator, "_do", average),
    ]


def average(self: DistanceIndicator, F: np.ndarray) -> float:
    """Average the distances from the points to their nearest points of the front: GD and GD+."""
    measure = _FROM_POINTS.get(self.dist_func)
    if measure is None or self.axis != 0 or self.norm_by_dist or not _are_finite(F, self.pf):
        return _average_any(self, F)
    return float(measure(F, self.pf, maximise=False))


def _of_numbers(ours: Callable[..., float], own: Callable[..., float]) -> Callable[..., float]:
    """Return a function that uses moocore's code if a value is NaN or infinite, else ours."""

    def measure(points: np.ndarray, /, ref: np.ndarray, **keywords: Any) -> float:
        return (ours if _are_finite(points, ref) else own)(points, ref=ref, **keywords)

    return measure


def _are_finite(*arrays: np.ndarray) -> bool:
    return all(bool(np.isfinite(each).all()) for each in arrays)
