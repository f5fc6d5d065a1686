"""Selection of points: subsets of large hypervolume, and environmental selection."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any, Literal, Never, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import MAX_WHOLE, choice_of, numbers_of, seed_of, whole_number
from paretopo_core._machinery.operation import Operation, Refused, refuse_value
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.types import Array, Mask, Points, Rng, Vector
from paretopo_core.memory import name_limit

SubsetMethod = Literal["greedy", "greedy_removal", "exact"]
SelectionMethod = Literal[
    "crowding",
    "crowding_removal",
    "hypervolume",
    "reference_directions",
    "NSGA-II",
    "SMS-EMOA",
    "NSGA-III",
]

_SUBSET_METHODS = {name: _core.SUBSET_METHODS.index(name) for name in get_args(SubsetMethod)}
_ALGORITHMS = {
    "NSGA-II": "crowding",
    "SMS-EMOA": "hypervolume",
    "NSGA-III": "reference_directions",
}
_SELECTION_METHODS = {
    name: _core.CUTS.index(_ALGORITHMS.get(name, name)) for name in get_args(SelectionMethod)
}
_MAX_PLANE_OBJECTIVES = 1_000  # elimination finds the plane
_MAX_DIRECTIONS = 1_000_000


@explain_calls
def hypervolume_subset(
    points: Points,
    ref: Vector,
    *extra: Never,
    k: int,
    method: SubsetMethod = "greedy",
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Array[np.int64]:
    """Choose k points of each set whose hypervolume is large.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. A point that is dominated, or not better than the reference in
            *every* objective, adds nothing, and is chosen only if no other point is left.
        ref: the reference point, finite, in the objectives' units: a number, shape (objectives,),
            or (..., objectives) for one per set.
        k: how many points to choose, from 1 to ``points``.
        method: the algorithm.

            - ``"greedy"``: adds one point after another, always the one with the largest gain. The
              volume is at least 1 - 1/e = 63 % of the largest possible volume, and usually 95 % or
              more.
            - ``"greedy_removal"``: starts from the whole set and repeatedly removes the point with
              the smallest contribution, as SMS-EMOA reduces its population.
            - ``"exact"``: the subset with the largest volume; for 1 and 2 objectives.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which is never chosen.

    Returns:
        shape (..., k), int64, indices of points; same library as ``points``. "greedy" lists them in
        the order of their addition, so that the first j are the result for k = j; the other methods
        list them in ascending order. A set with fewer than k present points is chosen whole, padded
        with -1.

        Among points with equal gains, the first is added and the last removed, so that earlier ones
        stay. If volumes differ only by rounding, either may win. If several subsets are best,
        "exact" always finds the same one.

    Raises:
        ValueError: as :func:`paretopo_core.hypervolume`; ``k`` out of range; an unknown
            ``method``, or "exact" for more than 2 objectives; points on a GPU.
        TypeError: as there; ``k`` no integer.
        MemoryError: "exact" would need more than :func:`memory_limit` allows: 4 bytes for each of
            k · (n - k) choices.

    Cost: the gain of a point is measured again only if it could be the next one. With 2 objectives,
    each greedy method usually costs O(n log n), and "exact" O(n · k). With more objectives, each
    measurement costs a contribution, see :func:`paretopo_core.hypervolume_contributions`.

    Source: greedy subsets after Guerreiro, Fonseca and Paquete (2016), "Greedy hypervolume subset
    selection in low dimensions", Evol. Comput. 24(3), and lazily after Chen, Ishibuchi and Shang
    (2022), IEEE Trans. Evol. Comput. 26(1); removal: Beume, Naujoks and Emmerich (2007), SMS-EMOA;
    exact: Bringmann, Friedrich and Klitzke (2014), "Two-dimensional subset selection for
    hypervolume and epsilon-indicator", GECCO.

    >>> points = [[1, 9], [4, 7], [5, 5], [7, 4], [9, 1]]
    >>> hypervolume_subset(points, ref=0, k=3)
    array([1, 3, 0])
    >>> hypervolume_subset(points, ref=0, k=2, method="exact")
    array([1, 3])
    """
    if extra or wrong or ref is MISSING or k is MISSING:
        refuse_call(extra, wrong)
    code = _SUBSET_METHODS[choice_of(method, "method", _SUBSET_METHODS)]
    return _SUBSET.answer(points, maximise, mask, ref, k, code)


@explain_calls
def select(
    points: Points,
    *extra: Never,
    k: int,
    method: SelectionMethod = "crowding",
    ref: Vector | None = None,
    directions: ArrayLike | None = None,
    rng: Rng = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Array[np.int64]:
    """Choose the k survivors of each set, as evolutionary algorithms do at the end of a generation.

    The fronts of :func:`paretopo_core.pareto_rank` survive, one after the other, as long as they
    fit. ``method`` chooses the survivors of the next front:

    - ``"crowding"`` or ``"NSGA-II"``: the points with the largest
      :func:`paretopo_core.crowding_distance`.
    - ``"crowding_removal"``: repeatedly removes the point with the smallest distance and updates
      its neighbours' distances. Gaps stay even if several neighbours are crowded.
    - ``"hypervolume"`` or ``"SMS-EMOA"``: repeatedly removes the point with the smallest
      hypervolume contribution; that is :func:`hypervolume_subset` with "greedy_removal".
    - ``"reference_directions"`` or ``"NSGA-III"``: points are measured from the ideal point, in
      units of the intercepts of the plane through the extreme points of the first front (at most
      of the worst value; without intercepts: of the span of that front). Each point belongs to its
      nearest direction. The direction with the fewest survivors gets the next one: its nearest
      point if it has none yet, otherwise a random one. Ties between directions are broken at
      random, too.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU.
        k: how many points survive, from 1 to ``points``.
        method: see above.
        ref: the reference point of "hypervolume", finite, in the objectives' units: a number,
            shape (objectives,), or (..., objectives) for one per set. Not for other methods.
        directions: for "reference_directions", shape (directions, objectives): none negative, none
            all zero; of any length. All sets share them. They are distances from the ideal point in
            the worse direction, for either sense. See :func:`reference_directions`.
        rng: of the random choices of "reference_directions": a seed from 0 to 2⁶³ - 1, a
            ``numpy.random.Generator``, or None for other choices each time. Each set uses the same
            seed, so a set has the same survivors in a batch and in a call of its own.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which never survives.

    Returns:
        shape (..., k), int64, indices of the survivors, ascending; same library as ``points``. A
        set with fewer than k present points survives whole, padded with -1. Among equally crowded
        points, and among points with equal contributions, the earlier ones survive.

    Raises:
        ValueError: wrong shape of an argument; ``k`` or ``rng`` out of range; an unknown
            ``method``; ``ref`` or ``directions`` missing although the method needs them, or given
            although it does not; a point that is NaN, or infinite on the better side, with
            "hypervolume", or not finite with "reference_directions"; points on a GPU.
        TypeError: ``points`` are not real numbers, ``k`` no integer, ``rng`` neither one nor a
            Generator, ``mask`` or ``maximise`` not bool.

    Cost: that of the ranks, and of the one front that is cut: O(objectives · n log n) for
    crowding; for volumes see :func:`hypervolume_subset`; O(n · directions · objectives) for
    directions.

    Source: Deb, Pratap, Agarwal and Meyarivan (2002), NSGA-II; removal: Kukkonen and Deb (2006),
    "Improved pruning of non-dominated solutions based on crowding distance", CEC; Beume, Naujoks
    and Emmerich (2007), SMS-EMOA; Deb and Jain (2014), NSGA-III, IEEE Trans. Evol. Comput. 18(4),
    normalised as in Blank, Deb and Roy (2019), EMO, within one generation; the worst values are
    those of all points, as in pymoo.

    >>> points = [[0, 9], [1, 8], [2, 7], [9, 0], [0, 0]]
    >>> select(points, k=3)
    array([0, 2, 3])
    >>> directions = reference_directions(2, 2)
    >>> select(points, k=3, method="reference_directions", directions=directions, rng=1)
    array([0, 2, 3])
    """
    if extra or wrong or k is MISSING:
        refuse_call(extra, wrong)
    code = _SELECTION_METHODS[choice_of(method, "method", _SELECTION_METHODS)]
    _check_given(ref, "ref", method, "hypervolume")
    _check_given(directions, "directions", method, "reference_directions")
    seed = 0 if rng is None and directions is None else seed_of(rng)
    return _SELECT.answer(points, maximise, mask, ref, k, code, directions, seed)


@explain_calls
def reference_directions(
    objectives: int, partitions: int, *extra: Never, **wrong: Never
) -> NDArray[np.float64]:
    """List the points of a simplex whose coordinates are multiples of 1 / partitions.

    They are spread evenly over all proportions of the objectives. NSGA-III uses them as targets,
    and methods of decomposition as weights. With many objectives, two layers with few partitions
    each need fewer points: ``np.concatenate([outer, (inner + 1 / objectives) / 2])``.

    Args:
        objectives: at least 1.
        partitions: the number of parts of each axis, at least 1.

    Returns:
        shape (directions, objectives), float64, each row with the sum 1; there are
        C(objectives + partitions - 1, partitions) of them, in ascending order: 45 for 3 objectives
        and 8 partitions, 91 for 12.

    Raises:
        ValueError: a number below 1, or more than 10⁶ directions.
        TypeError: a number that is no integer.

    Cost: O(directions · objectives).

    Source: Das and Dennis (1998), "Normal-boundary intersection", SIAM J. Optim. 8(3); layers:
    Deb and Jain (2014).

    >>> reference_directions(3, 2)
    array([[0. , 0. , 1. ],
           [0. , 0.5, 0.5],
           [0. , 1. , 0. ],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ],
           [1. , 0. , 0. ]])
    """
    if extra or wrong or partitions is MISSING:
        refuse_call(extra, wrong)
    width = whole_number(objectives, "objectives", 1, MAX_WHOLE)
    parts = whole_number(partitions, "partitions", 1, MAX_WHOLE)
    if width + parts > 2 * _MAX_DIRECTIONS or math.comb(width + parts - 1, parts) > _MAX_DIRECTIONS:
        raise ValueError(
            f"{parts} partitions of {width} objectives make more than {_MAX_DIRECTIONS:.0e} "
            "directions: take fewer partitions, and a second layer of them"
        )
    return simplex_lattice(width, parts)


def simplex_lattice(objectives: int, divisions: int) -> np.ndarray:
    """List all vectors of multiples of 1 / divisions with the sum 1, in ascending order."""
    # Stars and bars: the number of stars between two bars is a coordinate.
    places = divisions + objectives - 1
    bars = np.array(list(combinations(range(places), objectives - 1)), dtype=np.int64)
    edges = np.full((len(bars), objectives + 1), -1)
    edges[:, 1:-1] = bars.reshape(len(bars), objectives - 1)
    edges[:, -1] = places
    return (np.diff(edges, axis=1) - 1) / divisions


def _check_given(argument: Any, name: str, method: str, wants_it: str) -> None:
    """Check that an argument is given for the only method that takes it, and for no other."""
    is_wanted = _SELECTION_METHODS[method] == _SELECTION_METHODS[wants_it]
    if is_wanted and argument is None:
        raise ValueError(f"method {method!r} needs {name}=")
    if not is_wanted and argument is not None:
        raise ValueError(f"{name} is only for method={wants_it!r}: leave it out, or pass that")


def _check_directions(batch: Batch, directions: Any) -> np.ndarray | None:
    if directions is None:
        return None
    toward = numbers_of(directions, "directions")
    if toward.ndim != 2 or toward.shape[1] != batch.objectives or len(toward) == 0:
        raise ValueError(
            f"directions must have shape (directions, {batch.objectives}), at least one, got shape "
            f"{toward.shape}"
        )
    if batch.objectives > _MAX_PLANE_OBJECTIVES:
        raise ValueError(
            f"method 'reference_directions' takes at most {_MAX_PLANE_OBJECTIVES} objectives, got "
            f"{batch.objectives}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.square(toward).sum(axis=1)
        is_usable = (toward >= 0).all(axis=1) & (lengths > 0) & np.isfinite(lengths)
    if not is_usable.all():
        at = int(np.argmin(is_usable))
        raise ValueError(
            "directions must be finite, none negative and none all zero, but "
            f"directions[{at}] is {toward[at]}"
        )
    return toward


def _check_exact(batch: Batch, method: int) -> int:
    if method == _SUBSET_METHODS["exact"] and batch.objectives > 2:
        raise ValueError(
            f"method 'exact' takes 1 or 2 objectives, got {batch.objectives}: with more the best "
            "subset is NP-hard to find; pass method='greedy'"
        )
    return method


def _refuse_choices(refused: Refused) -> None:
    if not refused.refusal.is_too_large:
        refuse_value(refused)
    raise MemoryError(
        f"the best {refused.arguments[1]} of {refused.batch.points} points would take more than "
        f"{name_limit()} to find: take fewer points, method='greedy', or raise memory_limit()"
    )


def _refuse_point(refused: Refused) -> None:
    if refused.arguments[3] is not None and math.isinf(refused.value):
        raise ValueError(
            f"points must be finite for reference directions, but points{list(refused.place)} is "
            f"{refused.value}; leave such points out with mask="
        )
    refuse_value(refused)


_SUBSET = Operation(
    _core.hypervolume_subset,
    cpu_only="subsets",
    checks={"method": _check_exact},
    refuse=_refuse_choices,
)
_SELECT = Operation(
    _core.select,
    cpu_only="subsets",
    checks={"directions": _check_directions},
    refuse=_refuse_point,
)
