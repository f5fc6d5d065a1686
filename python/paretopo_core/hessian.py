"""The sparse second derivative of the hypervolume."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from typing import Any, Generic, NamedTuple, Never, TypeVar

import numpy as np

from paretopo_core._dominance import refuse_tracing
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise, signs_of
from paretopo_core._machinery.torch_arrays import is_tensor
from paretopo_core._machinery.types import Array, Mask, Points, Vector
from paretopo_core.hypervolume import HYPERVOLUME

IndicesT = TypeVar("IndicesT")
EntriesT = TypeVar("EntriesT")


class SparseHessian(NamedTuple, Generic[IndicesT, EntriesT]):
    """The entries of a Hessian that are not 0, by row and column.

    Attributes:
        indices: shape (2, entries), int64, the row and the column of each entry: indices of
            ``points.reshape(-1)``.
        values: shape (entries,), float64, in volume per product of the two objectives' units.

    >>> hessian = hypervolume_hessian([[2, 3]], ref=0)
    >>> hessian.indices.tolist(), hessian.values.tolist()
    ([[0, 1], [1, 0]], [1.0, 1.0])
    """

    indices: IndicesT
    values: EntriesT


@explain_calls
def hypervolume_hessian(
    points: Points,
    ref: Vector,
    *extra: Never,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> SparseHessian[Array[np.int64], Array[np.float64]]:
    """Compute the second derivative of the hypervolume as a sparse matrix, for 2 or 3 objectives.

    It is the Hessian of the sum of all sets' hypervolumes, and has a block for each set. n points
    have at most 4 n entries with 2 objectives, and 18 n with 3. Each entry is the signed length of
    an edge of the dominated region. Tied points have the same order as in
    :func:`paretopo_core.hypervolume_gradient`, which keeps the matrix symmetric.

    For a dense matrix, products with vectors and more objectives, differentiate
    :func:`paretopo_core.hypervolume` with torch: docs/gradients.md.

    Args:
        points: shape (..., points, objectives), 2 or 3 objectives, any real dtype; a NumPy array, a
            list, or a torch tensor. Units are the objectives' own.
        ref: the reference point, a number, shape (objectives,) or (..., objectives), finite.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, which has no entries.

    Returns:
        ``indices`` and ``values``, in the order of rows, then columns; as NumPy arrays, or as
        tensors on the points' device. ``scipy.sparse.coo_array((values, indices))`` and
        ``torch.sparse_coo_tensor(indices, values)`` make a sparse matrix of them.

    Raises:
        ValueError: as :func:`paretopo_core.hypervolume`; another number of objectives; an array on
            a GPU that is not a tensor.
        TypeError: as :func:`paretopo_core.hypervolume`, or an argument requires a gradient.
        NotImplementedError: torch compiles, traces or transforms the call.

    Cost: O(n log n), on the CPU and in Python: about 10 ms for 1,000 points with 3 objectives.

    Source: Emmerich and Deutz (2014), "Time complexity and zeros of the hypervolume indicator
    gradient field", EVOLVE III, on the gradient; the edges: docs/mathematics.md.

    >>> indices, values = hypervolume_hessian([[1, 3], [2, 2]], ref=0)
    >>> dense = np.zeros((4, 4))
    >>> dense[tuple(indices)] = values
    >>> dense
    array([[ 0.,  1.,  0., -1.],
           [ 1.,  0.,  0.,  0.],
           [ 0.,  0.,  0.,  1.],
           [-1.,  0.,  1.,  0.]])
    """
    if extra or wrong or ref is MISSING:
        refuse_call(extra, wrong)
    return SparseHessian(*_HESSIAN.answer(points, maximise, mask, ref))


def _compose_hessian(points: Any, maximise: Maximise, mask: Any, ref: Any) -> tuple[Any, ...]:
    refuse_tracing(points, "hypervolume_hessian")
    given = torch_arrays.host_array(points, "points") if is_tensor(points) else points
    batch = Batch.of(given, maximise=maximise, mask=mask)
    batch.refuse_gpu("points", "sparse Hessians")
    if batch.objectives not in (2, 3):
        raise ValueError(
            f"points must have 2 or 3 objectives, got {batch.objectives}: for other numbers, use "
            "torch.func.hessian of hypervolume"
        )
    HYPERVOLUME.answer(given, maximise, mask, ref)  # raises the errors of values
    measured, corner = batch.measure_from(ref)
    signs = signs_of(batch.minimised, batch.objectives)
    with np.errstate(over="ignore", invalid="ignore"):  # of points that do not count
        sides = (measured.values.astype(np.float64) - corner) * signs
    is_inside = (sides > 0).all(-1)
    if batch.mask is not None:
        is_inside &= batch.mask.astype(bool)
    entries = list(_list_entries(sides, is_inside, signs))
    rows, columns = (np.array([each[k] for each in entries], np.int64) for k in (0, 1))
    values = np.array([each[2] for each in entries], np.float64)
    rows, columns = np.append(rows, columns), np.append(columns, rows)  # both triangles
    order = np.lexsort((columns, rows))
    indices, values = np.stack([rows, columns])[:, order], np.append(values, values)[order]
    if is_tensor(points):
        return tuple(torch_arrays.from_host(each, points) for each in (indices, values))
    return indices, values


def _list_entries(
    sides: np.ndarray, is_inside: np.ndarray, signs: np.ndarray
) -> Iterator[tuple[int, int, float]]:
    """Yield row, column and value of one triangle of each set's block."""
    *leading, count, objectives = sides.shape
    pairs = [(0, 1, 2), (0, 2, 1), (1, 2, 0)][: 3 if objectives == 3 else 1]
    for number, group in enumerate(np.ndindex(*leading)):
        kept = np.flatnonzero(is_inside[group])
        own = sides[group][kept]
        order = np.argsort(-own, axis=0, kind="stable")  # of equal ones the earlier first
        places = np.argsort(order, axis=0)
        at = ((number * count + kept) * objectives).tolist()
        for a, b, c in pairs:
            is_solid = c < objectives
            edges = _sweep(
                order[:, c if is_solid else a].tolist(),
                own[:, c].tolist() if is_solid else [1.0] * len(kept),
                places[:, a].tolist(),
                places[:, b].tolist(),
            )
            for i, j, length in edges:
                if length != 0:
                    yield at[i] + a, at[j] + b, length * float(signs[a] * signs[b])


