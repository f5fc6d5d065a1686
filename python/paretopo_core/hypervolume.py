"""Hypervolume and the contribution of each point to it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Never

import numpy as np

from paretopo_core import _core
from paretopo_core._arrays import Batch
from paretopo_core._calls import MISSING, explain_calls, refuse_call
from paretopo_core._dominance import NONDOMINATED
from paretopo_core._numbers import flag_of
from paretopo_core._operation import Operation
from paretopo_core._senses import Maximise
from paretopo_core._types import Mask, PerPoint, PerSet, PerValue, Points, Vector


@explain_calls
def hypervolume(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerSet[np.float64]:
    """Measure the volume that each set of points dominates above a reference point.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, a torch
            tensor on CPU or CUDA, or another array on a GPU. Units are the objectives' own. The
            result for tensors has a derivative in ``points`` and ``ref``, the first one, see
            :func:`hypervolume_gradient`.
        ref: the reference point, finite, in the objectives' units: a number, shape (objectives,),
            or (..., objectives) for one to each set. A point that is not better than it in *every*
            objective adds nothing.
        maximise: whether larger is better; one bool, or one per objective; ``ref`` has
            the same sense. (moocore, pymoo and pygmo minimise.)
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (...), float64 whatever the input, in the product of the objectives' units; a
        NumPy scalar for one set. 0.0 for an empty set.

    Raises:
        ValueError: wrong shape of an argument; ``ref`` not finite; a point that is NaN, or
            infinite on the better side (its volume would be infinite); or, with a reference to each
            set, one so far from it that float64 cannot hold the distance. On a GPU, where an error
            would make the host wait, the volume of its set is NaN in all these cases. Sets of 4 or
            more objectives have a size limit there: 185 points with 8 objectives.
        TypeError: ``points`` are not real numbers, ``mask`` or ``maximise`` not bool.

    Cost: O(n log n) for 2 and 3 objectives, usually O(n²) for 4. Above, a recursion over the points
    that limit each point, exponential in the number of objectives at worst. Sets of up to 32
    points and 2 to 4 objectives are computed in parallel, one set per SIMD lane. With 4 objectives
    and fewer than 4 sets they are computed one by one; last digits may then differ. On a GPU O(n²)
    up to 3 objectives, O(n³) for 4, and the same recursion above, one warp per point.

    Source: Zitzler and Thiele (1998), PPSN V; sweeps after Fonseca, Paquete and López-Ibáñez
    (2006), CEC; from 4 objectives While, Bradstreet and Barone (2012), IEEE Trans. Evol. Comput.
    16(1), on delimited boxes as in Guerreiro and Fonseca (2018), IEEE Trans. Evol. Comput. 22(3).

    >>> hypervolume([[1, 3], [2, 2], [3, 1]], ref=0)
    np.float64(6.0)
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return HYPERVOLUME.answer(points, maximise, mask, ref)


