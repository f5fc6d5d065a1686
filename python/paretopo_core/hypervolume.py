"""Hypervolume and the contribution of each point to it."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import Any, Never

import numpy as np

from paretopo_core import _core
from paretopo_core._dominance import NONDOMINATED
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import flag_of
from paretopo_core._machinery.operation import Operation
from paretopo_core._machinery.registry import Derivative
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.torch_arrays import turn_towards
from paretopo_core._machinery.types import Mask, PerPoint, PerSet, PerValue, Points, Vector

_MOST_VALUES = 2**22  # in the sets that one call measures for a second derivative: 32 MB


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
            result for tensors has derivatives of every order in ``points`` and ``ref``, see
            :func:`hypervolume_gradient` and docs/gradients.md.
        ref: the reference point, finite, in the objectives' units: a number, shape (objectives,),
            or (..., objectives) for one per set. A point that is not better than it in *every*
            objective adds nothing.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective.
            (moocore, pymoo and pygmo minimise.)
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (...), float64 whatever the input, in the product of the objectives' units; a
        NumPy scalar for one set. 0.0 for an empty set.

    Raises:
        ValueError: wrong shape of an argument; ``ref`` not finite; a point that is NaN, or infinite
            on the better side (its volume would be infinite); or, with one reference per set, a
            point so far from its reference that float64 cannot hold the distance. On a GPU, where
            an error would make the host wait, the volume of the set is NaN in all these cases. Sets
            of 4 or more objectives have a size limit there, for example 185 points with 8
            objectives.
        TypeError: ``points`` are not real numbers, ``mask`` or ``maximise`` not bool.

    Cost: O(n log n) for 2 and 3 objectives, usually O(n²) for 4. From 5 objectives on, a recursion
    over the points that limit each point, at worst exponential in the number of objectives. On a
    GPU, sorts and searches up to 3 objectives, O(n³) for 4, and the same recursion from 5 on. The
    last digits of small sets with 4 objectives may differ between a batch and a single set.
    docs/algorithms.md lists the sizes.

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

    For objective m of point p, the derivative is the volume of p's facet in the other objectives.
    The facet is the region that p dominates in these objectives and that no point with a better
    value in objective m dominates. The derivative is 0 for dominated points and for those that do
    not beat the reference. If several points share a value in an objective, the hypervolume has a
    kink. In this case, the point that comes first in the array counts as better, so that the sum
    over these points is the derivative for moving them together.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume`.
        ref: the reference point, a number, shape (objectives,) or (..., objectives), finite.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.
        wanted: shape (..., points), bool; points with False shape the volume as all others do, but
            get 0.0, at no cost. Use it for a few candidates and a fixed front.

    Returns:
        shape (..., points, objectives), float64, in volume per unit of the objective, negative
        where it is minimised; same library and device as ``points``.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`.

    Cost: O(n log n) up to 3 objectives; from 4 on, a contribution with one objective less for each
    wanted point and objective, which suits only small sets or few wanted points. For tensors the
    result has derivatives. A product of the Hessian and a vector costs O(n log n) for 2 objectives;
    from 3 on, two gradients with one objective less for each point and for all objectives but the
    last: O(n² log n) for 3.

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
def hypervolume_contributions(
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
        ignore_dominated: True leaves dominated points out before measuring: they neither
            contribute nor take anything from others. moocore has this default, and pymoo measures
            one front at a time. A good point keeps its value if a slightly worse one joins the
            set, so that a selection does not drop it. False is the definition HV(S) - HV(S without
            the point) for all points, as in pygmo and DEAP. It is smaller for the only point that
            dominates another one.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float64; same library and device as ``points``. Equal points get 0.0
        each: removing one of them loses nothing. For tensors it has derivatives of every order in
        ``points`` and ``ref``, at the cost of the derivatives of n hypervolumes.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`.

    Cost: O(n log n) for 2 and 3 objectives; otherwise O(n² · objectives) to find the points that
    limit each point, plus the hypervolume of these points. Threads share the points of one large
    set. A contribution is never the difference of two hypervolumes of whole sets, so small
    contributions keep their digits at any scale.

    Source: Emmerich and Fonseca (2011), "Computing hypervolume contributions in low
    dimensions", EMO; While, Bradstreet and Barone (2012).

    >>> hypervolume_contributions([[1, 3], [2, 2], [3, 1]], ref=0)
    array([1., 1., 1.])
    >>> hypervolume_contributions([[2, 2], [1, 2]], ref=0)
    array([4., 0.])
    >>> hypervolume_contributions([[2, 2], [1, 2]], ref=0, ignore_dominated=False)
    array([2., 0.])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    ignore = ignore_dominated is True or flag_of(ignore_dominated, "ignore_dominated")
    return CONTRIBUTIONS.answer(points, maximise, mask, ref, ignore)


def turn_slopes(batch: Batch, slopes: Any) -> Any:
    """Flip derivatives to the senses of the caller's values."""
    if batch.signs is None:
        return slopes
    return batch.library.apply_signs(slopes, batch.signs) + 0.0


def _leave_out_dominated(
    batch: Batch, given: Batch, ref: np.ndarray, ignore_dominated: bool
) -> tuple[Batch, tuple[Any, ...]]:
    if ignore_dominated and given is not batch:  # distances may round to ties
        kept = batch.wrap_results(NONDOMINATED.call(batch.view(), True, None, True))
        return replace(given, mask=kept), (ref, False)
    return given, (ref, ignore_dominated)


