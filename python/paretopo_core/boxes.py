"""Box decompositions of the dominated and the undominated region."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Never, TypeVar

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.operation import Operation, Refused, refuse_value
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.types import Array, Mask, Points, Vector
from paretopo_core.memory import name_limit

CornersT = TypeVar("CornersT")
CountsT = TypeVar("CountsT")


class Boxes(NamedTuple, Generic[CornersT, CountsT]):
    """Disjoint boxes, a list for each set of points.

    Attributes:
        lower: shape (..., boxes, objectives), float64, the corners with the smaller numbers, in the
            objectives' units.
        upper: the same for the corners with the larger numbers.
        counts: shape (...), int64, the number of boxes of each set. Further boxes of a set are
            padding: both corners are the reference, so their volume is 0.

    >>> lower, upper, counts = dominated_boxes([[[1, 2], [2, 1]], [[3, 3], [1, 1]]], ref=0)
    >>> counts
    array([2, 1])
    >>> (upper - lower).prod(-1)
    array([[2., 1.],
           [9., 0.]])
    """

    lower: CornersT
    upper: CornersT
    counts: CountsT


@explain_calls
def nondominated_boxes(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Boxes[Array[np.float64], Array[np.int64]]:
    """Partition the region above the reference that no point dominates into disjoint boxes.

    A new point improves the hypervolume by the volume that it dominates in these boxes. Expected
    hypervolume improvement integrates this volume: see :func:`hypervolume_improvement`. Corners are
    exact coordinates of points and of the reference, and infinite if no point bounds a box on the
    better side. The partition depends on the order of the objectives, but not on that of the
    points.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. Units are the objectives' own. A point that is not better than the
            reference in *every* objective, or is dominated, changes nothing.
        ref: the reference point, finite, in the objectives' units: a number, shape (objectives,),
            or (..., objectives) for one per set.
        maximise: whether larger is better, also for ``ref``; one bool, or one per objective. It
            does not change the order of the corners: ``lower`` holds the smaller numbers. If
            smaller is better, the better side of a box is therefore the lower one.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        ``lower`` and ``upper``, shape (..., boxes, objectives), float64, padded to the set with
        the most boxes; ``counts``, shape (...), int64, the number of boxes of each set. Same
        library as ``points``; no derivative. An empty set has one box, from the reference to
        infinity.

    Raises:
        ValueError, TypeError: as :func:`paretopo_core.hypervolume`; points on a GPU.
        MemoryError: the padded corners would take more than 4 GiB.

    Cost: O(n · bounds) for n points, plus the output. ``bounds`` is the number of local upper
    bounds of the points in all objectives but one: 1 for 2 objectives, up to n + 1 for 3, and
    O(n^⌊(objectives - 1) / 2⌋) at worst. The number of boxes is n + 1 for 2 objectives, O(n) for 3
    and O(n^⌊objectives / 2⌋) at worst. 50 random points on a sphere with 3, 4, 5 and 6 objectives
    have about 100, 270, 760 and 2,100 boxes, which take 7, 15, 41 and 140 µs on a Zen 5.

    Source: local upper bounds after Lacour, Klamroth and Fonseca (2017), "A box decomposition
    algorithm to compute the hypervolume indicator", Comput. Oper. Res. 79, with one objective
    swept: docs/mathematics.md.

    >>> boxes = nondominated_boxes([[1, 2], [2, 1]], ref=0)
    >>> boxes.lower.tolist(), boxes.upper.tolist()
    ([[2.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [[inf, 1.0], [inf, 2.0], [inf, inf]])
    >>> boxes.counts
    array(3)
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return Boxes(*NONDOMINATED_BOXES.answer(points, maximise, mask, ref))


@explain_calls
def dominated_boxes(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> Boxes[Array[np.float64], Array[np.int64]]:
    """Partition the region that the points dominate above the reference into disjoint boxes.

    Their volumes add up to the :func:`paretopo_core.hypervolume`. An integral of a density over the
    dominated region becomes a sum of integrals over boxes.

    Arguments, result, errors and cost are those of :func:`nondominated_boxes`. There are about as
    many boxes, and all corners are finite.

    Source: Lacour, Klamroth and Fonseca (2017), as for :func:`nondominated_boxes`.

    >>> boxes = dominated_boxes([[1, 3], [2, 2], [3, 1]], ref=0)
    >>> float((boxes.upper - boxes.lower).prod(-1).sum())  # the hypervolume
    6.0
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return Boxes(*_DOMINATED_BOXES.answer(points, maximise, mask, ref))


def turn_corners(lower: np.ndarray, upper: np.ndarray, signs: np.ndarray) -> tuple[Any, Any]:
    """Convert corners between the caller's senses and larger is better."""
    turns = signs < 0
    return np.where(turns, -upper, lower), np.where(turns, -lower, upper)


def _refuse_point(refused: Refused) -> None:
    if not refused.refusal.is_too_large:
        refuse_value(refused)
    raise MemoryError(
        f"the boxes of points of shape {tuple(refused.batch.values.shape)}, padded to the set with "
        f"the most boxes, would take more than {name_limit()}: take fewer points, objectives or "
        "sets at once, use hypervolume, which needs no boxes, or raise memory_limit()"
    )


def _turn_boxes(batch: Batch, boxes: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    if batch.signs is None:
        return boxes
    lower, upper = (np.asarray(each) for each in boxes[:2])
    return *batch.wrap_results(turn_corners(lower, upper, batch.signs)), boxes[2]


NONDOMINATED_BOXES, _DOMINATED_BOXES = (
    Operation(
        core,
        cpu_only="boxes",
        refuse=_refuse_point,
        finish=_turn_boxes,
    )
    for core in (_core.nondominated_boxes, _core.dominated_boxes)
)