def _sweep(
    order: list[int], heights: list[float], places: list[int], others: list[int]
) -> Iterator[tuple[int, int, float]]:
    """Yield the edges along one objective: points i and j that meet there, and a signed length.

    The sweep goes down this objective. It keeps the points that no higher one dominates in the
    other two objectives: a staircase, from the best place in the first of them to the best in the
    second. An edge is a corner of this staircase, as long as the corner lasts. The corner at a
    point is convex; that between two neighbours is not.
    """
    stairs: list[int] = []
    keys: list[int] = []  # their places in the first objective
    begun: list[float] = []  # the height at which the corner before each of them appeared
    for i in order:
        here = bisect(keys, places[i])
        if here > 0 and others[stairs[here - 1]] < others[i]:
            continue  # dominated
        end = here
        while end < len(stairs) and others[stairs[end]] > others[i]:
            yield stairs[end], stairs[end], heights[stairs[end]] - heights[i]
            end += 1
        for k in range(max(here, 1), min(end + 1, len(stairs))):
            yield stairs[k], stairs[k - 1], heights[i] - begun[k]
        stairs[here:end], keys[here:end], begun[here:end] = [i], [places[i]], [heights[i]]
        if here + 1 < len(stairs):
            begun[here + 1] = heights[i]
    for k, i in enumerate(stairs):
        yield i, i, heights[i]
        if k > 0:
            yield i, stairs[k - 1], -begun[k]


_HESSIAN = Operation(
    Composed(
        "hypervolume_hessian", (("ref", "corners"),), (("array", "int64"), ("array", "float64"))
    ),
    compose=_compose_hessian,
)