def slopes_of_contributions(
    points: Any, senses: Any, mask: Any, ref: Any, ignore_dominated: bool
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


def _multiply_by_hessian(direction: Any, points: Any, senses: Any, mask: Any, ref: Any) -> Any:
    """Return the product of each set's Hessian and a direction of its points.

    In a tie the order of the points is that of the gradient, which keeps the Hessian symmetric.
    """
    torch = sys.modules["torch"]
    turned, corners, signs = turn_towards(senses, ref, points)
    sides = turned - corners
    is_inside = (sides > 0).all(-1)
    is_refused = ~(sides < torch.inf).all(-1)  # only on a GPU: the CPU has raised an error
    if mask is not None:
        present = mask.to(points.device)
        is_inside, is_refused = is_inside & present, is_refused & present
    turned_direction = direction.double() * signs
    if points.shape[-1] == 2:
        product = _multiply_2d(turned_direction, sides, is_inside)
    else:
        product = _multiply_by_facets(turned_direction, turned, corners, sides, is_inside)
    return (product * signs).masked_fill(is_refused.any(-1)[..., None, None], torch.nan)


def _multiply_2d(direction: Any, sides: Any, is_inside: Any) -> Any:
    """Multiply by the Hessian for two objectives, which consists of 1 and -1.

    The slope of a point in one objective is a length in the other one. It extends from the best
    point before it to the point itself.
    """
    torch = sys.modules["torch"]
    count = sides.shape[-2]
    order = sides.argsort(dim=-2, descending=True, stable=True)  # of equal ones the earlier first
    place = order.argsort(dim=-2)
    columns = []
    for m, other in ((0, 1), (1, 0)):
        own = torch.where(is_inside, place[..., other], count)  # 0 for the best point
        best = own.gather(-1, order[..., m]).cummin(-1).values
        before = torch.nn.functional.pad(best[..., :-1], (1, 0), value=count)
        before = before.gather(-1, place[..., m])
        start = order[..., other].gather(-1, before.clamp(max=count - 1))
        along = direction[..., other]
        change = along - torch.where(before < count, along.gather(-1, start), 0.0)
        columns.append(torch.where(own < before, change, 0.0))
    return torch.stack(columns, -1)


def _multiply_by_facets(
    direction: Any, turned: Any, corners: Any, sides: Any, is_inside: Any
) -> Any:
    """Multiply by the Hessian for any other number of objectives.

    The slope of a point in objective m is the volume, in the other objectives, that it adds to the
    points before it in m. The slopes of this volume are a difference of two gradients.
    """
    torch = sys.modules["torch"]
    *leading, count, objectives = turned.shape
    product = torch.zeros_like(direction)
    index = torch.arange(count, device=turned.device)
    step = max(1, _MOST_VALUES // max(1, math.prod(leading) * count * (objectives - 1)))
    for m in range(objectives - 1):  # pairs of m and a later objective: the rest is symmetric
        others = [k for k in range(objectives) if k != m]
        rest, corner = turned[..., None, :, others], corners[..., others]
        in_m, in_later = [], torch.zeros_like(direction[..., m + 1 :])
        for first in range(0, max(count, 1), step):
            here = slice(first, first + step)
            own, other = sides[..., here, None, m], sides[..., None, :, m]
            is_self = index == index[here, None]
            is_before = (other > own) | ((other == own) & (index < index[here, None]))
            is_pair = is_inside[..., here, None] & is_inside[..., None, :]
            repeated = rest.expand(*leading, is_self.shape[0], count, objectives - 1)
            upper, lower = (
                GRADIENT.operate(repeated, None, is_pair & kept, corner, None)
                for kept in (is_before | is_self, is_before)
            )
            slopes = (upper - lower)[..., m:]
            along_m, along_later = direction[..., here, m], direction[..., m + 1 :]
            in_m.append(torch.einsum("...ijk,...jk->...i", slopes, along_later))
            in_later = in_later + torch.einsum("...ijk,...i->...jk", slopes, along_m)
        parts = (torch.zeros_like(direction[..., :m]), torch.cat(in_m, -1)[..., None], in_later)
        product = product + torch.cat(parts, -1)
    return product


def _change_of_gradient(motion: Any, *arguments: Any) -> Any:
    *given, wanted = arguments
    return _select(wanted, _multiply_by_hessian(motion, *given))


def _gradient_of_gradient(gradient: Any, *arguments: Any) -> Any:
    *given, wanted = arguments
    return _multiply_by_hessian(_select(wanted, gradient), *given)


def _select(wanted: Any, slopes: Any) -> Any:
    return slopes if wanted is None else slopes * wanted.to(slopes.device)[..., None]


GRADIENT = Operation(
    _core.hypervolume_gradient,
    finish=turn_slopes,
    derivative=Derivative(_change_of_gradient, _gradient_of_gradient),
)
HYPERVOLUME = Operation(
    _core.hypervolume,
    slopes=lambda points, senses, mask, ref: GRADIENT.operate(points, senses, mask, ref, None),
)
CONTRIBUTIONS = Operation(
    _core.hypervolume_contributions, prepare=_leave_out_dominated, slopes=slopes_of_contributions
)