@explain_calls
def hypervolume_gradient(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    wanted: Mask = None,
    **wrong: Never,
) -> PerValue[np.float64]:
    """Compute the gradient of each set's hypervolume with respect to its points.

    For objective m of point p, the derivative is the volume of p's facet in the other objectives:
    the region that p dominates there and no point before it in objective m does. It is 0 for
    dominated points and for those that do not beat the reference. The hypervolume has a kink where
    several points share a value in an objective. The earlier point then counts as before, so that
    the sum over these points is the derivative for moving them together.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume`.
        ref: the reference point, a number, shape (objectives,) or (..., objectives), finite.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.
        wanted: shape (..., points), bool; points with False shape the volume as all others do, but
            get 0.0. Their derivatives cost nothing: useful for a few candidates and a fixed front.

    Returns:
        shape (..., points, objectives), float64, in volume per unit of the objective, negative
        where it is minimised; same library and device as ``points``.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`. A derivative of this result raises
            NotImplementedError: hypervolumes have first derivatives only.

    Cost: O(n log n) up to 3 objectives; from 4 on, for each wanted point and objective a
    contribution with one objective less: for small sets, or for few wanted points.

    Source: Emmerich and Deutz (2014), "Time complexity and zeros of the hypervolume indicator
    gradient field", EVOLVE III; ties: docs/mathematics.md.

    >>> hypervolume_gradient([[1, 3], [2, 2], [3, 1]], ref=0)
    array([[1., 1.],
           [1., 1.],
           [1., 1.]])
    >>> hypervolume_gradient([[1, 3], [2, 2], [3, 1]], ref=0, wanted=[False, False, True])
    array([[0., 0.],
           [0., 0.],
           [1., 1.]])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return GRADIENT.answer(points, maximise, mask, ref, wanted)


@explain_calls
def hv_contributions(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    ignore_dominated: bool = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.float64]:
    """Compute each point's contribution to the hypervolume of its set.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume`.
        ref: the reference point, a number, shape (objectives,) or (..., objectives), finite.
        maximise: whether larger is better; one bool, or one per objective.
        ignore_dominated: True leaves dominated points out before measuring (moocore's
            default): they neither contribute nor take anything from others. False is the
            definition HV(S) - HV(S without the point), where a dominated point lowers the
            contribution of the only point that dominates it (pygmo's meaning).
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float64; same library and device as ``points``. Equal points get
        0.0 each: removing one of them loses nothing. For tensors it has a first derivative in
        ``points`` and ``ref``, at the cost of one :func:`hypervolume_gradient` for each point.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`.

    Cost: O(n log n) for 2 and 3 objectives; otherwise O(n² · objectives) to find the points that
    limit each point, plus the hypervolume of these. Threads share the points of one large set. A
    contribution is never the difference of two hypervolumes of whole sets, so that small ones keep
    their digits at any scale.

    Source: Emmerich and Fonseca (2011), "Computing hypervolume contributions in low
    dimensions", EMO; While, Bradstreet and Barone (2012).

    >>> hv_contributions([[1, 3], [2, 2], [3, 1]], ref=0)
    array([1., 1., 1.])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    ignore = ignore_dominated is True or flag_of(ignore_dominated, "ignore_dominated")
    return CONTRIBUTIONS.answer(points, maximise, mask, ref, ignore)


def turn_slopes(batch: Batch, slopes: Any) -> Any:
    """Flip derivatives to the senses of the caller's values."""
    return slopes if batch.signs is None else batch.library.apply_signs(slopes, batch.signs)


def _leave_out_dominated(
    batch: Batch, given: Batch, ref: np.ndarray, ignore_dominated: bool
) -> tuple[Batch, tuple[Any, ...]]:
    if ignore_dominated and given is not batch:  # distances may round to ties
        kept = batch.wrap_results(NONDOMINATED.call(batch.view(), True, None, True))
        return replace(given, mask=kept), (ref, False)
    return given, (ref, ignore_dominated)


def slopes_of_contributions(
    points: Any, senses: str, mask: Any, ref: Any, ignore_dominated: bool
) -> Any:
    """A contribution is the difference of two volumes: with the point and without it."""
    torch = sys.modules["torch"]
    count = points.shape[-2]
    kept = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    if ignore_dominated:
        kept = NONDOMINATED.operate(points, senses, mask, True)
    elif mask is not None:
        kept = kept & mask.to(points.device)
    whole = GRADIENT.operate(points, senses, kept, ref, None)
    others = ~torch.eye(count, dtype=torch.bool, device=points.device)
    repeated = points[..., None, :, :].expand(*points.shape[:-1], count, points.shape[-1])
    corners = ref[..., None, :] if ref.dim() > 1 else ref
    without = GRADIENT.operate(repeated, senses, kept[..., None, :] & others, corners, None)
    return whole[..., None, :, :] - without


GRADIENT = Operation(
    _core.hypervolume_gradient,
    finish=turn_slopes,
    no_slopes=" (hypervolumes have first derivatives only)",
)
HYPERVOLUME = Operation(
    _core.hypervolume,
    slopes=lambda points, senses, mask, ref: GRADIENT.operate(points, senses, mask, ref, None),
)
CONTRIBUTIONS = Operation(
    _core.hv_contributions, prepare=_leave_out_dominated, slopes=slopes_of_contributions
)
