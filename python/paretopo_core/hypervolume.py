"""Hypervolume and what each point contributes to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._arrays import (
    ArrayT,
    Batch,
    host_address,
    operators,
)
from paretopo_core._senses import Maximise


def hypervolume(points: Any, ref: Any, *, maximise: Maximise = True, mask: Any = None) -> Any:
    """Measure the volume that each set of points dominates above a reference point.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, a torch
            tensor on CPU or CUDA, or another array on a GPU. Units are the objectives' own. The
            result of a tensor that requires a gradient has one, see :func:`hypervolume_gradient`.
        ref: the reference point, a number or shape (objectives,), finite, in the objectives'
            units. A point that is not better than it in *every* objective adds nothing.
        maximise: whether larger is better; one bool, or one per objective; ``ref`` is meant in
            the same sense. (moocore, pymoo and pygmo minimise.)
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (...), float64 whatever the input, in the product of the objectives' units; a
        NumPy scalar for one set. 0.0 for an empty set.

    Raises:
        ValueError: wrong shape of an argument; ``ref`` not finite; a point that is NaN, or
            infinite on the better side (its volume would be infinite). On a GPU, where telling
            would make the host wait, the volume of its set is NaN instead. There sets from 4
            objectives have a largest size: 8 objectives take 185 points.
        TypeError: ``points`` are not real numbers, ``mask`` or ``maximise`` not bool.

    Cost: O(n log n) for 2 and 3 objectives, O(n²) for 4 as a rule; above, a recursion over what
    limits each point, exponential in the number of objectives at worst. Sets of up to 32 points
    and 2 to 4 objectives are computed side by side, one set per SIMD lane. On a GPU O(n²) up to 3
    objectives, O(n³) for 4, and the same recursion above, one warp per point.

    Source: Zitzler and Thiele (1998), PPSN V; sweeps after Fonseca, Paquete and López-Ibáñez
    (2006), CEC; from 4 objectives While, Bradstreet and Barone (2012), IEEE Trans. Evol. Comput.
    16(1), on delimited boxes as in Guerreiro and Fonseca (2018), IEEE Trans. Evol. Comput. 22(3).

    >>> hypervolume([[1, 3], [2, 2], [3, 1]], ref=0)
    np.float64(6.0)
    """
    if (torch_ops := operators(points, gradient=True)) is not None:
        return torch_ops.hypervolume(points, ref, maximise, mask)
    batch = Batch.of(points, maximise=maximise, mask=mask)
    corner = batch.reference(ref)
    volumes = batch.empty(batch.leading, "float64")
    refused = _core.hypervolume(
        batch.view("hypervolume"), host_address(corner), batch.address(volumes)
    )
    refuse_value(refused, batch)
    return volumes[()] if isinstance(volumes, np.ndarray) else volumes


def hypervolume_gradient(
    points: ArrayT, ref: Any, *, maximise: Maximise = True, mask: Any = None
) -> ArrayT:
    """Measure what the hypervolume of each set gains for each unit that a value grows.

    For objective m of point p that is the volume, in the other objectives, of the facet that p
    pushes outwards: what p dominates there that no point before it in objective m does. Dominated
    points, and those that do not beat the reference, have 0. Where several points have the same
    value in an objective, the hypervolume has a kink; the earlier point counts as before then, so
    that the sum over them is right for moving all of them together.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume`.
        ref: the reference point, a number or shape (objectives,), finite.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points, objectives), float64, in volume per unit of the objective, negative
        where it is minimised; same library and device as ``points``.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`.

    Cost: points · objectives contributions with one objective less: for small sets.

    Source: Emmerich and Deutz (2014), "Time complexity and zeros of the hypervolume indicator
    gradient field", EVOLVE III; ties: docs/mathematics.md.

    >>> hypervolume_gradient([[1, 3], [2, 2], [3, 1]], ref=0)
    array([[1., 1.],
           [1., 1.],
           [1., 1.]])
    """
    batch = Batch.of(points, maximise=maximise, mask=mask)
    corner = batch.reference(ref)
    gradient: ArrayT = batch.empty((*batch.leading, batch.points, batch.objectives), "float64")
    view = batch.view("hypervolume_gradient")
    refused = _core.hypervolume_gradient(view, host_address(corner), 0, batch.address(gradient))
    refuse_value(refused, batch)
    return gradient if batch.signs is None else batch.library.turned(gradient, batch.signs)


def hv_contributions(
    points: ArrayT,
    ref: Any,
    *,
    maximise: Maximise = True,
    ignore_dominated: bool = True,
    mask: Any = None,
) -> ArrayT:
    """Measure what each point alone adds to the hypervolume of its set.

    Args:
        points: shape (..., points, objectives), as for :func:`hypervolume`.
        ref: the reference point, a number or shape (objectives,), finite.
        maximise: whether larger is better; one bool, or one per objective.
        ignore_dominated: True leaves dominated points out before measuring (moocore's
            default): they neither contribute nor take anything from others. False is the
            definition HV(S) - HV(S without the point), where a dominated point lowers the
            contribution of the only point that dominates it (pygmo's meaning).
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float64; same library and device as ``points``. Equal points get
        0.0 each: without one of them nothing is lost.

    Raises:
        ValueError, TypeError: as :func:`hypervolume`.

    Cost: O(n log n) for 2 and 3 objectives; otherwise O(n² · objectives) for finding what limits
    each point, plus the hypervolume of what limits it; the points of one large set are shared
    between threads. Never the difference of two hypervolumes of
    whole sets, so that small contributions keep their digits at any scale.

    Source: Emmerich and Fonseca (2011), "Computing hypervolume contributions in low
    dimensions", EMO; While, Bradstreet and Barone (2012).

    >>> hv_contributions([[1, 3], [2, 2], [3, 1]], ref=0)
    array([1., 1., 1.])
    """
    if (torch_ops := operators(points)) is not None:
        contributions: ArrayT = torch_ops.hv_contributions(
            points, ref, maximise, bool(ignore_dominated), mask
        )
        return contributions
    batch = Batch.of(points, maximise=maximise, mask=mask)
    corner = batch.reference(ref)
    contributions = batch.empty(batch.per_point, "float64")
    view = batch.view("hv_contributions")
    refused = _core.hv_contributions(
        view, host_address(corner), bool(ignore_dominated), batch.address(contributions)
    )
    refuse_value(refused, batch)
    return contributions


def refuse_value(index: int, batch: Batch, name: str = "points") -> None:
    """Name the value that has no place in a volume."""
    if index < 0:
        return
    at = tuple(int(i) for i in np.unravel_index(index, tuple(batch.values.shape)))
    value = float(batch.values[at]) * (1.0 if batch.signs is None else batch.signs[at[-1]])
    why = "is NaN" if value != value else f"is {value}, an infinite volume"
    raise ValueError(
        f"{name} must be numbers, finite on the better side, but {name}{list(at)} {why}; "
        "leave such points out with mask="
    )
