"""Crowding distance."""

from __future__ import annotations

from typing import Never

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core import _core
from paretopo_core._machinery.calls import explain_calls, refuse_call
from paretopo_core._machinery.operation import Operation
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.types import Mask, PerPoint, Points

_CROWDING = Operation(_core.crowding_distance)


@explain_calls
def crowding_distance(
    points: Points,
    *extra: Never,
    maximise: Maximise = True,
    ranks: ArrayLike | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.float64]:
    """Compute crowding distances: the gaps between each point's neighbours on its own front.

    The fronts are those of :func:`paretopo_core.pareto_rank`. Within a front and for each
    objective, a point gets the distance between its two neighbours, divided by the span of the
    front; the sum over objectives is its distance. The first and the last point of an objective get
    infinity. The order is from the worst value to the best, and by index if values are equal. An
    objective in which all points of a front are equal adds nothing and has no ends, so that the
    order of the points does not matter. The only point of a front gets infinity.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a
            torch tensor on CPU or CUDA.
        maximise: whether larger is better; one bool, or one per objective.
        ranks: shape (..., points), integers: the fronts, if they are already known from
            ``pareto_rank`` for the same points, senses and mask. The call then does not compute
            them again.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float64, dimensionless; same library and device as ``points``. An
        objective with an infinite span adds nothing, except the infinity of its two ends.

    Raises:
        ValueError: wrong shape of an argument, or no objectives.
        TypeError: ``points`` are not real numbers, ``ranks`` not integers, ``mask`` or ``maximise``
            not bool. A derivative of this result raises NotImplementedError.

    Cost: that of the ranks, unless given, and O(objectives · n log n); on a GPU O(objectives ·
    n log² n).

    Source: Deb, Pratap, Agarwal and Meyarivan (2002), NSGA-II, section III-B. pymoo and DEAP divide
    the sum by the number of objectives; pygmo does not.

    >>> crowding_distance([[0, 4], [1, 3], [4, 0]])
    array([inf,  2., inf])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    return _CROWDING.answer(points, maximise, mask, ranks)
