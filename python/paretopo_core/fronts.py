"""Non-dominated sorting."""

from __future__ import annotations

from typing import Literal, Never, get_args

import numpy as np
from numpy.typing import ArrayLike

# The module, because Python 3.11 calls the methods of imported names more slowly.
from paretopo_core import _dominance
from paretopo_core._machinery.calls import explain_calls, refuse_call
from paretopo_core._machinery.numbers import choice_of
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.types import Mask, PerPoint, Points, Vector

Dominance = Literal["weak", "strict"]
Duplicates = Literal["all", "first", "none"]
_DOMINANCES, _DUPLICATES = get_args(Dominance), get_args(Duplicates)
_WEAK, _ALL = _DOMINANCES[0], _DUPLICATES[0]  # compared by identity first, for tiny calls


@explain_calls
def pareto_rank(
    points: Points,
    *extra: Never,
    maximise: Maximise = True,
    dominance: Dominance = "weak",
    violation: ArrayLike | None = None,
    n_below: int | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.int32]:
    """Rank the points of each set by non-dominated sorting.

    Front 0 holds the points that no other point in the set dominates, front 1 those that only
    points of front 0 dominate, and so on. Point a dominates point b if a is at least as good in
    every objective and better in one.

    Args:
        points: shape (..., points, objectives), any real dtype, dimensionless; a NumPy array,
            a list, a torch tensor on CPU or CUDA, or another array on a GPU, such as CuPy's. NaN
            counts as worse than every number.
        maximise: whether larger is better; one bool, or one per objective. (moocore, pymoo and
            pygmo minimise: pass ``maximise=False`` to do the same.)
        dominance: "weak", as above; or "strict": a point dominates another only if it is better in
            *every* objective, so that front 0 holds all weakly Pareto-optimal points.
        violation: shape (..., points), numbers: the total constraint violation of each point, where
            0 or less is feasible and NaN is worse than every number. With shape (..., points,
            constraints), the total is the sum of the positive parts of a row. Feasible points are
            ranked among themselves. The others follow after the last of these fronts, ranked only
            by their violation (constrained domination); equal violations share a rank.
        n_below: stop once whole fronts hold at least this many points of each set; all others share
            the next rank. By default, every point gets the rank of its own front.
        mask: shape (..., points), bool; False marks padding, which gets rank -1.

    Returns:
        shape (..., points), int32, 0 = best; same library and device as ``points``.
        Equal points get equal ranks.

    Raises:
        ValueError: wrong shape of an argument, or no objectives; an unknown
            ``dominance``; ``n_below`` below 1.
        TypeError: ``points`` or ``violation`` are not real numbers, ``n_below`` not a whole one,
            ``mask`` or ``maximise`` not bool; an option with points on a GPU that are no tensor.

    Cost: O(points² · objectives) for small sets; for large ones O(n log n) with 2 objectives, O(n
    log² n) typically with 3, and at worst O(n² · objectives) from 4 on. On a GPU, large sets take
    sorts and searches that skip most points; the work is queued on the current stream, and the host
    does not wait for it. "strict" first sorts by each objective three times; ``violation`` adds the
    ranks of one objective. ``n_below`` saves time if a few fronts hold that many points.

    Source: Deb, Pratap, Agarwal and Meyarivan (2002), "A fast and elitist multiobjective
    genetic algorithm: NSGA-II", IEEE Trans. Evol. Comput. 6(2), section III-A; for large sets
    Jensen (2003), IEEE Trans. Evol. Comput. 7(5), and Zhang et al. (2015), IEEE Trans. Evol.
    Comput. 19(2). Constrained domination: Deb (2000), Comput. Methods Appl. Mech. Engrg. 186, and
    Deb et al. (2002), section VI-A. ``n_below`` is Optuna's. "strict": Miettinen (1999),
    "Nonlinear Multiobjective Optimization", definition 2.5.1, weak Pareto optimality.

    >>> import numpy as np
    >>> pareto_rank(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    array([0, 0, 1], dtype=int32)
    >>> pareto_rank([[1, 0], [0, 1], [0, 0]], dominance="strict")
    array([0, 0, 0], dtype=int32)
    >>> pareto_rank([[9, 9], [1, 0], [0, 1], [8, 8]], violation=[0.5, 0, 0, 0.1])
    array([2, 0, 0, 1], dtype=int32)
    >>> pareto_rank([[9, 9], [1, 0], [0, 1]], violation=[[-3, 0.5], [0, 0], [-1, -1]])
    array([1, 0, 0], dtype=int32)
    >>> pareto_rank([[3], [4], [1], [2], [0]], n_below=2)
    array([1, 0, 2, 2, 2], dtype=int32)
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    if (
        (dominance is not _WEAK and choice_of(dominance, "dominance", _DOMINANCES) != _WEAK)
        or violation is not None
        or n_below is not None
    ):
        return _dominance.CONSTRAINED_RANKS.answer(
            points, maximise, mask, dominance, violation, n_below
        )
    return _dominance.RANKS.answer(points, maximise, mask)


@explain_calls
def is_nondominated(
    points: Points,
    *extra: Never,
    maximise: Maximise = True,
    dominance: Dominance = "weak",
    duplicates: Duplicates = "all",
    violation: ArrayLike | None = None,
    epsilon: Vector | None = None,
    duplicate_tolerance: Vector | None = None,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.bool_]:
    """Mark the points of each set that no other point in the set dominates.

    Args:
        points: shape (..., points, objectives), as for :func:`pareto_rank`.
        maximise: whether larger is better; one bool, or one per objective.
        dominance: "weak"; or "strict": only a point that is better in *every* objective removes
            another one, so that the weakly Pareto-optimal points are kept.
        duplicates: which of several equal points are kept: "all" (then the result equals
            ``pareto_rank(points) == 0``), only the "first" (moocore's default), or "none".
        violation: shape (..., points) or (..., points, constraints), numbers; 0 or less is
            feasible. As in :func:`pareto_rank`, feasible points dominate all others. If no point is
            feasible, the points with the least violation are kept, and count as equal.
        epsilon: divide objective space into boxes with sides of this length, in the units of the
            objectives: a number, or one per objective, larger than 0. One point is kept in each box
            that no other box dominates: the one nearest to the box's best corner, with distances in
            units of the sides. Among equally near points, the one that is better in the first
            objective that differs is kept; among equal points, the first. Boxes are counted from 0.
            A point on the border of two boxes belongs to the worse one.
        duplicate_tolerance: keep only one of several points that lie this close together, in the
            units of the objectives: a number, or one per objective, 0 or more. The points that the
            other options keep are visited in their order. A point is dropped if it differs from an
            earlier kept one by at most the tolerance in every objective. Dominance stays exact.
        mask: shape (..., points), bool; False marks padding, for which the answer is False.

    Returns:
        shape (..., points), bool; same library and device as ``points``.

    Raises:
        ValueError: wrong shape of an argument, or no objectives; an unknown ``dominance`` or
            ``duplicates``; ``epsilon`` not finite or not larger than 0, or together with "strict";
            ``duplicate_tolerance`` not finite or negative; one of the two with "none".
        TypeError: an argument that must hold real numbers holds other values, ``mask`` or
            ``maximise`` not bool; an option with points on a GPU that are no tensor.
        NotImplementedError: ``duplicate_tolerance`` while torch compiles, traces or transforms.

    Cost: O(n log n) up to 3 objectives, often O(n); from 4 on, O(n · front · objectives); on a GPU,
    a sort and searches that skip most points. ``violation`` adds a filter of one objective. "none"
    filters twice. "strict" compares the dropped points with the others, or sorts by each objective
    three times. ``epsilon`` adds O(n), and for tensors one sort by each objective.
    ``duplicate_tolerance`` sorts the points that stay by each objective, on the CPU, and compares
    those within the tolerance in one of them.

    Source: Kung, Luccio and Preparata (1975), "On finding the maxima of a set of vectors",
    Journal of the ACM 22(4). "strict": Miettinen (1999), as :func:`pareto_rank`. Constrained
    domination: Deb et al. (2002), NSGA-II, section VI-A. Boxes: Laumanns, Thiele, Deb and Zitzler
    (2002), Evolutionary Computation 10(3), algorithm 2, with additive boxes and the nearer of two
    in a box as in Deb, Mohan and Mishra (2005), Evolutionary Computation 13(4).

    >>> is_nondominated([[1, 0], [0, 1], [0, 1], [0, 0]])
    array([ True,  True,  True, False])
    >>> is_nondominated([[1, 0], [0, 1], [0, 1], [0, 0]], duplicates="first")
    array([ True,  True, False, False])
    >>> is_nondominated([[2, 1], [1, 1], [1, 0]], dominance="strict")
    array([ True,  True, False])
    >>> is_nondominated([[1.9, 0.1], [1.2, 0.9], [0.5, 1.5], [0.4, 1.6]], epsilon=1)
    array([False,  True,  True, False])
    >>> is_nondominated([[1, 0], [0, 1], [1e-12, 1 - 1e-12]], duplicate_tolerance=1e-8)
    array([ True,  True, False])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    if (
        (dominance is not _WEAK and choice_of(dominance, "dominance", _DOMINANCES) != _WEAK)
        or (duplicates is not _ALL and choice_of(duplicates, "duplicates", _DUPLICATES) == "none")
        or violation is not None
        or epsilon is not None
        or duplicate_tolerance is not None
    ):
        return _dominance.CONSTRAINED_FILTER.answer(
            points,
            maximise,
            mask,
            dominance,
            duplicates,
            violation,
            epsilon,
            duplicate_tolerance,
        )
    return _dominance.NONDOMINATED.answer(points, maximise, mask, duplicates == "all")
