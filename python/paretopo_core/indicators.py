"""Quality indicators of a set of points: distances to a target set, and R2.

Names and definitions are those of moocore, if it has the indicator. moocore minimises by default,
so pass ``maximise=False`` to do the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core import _core
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.arrays import Batch, places_of
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import number_of, numbers_of
from paretopo_core._machinery.operation import Operation, Refused
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.shapes import broadcast_sets
from paretopo_core._machinery.torch_arrays import is_tensor
from paretopo_core._machinery.types import Mask, PerPair, PerSet, Points, Vector
from paretopo_core.subsets import simplex_lattice

_MAX_WEIGHTS = 10**7  # vectors that a lattice may have


_CODES = {name: code for code, name in enumerate(_core.INDICATORS)}


def _with_exponent(name: str, text: str) -> Callable[..., Any]:
    """Return the public function of a compiled indicator that takes power means."""
    code = _CODES[name]

    def indicator(
        points: Points,
        target: ArrayLike,
        *extra: Never,
        p: float = 1.0,
        maximise: Maximise = True,
        mask: Mask = None,
        target_mask: Mask = None,
        **wrong: Never,
    ) -> PerPair[np.float64]:
        if extra or wrong or target is MISSING:
            refuse_call(extra, wrong)
        if type(p) is not float:
            p = number_of(p, "p")
        return _INDICATOR.answer(points, maximise, mask, target, code, p, target_mask, None)

    return _publish(indicator, name, text)


def _without_exponent(name: str, text: str) -> Callable[..., Any]:
    """Return the public function of a compiled indicator that takes a maximum."""
    code = _CODES[name]

    def indicator(
        points: Points,
        target: ArrayLike,
        *extra: Never,
        maximise: Maximise = True,
        mask: Mask = None,
        target_mask: Mask = None,
        **wrong: Never,
    ) -> PerPair[np.float64]:
        if extra or wrong or target is MISSING:
            refuse_call(extra, wrong)
        return _INDICATOR.answer(points, maximise, mask, target, code, 1.0, target_mask, None)

    return _publish(indicator, name, text)


def _publish(function: Any, name: str, text: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name)  # which errors show
    function.__doc__ = text
    return explain_calls(function)


inverted_generational_distance = _with_exponent(
    "inverted_generational_distance",
    """Inverted generational distance: mean distance from target points to the nearest point.

    This is the mean over the target set R of d(r) = min over points a of ‖a - r‖₂, or the power
    mean ``(Σ d(r)^p / |R|)^(1/p)``. It does not depend on the senses of the objectives, and a
    better set may have a larger value: see :func:`inverted_generational_distance_plus`.

    Args:
        points: shape (..., points, objectives), any real dtype, finite; a NumPy array, a list, or a
            torch tensor on the CPU. Scale the objectives to comparable units first, because a
            distance adds them up.
        target: shape (target points, objectives) for all sets, or (..., target points,
            objectives), finite, at least one point each. Leading dimensions are broadcast.
        p: the exponent of the power mean, positive; ``math.inf`` gives the largest distance.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.
        target_mask: shape (..., target points), bool; False marks padding.

    Returns:
        shape (...), float64; a NumPy scalar for one set; smaller is better. Without points it is
        infinite. Same library as ``points``.

    Raises:
        ValueError: wrong shape of an argument; a value that is NaN or infinite; a target set
            without points; ``p`` not positive; points on a GPU.
        TypeError: ``points`` or ``target`` are not real numbers, masks or ``maximise`` not bool.
            A derivative of this result raises NotImplementedError.

    Cost: O(points · target points · objectives), about 0.1 ns for each on AVX-512; chunks of
    one large target set are shared between threads. Distances are computed in float64,
    each at its own scale.

    Source: Coello Coello and Reyes Sierra (2004), MICAI; the power mean: Schütze, Esquivel, Lara
    and Coello Coello (2012), IEEE Trans. Evol. Comput. 16(4), IGD_p.

    >>> points = [[3.5, 5.5], [3.6, 4.1], [4.1, 3.2], [5.5, 1.5]]
    >>> target = [[1, 6], [2, 5], [3, 4], [4, 3], [5, 2], [6, 1]]
    >>> inverted_generational_distance(points, target, maximise=False).round(9)
    np.float64(1.062790867)
    """,
)


inverted_generational_distance_plus = _with_exponent(
    "inverted_generational_distance_plus",
    """Compute IGD+, the mean amount by which the nearest point falls short of a target point.

    As :func:`inverted_generational_distance`, with a distance that counts only the
    objectives in which a point is worse than
    the target point: d⁺(r, a) = ‖max(r - a, 0)‖₂ if larger is better, max(a - r, 0) if smaller
    is. It never grows when the set gets better.

    Arguments, result, errors and cost are those of :func:`inverted_generational_distance`.

    Source: Ishibuchi, Masuda, Tanigaki and Nojima (2015), "Modified distance calculation in
    generational distance and inverted generational distance", EMO.

    >>> inverted_generational_distance_plus([[1, 2], [4, 4]], [[2, 2], [5, 4]])
    np.float64(0.5)
    """,
)


generational_distance = _with_exponent(
    "generational_distance",
    """Generational distance: the mean distance from a point to the nearest target point.

    This is the mean over the points of min over the target set of ‖a - r‖₂, or the power mean:
    :func:`inverted_generational_distance` with the two sets exchanged. A set of one good point
    has the best value, so use
    another indicator as well.

    Arguments, result, errors and cost are those of :func:`inverted_generational_distance`,
    but without points the result is
    NaN, because there is nothing to average.

    Source: Schütze, Esquivel, Lara and Coello Coello (2012), GD_p. The first definition, by Van
    Veldhuizen and Lamont (1998), is that with p = 2, divided by the square root of the number of
    points.

    >>> generational_distance([[1, 2], [4, 4]], [[1, 1], [4, 0]])
    np.float64(2.5)
    """,
)


generational_distance_plus = _with_exponent(
    "generational_distance_plus",
    """Compute GD+, the mean amount by which a point falls short of the nearest target point.

    As :func:`generational_distance`, with the distance d⁺ of
    :func:`inverted_generational_distance_plus`.

    Arguments, result, errors and cost are those of :func:`generational_distance`.

    Source: Ishibuchi, Masuda, Tanigaki and Nojima (2015), as
    :func:`inverted_generational_distance_plus`.

    >>> generational_distance_plus([[1, 2], [4, 4]], [[2, 2], [5, 4.5]])
    np.float64(0.5)
    """,
)


average_hausdorff_distance = _with_exponent(
    "average_hausdorff_distance",
    """Average Hausdorff distance: the larger of GD_p and IGD_p.

    Arguments, result and errors are those of :func:`inverted_generational_distance`. ``p``
    applies to both power means; ``math.inf`` gives the Hausdorff distance. The cost is twice that
    of the other function.

    Source: Schütze, Esquivel, Lara and Coello Coello (2012), "Using the averaged Hausdorff
    distance as a performance measure", IEEE Trans. Evol. Comput. 16(4).

    >>> average_hausdorff_distance([[0, 0], [0, 3]], [[0, 0]], p=math.inf)
    np.float64(3.0)
    """,
)


epsilon_additive = _without_exponent(
    "epsilon_additive",
    """Additive ε: by how much the points have to be raised to reach every target point.

    This is max over r of min over a of max over objectives of r - a, or of a - r if smaller is
    better. It is negative for a set that is better than the entire target set.

    Arguments but ``p``, result and errors are those of :func:`inverted_generational_distance`.

    Cost: O(points · target points · objectives) at worst. A target point is finished as soon
    as it cannot raise the maximum.

    Source: Zitzler, Thiele, Laumanns, Fonseca and Grunert da Fonseca (2003), "Performance
    assessment of multiobjective optimizers", IEEE Trans. Evol. Comput. 7(2).

    >>> epsilon_additive([[1, 2], [4, 4]], [[2, 2], [5, 4]])
    np.float64(1.0)
    """,
)


epsilon_multiplicative = _without_exponent(
    "epsilon_multiplicative",
    """Multiplicative ε: the factor by which the points have to be better to reach the target.

    This is max over r of min over a of max over objectives of r / a, or of a / r if smaller is
    better. It is below 1 for a set that is better than the entire target set.

    Arguments but ``p``, result and errors are those of :func:`inverted_generational_distance`.
    Every value of points and
    target must be above 0 and not subnormal; the result has no unit.

    Raises:
        ValueError: a value that is not above 0; more than 64 objectives, if one of them is
            minimised.

    Cost: as :func:`epsilon_additive`. Ratios are products with an inverse, exact to 1e-15.

    Source: Zitzler et al. (2003), as :func:`epsilon_additive`.

    >>> epsilon_multiplicative([[1, 2], [4, 4]], [[2, 2], [5, 4]])
    np.float64(1.25)
    """,
)


def _check_target(batch: Batch, target: Any) -> Batch:
    if is_tensor(target) and not is_tensor(batch.values):
        target = torch_arrays.host_array(target, "target")
    checked = Batch.of(target, name="target")
    checked.refuse_gpu("target", "indicators")
    return checked


def _prepare_target(
    _: Batch, given: Batch, target: Batch, which: int, p: float, target_mask: Any, __: None
) -> tuple[Batch, tuple[Any, ...]]:
    target.mask = target.bools(target_mask, "target_mask")
    _refuse_empty(target)
    if not p > 0:
        raise ValueError(f"p must be above 0 (math.inf: the largest distance), got {p}")
    if _core.INDICATORS[which] == "epsilon_multiplicative" and given.signs is not None:
        raise ValueError(
            f"epsilon_multiplicative takes up to 64 objectives where smaller is better, got "
            f"{given.objectives}: pass the reciprocals of those values, and maximise=True"
        )
    if given.signs is not None:
        target.signs = given.signs
        target.values = target.library.apply_signs(target.values, given.signs)
    target.minimised = given.minimised
    places = places_of(target.leading, given.leading)
    return given, (target.view(), which, p, None, places)


def _broadcast(points: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...]:
    if len(target) < 2 or target[-1] != points[-1]:
        raise ValueError(
            f"target must have shape (..., target points, {points[-1]}), with as many "
            f"objectives as the points, got {tuple(target)}"
        )
    return broadcast_sets(target, points, "target points", "points")


def _refuse_empty(target: Batch) -> None:
    is_empty = target.points == 0
    if target.mask is not None and not is_empty:
        counts = np.asarray(target.mask).any(-1)
        is_empty = not bool(counts.all())
    if is_empty and 0 not in target.leading:
        raise ValueError(
            "target must have at least one point in each set, got shape "
            f"{tuple(target.values.shape)}"
            + ("" if target.mask is None else " and a target_mask without any")
        )


def _refuse_row(refused: Refused) -> None:
    _, which = refused.arguments[:2]
    is_ratio = _core.INDICATORS[which] == "epsilon_multiplicative"
    if refused.refusal.argument == 0:
        refuse_place(refused.place, refused.value, "points", "mask", is_ratio=is_ratio)
    target = refused.arguments[0]
    other = refused._replace(batch=target, given=target)
    refuse_place(other.place, other.value, "target", "target_mask", is_ratio=is_ratio)


def refuse_place(
    place: tuple[int, ...], value: float, name: str, mask: str = "", *, is_ratio: bool = False
) -> Never:
    """Raise the error of a value that is not finite, or has no ratio."""
    wanted = (
        "finite and above 0 (2.3e-308 at least), for ratios are taken" if is_ratio else "finite"
    )
    raise ValueError(
        f"{name} must be {wanted}, but {name}{list(place)} is {value}; leave such points out"
        + (f" with {mask}=" if mask else "")
    )


@explain_calls
def r2_indicator(
    points: Points,
    ideal: Vector,
    *extra: Never,
    weights: ArrayLike | int | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerSet[np.float64]:
    """Compute R2, the mean weighted Tchebycheff distance from the ideal point.

    This is the mean over weight vectors w of min over points a of max over objectives m of w[m] ·
    gap[m](a). The gap is the distance from the ideal point in the worse direction, and 0 for a
    value better than the ideal. For two objectives without ``weights``, the result is the exact
    mean over all weights (w, 1 - w), with w uniform in 0..1. This exact mean is strictly
    Pareto-compliant, and equals moocore's ``r2_exact``.

    Args:
        points: shape (..., points, objectives), any real dtype, finite; a NumPy array, a list, or a
            torch tensor on the CPU.
        ideal: the ideal or a utopian point, finite, in the objectives' units: a number, shape
            (objectives,), or (..., objectives) for one per set.
        weights: None for all weights, with two objectives; or vectors of shape (vectors,
            objectives), finite, none negative; or an integer H for the lattice of Das and Dennis
            (1998), which has all C(H + objectives - 1, objectives - 1) vectors of multiples of 1/H
            with the sum 1.
        maximise: whether larger is better, also for ``ideal``; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (...), float64, in the objectives' units; a NumPy scalar for one set; smaller is
        better; infinite without points. Same library as ``points``.

    Raises:
        ValueError: wrong shape of an argument; a value that is NaN or infinite; no ``weights``,
            unless there are two objectives; a negative weight; points on a GPU.
        TypeError: an argument does not hold real numbers, ``mask`` or ``maximise`` not bool. A
            derivative of this result raises NotImplementedError.

    Cost: O(n log n) without weights; else O(points · vectors · objectives).

    Source: Hansen and Jaszkiewicz (1998), IMM-REP-1998-7, R2; unary with an ideal point: Brockhoff,
    Wagner and Trautmann (2012), "On the properties of the R2 indicator", GECCO; exact:
    Schäpermeier and Kerschke (2025), "R2 v2: the Pareto-compliant R2 indicator for better
    benchmarking in bi-objective optimization".

    >>> points = [[5, 5], [4, 6], [2, 7], [7, 4]]
    >>> r2_indicator(points, 0, maximise=False).round(12)
    np.float64(2.594191919192)
    >>> r2_indicator(points, 0, weights=[[1, 0], [0.5, 0.5], [0, 1]], maximise=False).round(12)
    np.float64(2.833333333333)
    """
    if extra or wrong or ideal is MISSING:
        refuse_call(extra, wrong)
    if weights is None or isinstance(weights, bool) or not isinstance(weights, (int, np.integer)):
        return _R2.answer(points, maximise, mask, ideal, weights, None)
    return _R2.answer(points, maximise, mask, ideal, None, int(weights))


def _prepare_weights(
    _: Batch, given: Batch, ideal: Any, weights: Any, divisions: int | None
) -> tuple[Batch, tuple[Any, ...]]:
    return given, (ideal, _vectors_of(weights, divisions, given.objectives), None)


def _vectors_of(weights: Any, divisions: int | None, objectives: int) -> np.ndarray | None:
    """Give the weight vectors as rows, or None for all weights of two objectives."""
    if divisions is not None:
        return _lattice(divisions, objectives)
    if weights is None:
        if objectives == 2:
            return None
        raise ValueError(
            f"weights must be given for {objectives} objectives (only two have a closed form): "
            f"shape (vectors, {objectives}), or the divisions of a lattice"
        )
    vectors = numbers_of(weights, "weights")
    if vectors.ndim != 2 or vectors.shape[1] != objectives or len(vectors) == 0:
        raise ValueError(
            f"weights must have shape (vectors, {objectives}), at least one vector, got shape "
            f"{vectors.shape}"
        )
    is_wrong = ~(np.isfinite(vectors) & (vectors >= 0))
    if is_wrong.any():
        at = tuple(int(i) for i in np.argwhere(is_wrong)[0])
        raise ValueError(
            f"weights must be finite and not negative, got {vectors[at]} in vector {at[0]}"
        )
    return np.ascontiguousarray(vectors)


def _lattice(divisions: int, objectives: int) -> np.ndarray:
    """List all vectors of multiples of 1 / divisions with the sum 1."""
    if divisions < 1:
        raise ValueError(f"weights must be at least 1 division, got {divisions}")
    count = math.comb(divisions + objectives - 1, objectives - 1)
    if count > _MAX_WEIGHTS:
        raise ValueError(
            f"weights={divisions} makes {count} vectors of {objectives} objectives, more than "
            f"{_MAX_WEIGHTS}: take fewer divisions, or pass vectors"
        )
    return simplex_lattice(objectives, divisions)


_INDICATOR = Operation(
    _core.indicator,
    cpu_only="indicators",
    checks={"target": _check_target, "target_mask": lambda _, mask: mask},
    prepare=_prepare_target,
    refuse=_refuse_row,
    broadcast=_broadcast,
)
_R2 = Operation(
    _core.r2_indicator,
    cpu_only="indicators",
    prepare=_prepare_weights,
    refuse=lambda refused: refuse_place(refused.place, refused.value, "points", "mask"),
)
