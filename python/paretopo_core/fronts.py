"""Non-dominated sorting."""

from __future__ import annotations

from typing import Any

from paretopo_core import _core
from paretopo_core._arrays import ArrayT, Batch, answer
from paretopo_core._senses import Maximise


def pareto_rank(points: ArrayT, *, maximise: Maximise = True, mask: Any = None) -> ArrayT:
    """Rank the points of each set by non-dominated sorting.

    Front 0 holds the points nobody in the set dominates, front 1 those that only front 0
    dominates, and so on. Point a dominates point b when a is at least as good in every
    objective and better in one.

    Args:
        points: shape (..., points, objectives), any real dtype, dimensionless; a NumPy array,
            a list, a torch tensor on CPU or CUDA, or another array on a GPU, such as CuPy's. NaN
            counts as worse than every number.
        maximise: whether larger is better; one bool, or one per objective. (moocore, pymoo
            and pygmo minimise: pass ``maximise=False`` for their meaning.)
        mask: shape (..., points), bool; False marks padding, which gets rank -1.

    Returns:
        shape (..., points), int32, 0 = best; same library and device as ``points``.
        Equal points get equal ranks.

    Raises:
        ValueError: wrong shape of an argument, or no objectives.
        TypeError: ``points`` are not real numbers, ``mask`` or ``maximise`` not bool.

    Cost: O(points² · objectives) per set, a row of bits for each point, up to 64 points with 2
    objectives, 128 with 3 and 256 with more, and on a GPU always; larger sets on the CPU O(n log n)
    with 2 objectives, O(n log² n) typically with 3, and O(n · fronts-searched · objectives) from 4,
    at worst O(n² · objectives). On a GPU the work is queued on the current stream, and nothing
    waits for it.

    Source: Deb, Pratap, Agarwal and Meyarivan (2002), "A fast and elitist multiobjective
    genetic algorithm: NSGA-II", IEEE Trans. Evol. Comput. 6(2), section III-A; for large sets
    Jensen (2003), IEEE Trans. Evol. Comput. 7(5), and Zhang et al. (2015), IEEE Trans. Evol.
    Comput. 19(2).

    >>> import numpy as np
    >>> pareto_rank(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    array([0, 0, 1], dtype=int32)
    """
    ranks: ArrayT = answer("pareto_rank", compute_ranks, points, maximise, mask)
    return ranks


def compute_ranks(points: ArrayT, maximise: Maximise, mask: Any) -> ArrayT:
    """See :func:`pareto_rank`; torch sees nothing of it."""
    batch = Batch.of(points, maximise=maximise, mask=mask)
    ranks: ArrayT = batch.empty(batch.per_point, "int32")
    _core.pareto_rank(batch.view("pareto_rank"), batch.address(ranks))
    return ranks


def is_nondominated(
    points: ArrayT, *, maximise: Maximise = True, keep_weakly: bool = True, mask: Any = None
) -> ArrayT:
    """Tell which points of each set nobody in the set dominates.

    Args:
        points: shape (..., points, objectives), as for :func:`pareto_rank`.
        maximise: whether larger is better; one bool, or one per objective.
        keep_weakly: whether all of several equal points are kept (then the result equals
            ``pareto_rank(points) == 0``), or only the first of them. (moocore's default is
            False.)
        mask: shape (..., points), bool; False marks padding, for which the answer is False.

    Returns:
        shape (..., points), bool; same library and device as ``points``.

    Raises:
        ValueError: wrong shape of an argument, or no objectives.
        TypeError: ``points`` are not real numbers, ``mask`` or ``maximise`` not bool.

    Cost: O(n log n) up to 3 objectives, O(n) where few points are left once a few good ones have
    been compared with all; from 4 O(n · front · objectives); on a GPU O(n²) at worst.

    Source: Kung, Luccio and Preparata (1975), "On finding the maxima of a set of vectors",
    Journal of the ACM 22(4).

    >>> is_nondominated([[1, 0], [0, 1], [0, 1], [0, 0]])
    array([ True,  True,  True, False])
    >>> is_nondominated([[1, 0], [0, 1], [0, 1], [0, 0]], keep_weakly=False)
    array([ True,  True, False, False])
    """
    weakly = bool(keep_weakly)
    nondominated: ArrayT = answer(
        "is_nondominated", compute_nondominated, points, maximise, weakly, mask
    )
    return nondominated


def compute_nondominated(
    points: ArrayT, maximise: Maximise, keep_weakly: bool, mask: Any
) -> ArrayT:
    """See :func:`is_nondominated`; torch sees nothing of it."""
    batch = Batch.of(points, maximise=maximise, mask=mask)
    nondominated: ArrayT = batch.empty(batch.per_point, "bool")
    view = batch.view("is_nondominated")
    _core.is_nondominated(view, keep_weakly, batch.address(nondominated))
    return nondominated
