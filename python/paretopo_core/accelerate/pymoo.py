"""What pymoo computes with moocore, on this core.

Its modules import moocore's functions by name, and call them with moocore's signatures: each of
these names gets the function of :mod:`paretopo_core.compat.moocore`.
"""

from __future__ import annotations

from pymoo.algorithms.moo import sms
from pymoo.indicators import hv
from pymoo.indicators.hv import approximate
from pymoo.util.nds import non_dominated_sorting as sorting

from paretopo_core.accelerate import Replacement
from paretopo_core.compat import moocore


def replacements() -> list[Replacement]:
    """Ranks, fronts, hypervolumes and contributions: NSGA-II, NSGA-III, SMS-EMOA, indicators."""
    return [
        Replacement(sorting, "pareto_rank", moocore.pareto_rank),
        Replacement(sorting, "is_nondominated", moocore.is_nondominated),
        Replacement(hv, "_hypervolume", moocore.hypervolume),
        Replacement(sms, "hv_contributions", moocore.hv_contributions),
        Replacement(approximate, "hv_contributions", moocore.hv_contributions),
    ]
