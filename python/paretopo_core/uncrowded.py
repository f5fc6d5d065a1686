"""Contributions that continue below 0, as minus the distance from a contribution."""

from __future__ import annotations

import sys
from typing import Any, Never

import numpy as np

from paretopo_core._dominance import NONDOMINATED
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.shapes import parts_of
from paretopo_core._machinery.torch_arrays import turn_towards
from paretopo_core._machinery.types import Mask, PerPoint, Points, Vector
from paretopo_core.boxes import NONDOMINATED_BOXES
from paretopo_core.hypervolume import CONTRIBUTIONS, slopes_of_contributions

_LEAST_SURE = 2.0**-900  # larger sums of squares have lost no significant digit


@explain_calls
def uncrowded_contributions(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPoint[np.float64]:
    """Compute each point's hypervolume contribution, or minus its distance from contributing.

    A non-dominated point that is better than the reference gets its contribution. For all other
    points, the contribution would be 0, a plateau without a gradient. They get minus their distance
    from the undominated region above the reference instead. The gradient of this value leads
    straight to the gaps of the front.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. Scale the objectives to comparable units first, because a distance
            adds them up.
        ref: the reference point, a number, shape (objectives,) or (..., objectives), finite.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which gets 0.0.

    Returns:
        shape (..., points), float64; a volume where it is positive, minus a Euclidean distance
        where it is negative; same library as ``points``. Points on the border of the region that
        others dominate, and equal points, get 0.0; a point that is infinite on the worse side gets
        minus infinity. For tensors it has a first derivative in ``points`` and ``ref``. For a
        contribution it is that of :func:`hypervolume_contributions`. For a distance it is a
        unit vector towards the gap, and the opposite for the points that bound the gap there.

    Raises:
        ValueError, TypeError, MemoryError: as :func:`nondominated_boxes`.

    Cost: that of :func:`hypervolume_contributions` and of :func:`nondominated_boxes`, and
    O(points · boxes · objectives) time for the distances. The derivative: that of the
    contributions, and O(points² · objectives).

    Source: Touré, Hansen, Auger and Brockhoff (2019), "Uncrowded hypervolume improvement:
    COMO-CMA-ES and the Sofomore framework", GECCO, arXiv 1904.08823, applied to each point and all
    others.

    >>> uncrowded_contributions([[1, 3], [3, 1], [2, 0.5], [4, -1]], ref=0)
    array([ 2. ,  2. , -0.5, -1. ])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return _UNCROWDED.answer(points, maximise, mask, ref)


def _compute_uncrowded(points: Any, maximise: Maximise, mask: Any, ref: Any) -> Any:
    batch = Batch.of(points, maximise=maximise, mask=mask)
    batch.refuse_gpu("points", "boxes")
    values = np.asarray(CONTRIBUTIONS.compute(points, maximise, mask, ref, True))
    distances = _nearest_undominated(batch, points, ref, maximise, mask)[1]
    return batch.wrap_results(np.where(distances > 0.0, -distances, values))


def _compute_nearest(points: Any, maximise: Maximise, mask: Any, ref: Any) -> Any:
    """Find the undominated location nearest to each point, (..., points, objectives)."""
    batch = Batch.of(points, maximise=maximise, mask=mask)
    return batch.wrap_results(_nearest_undominated(batch, points, ref, maximise, mask)[0])


def _nearest_undominated(
    batch: Batch, points: Any, ref: Any, maximise: Maximise, mask: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest undominated locations, in float64, and distances; padding stays in place."""
    numbers = np.asarray(batch.values, dtype=np.float64)
    if batch.signs is not None:
        numbers = numbers * batch.signs
    if numbers.size == 0:
        return numbers, np.zeros(batch.per_point)
    boxes = NONDOMINATED_BOXES.compute(points, maximise, mask, ref)
    lower, upper, counts = (np.asarray(each) for each in boxes)
    is_padding = np.arange(lower.shape[-2]) >= counts[..., None]

    def find_box(rows: slice) -> np.ndarray:
        gaps = []
        for m in range(batch.objectives):
            value = numbers[..., rows, m, None]
            low, high = lower[..., None, :, m], upper[..., None, :, m]
            gaps.append(np.maximum(np.maximum(low - value, value - high), 0.0))
        total, power = _squares(gaps)
        lengths = total if power is None else np.ldexp(np.sqrt(total), power)
        return np.where(is_padding[..., None, :], np.inf, lengths).argmin(axis=-1)

    # Values that another thread writes at the same time may be infinite: no warnings.
    with np.errstate(invalid="ignore", over="ignore"):
        parts = parts_of(batch.points, lower.size)
        box = np.concatenate([find_box(rows) for rows in parts], axis=-1)[..., None]
        low, high = (np.take_along_axis(each, box, axis=-2) for each in (lower, upper))
        nearest = np.clip(numbers, low, high)
        if batch.mask is not None:
            nearest = np.where(np.asarray(batch.mask)[..., None] == 0, numbers, nearest)
        lengths = _lengths([nearest[..., m] - numbers[..., m] for m in range(batch.objectives)])
    return nearest, lengths


def _squares(gaps: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """Sum the squares of gaps, an array for each objective.

    The second is the power of two by which the gaps were divided first, or None: where a square
    leaves the range of float64, each sum has its own.
    """
    total = np.square(gaps[0])
    for gap in gaps[1:]:
        total = total + np.square(gap)
    is_sure = (total >= _LEAST_SURE) & (total < np.inf)
    if is_sure.all():
        return total, None
    widest = np.max(np.abs(gaps), axis=0)
    if (is_sure | (widest == 0.0) | (widest == np.inf)).all():
        return total, None
    power = np.where(np.isfinite(widest), np.frexp(widest)[1], 0)
    return np.square([np.ldexp(gap, -power) for gap in gaps]).sum(axis=0), power


def _lengths(gaps: list[np.ndarray]) -> np.ndarray:
    total, power = _squares(gaps)
    lengths = np.sqrt(total)
    return np.asarray(lengths if power is None else np.ldexp(lengths, power))


def _slopes_of_uncrowded(points: Any, senses: Any, mask: Any, ref: Any) -> Any:
    torch = sys.modules["torch"]
    # Minus a distance grows as the point comes nearer. It shrinks as the bound of the undominated
    # region moves away: the point that would dominate, one step back.
    own, corners, signs = turn_towards(senses, ref, points)
    nearest = _NEAREST.operate(points, senses, mask, ref) * signs
    away = nearest - own
    far = torch.isinf(away)  # as of a distance that grows without end
    away = torch.where(far.any(-1, keepdim=True), far.double(), away)
    widest = away.abs().amax(-1, keepdim=True)
    is_away = widest > 0
    away = away / torch.where(is_away, widest, 1.0)  # so that no square leaves the range
    distance = away.square().sum(-1, keepdim=True).sqrt()
    ways = torch.where(is_away, away / torch.where(is_away, distance, 1.0), 0.0)
    on_front = NONDOMINATED.operate(points, senses, mask, True)
    on_front = on_front & (own > corners).all(-1)
    others, places = own[..., None, :, :], nearest[..., :, None, :]
    bounds = (others >= places).all(-1, keepdim=True) & (others == places)
    bounds = bounds & on_front[..., None, :, None]
    bounds = bounds & (bounds.cumsum(-2) == 1)  # of several the first
    itself = torch.eye(points.shape[-2], dtype=torch.float64, device=own.device)[..., None]
    slopes = ways[..., :, None, :] * (itself - bounds.double()) * signs
    contributed = slopes_of_contributions(points, senses, mask, ref, True)
    return torch.where(is_away[..., None], slopes, contributed)


_NEAREST = Operation(
    Composed("nearest_undominated", (("ref", "corner"),), (("value", "float64"),)),
    compute=_compute_nearest,
    no_slopes=" (uncrowded contributions have first derivatives only)",
)
_UNCROWDED = Operation(
    Composed("uncrowded_contributions", (("ref", "corner"),), (("point", "float64"),)),
    compute=_compute_uncrowded,
    slopes=_slopes_of_uncrowded,
)
