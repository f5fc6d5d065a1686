"""Empirical attainment function: the region that a given fraction of runs attains."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, Never, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core import _core
from paretopo_core._dominance import refuse_tracing
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import labels_of, numbers_of
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise, signs_of
from paretopo_core._machinery.torch_arrays import is_tensor
from paretopo_core._machinery.types import Array, Mask, Points
from paretopo_core.indicators import refuse_place

SurfacesT = TypeVar("SurfacesT")


class AttainmentSurfaces(NamedTuple, Generic[SurfacesT]):
    """The attainment surfaces of several runs.

    Attributes:
        points: shape (rows, objectives), float64, in the objectives' units: for each percentile,
            the best goals that this share of the runs attains, sorted by the first objective, best
            first.
        percentiles: shape (rows,), float64, the percentile of each row, ascending.

    >>> surfaces = attainment_surfaces([[1, 3], [3, 1], [2, 2]], sets=[0, 0, 1], percentiles=[100])
    >>> surfaces.points.tolist(), surfaces.percentiles.tolist()
    ([[2.0, 1.0], [1.0, 2.0]], [100.0, 100.0])
    """

    points: SurfacesT
    percentiles: SurfacesT


@explain_calls
def attainment_surfaces(
    points: Points,
    sets: ArrayLike,
    *extra: Never,
    percentiles: ArrayLike | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> AttainmentSurfaces[Array[np.float64]]:
    """Compute the empirical attainment function: the surfaces that given shares of runs attain.

    A run attains a goal if one of its points is at least as good in every objective. The k-th
    attainment surface bounds the goals that at least k of n runs attain; its corners are returned.
    The median surface (percentile 50) is the analogue of the median of numbers.

    Args:
        points: shape (points, objectives), 2 or 3 objectives, any real dtype, finite: the points of
            all runs; a NumPy array, a list, or a torch tensor on the CPU.
        sets: shape (points,), the run of each: numbers or names, in any order.
        percentiles: shape (levels,), from 0 to 100; p stands for the smallest number of runs that
            is at least p percent, and 0 for one run. None: 100 k / n for every k.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (points,), bool; False marks padding, whose values and runs do not count.

    Returns:
        ``points`` and ``percentiles``; as NumPy arrays, or as tensors if the points are tensors.
        moocore's ``attainment_surfaces`` returns both in one array.

    Raises:
        ValueError: wrong shape of an argument; a point that is NaN or infinite; NaN in ``sets``; a
            percentile out of range; points on a GPU.
        TypeError: ``points`` are not real numbers, ``sets`` neither numbers nor names, or a tensor
            requires a gradient.
        NotImplementedError: torch compiles, traces or transforms the call.

    Cost: O(levels · log points) per point, plus the parts of the surfaces that the point changes,
    at worst all of them. Memory: that of the surfaces.

    Source: Grunert da Fonseca, Fonseca and Hall (2001), "Inferential performance assessment of
    stochastic optimisers and the attainment function", EMO; three objectives swept as in Fonseca,
    Guerreiro, López-Ibáñez and Paquete (2011), "On the computation of the empirical attainment
    function", EMO.

    >>> points, percentiles = attainment_surfaces([[1, 3], [3, 1], [2, 2]], sets=[0, 0, 1])
    >>> np.column_stack([points, percentiles])
    array([[  3.,   1.,  50.],
           [  2.,   2.,  50.],
           [  1.,   3.,  50.],
           [  2.,   1., 100.],
           [  1.,   2., 100.]])

    The share of the runs that attain a given goal, in percent, is the highest percentile with a
    corner that is at least as good:

    >>> goal = [1, 2]
    >>> percentiles[(points >= goal).all(axis=1)].max(initial=0)
    np.float64(100.0)
    """
    if extra or wrong or sets is MISSING:
        refuse_call(extra, wrong)
    return AttainmentSurfaces(*_EAF.answer(points, maximise, mask, sets, percentiles))


def _compose_eaf(
    points: Any, maximise: Maximise, mask: Any, sets: Any, percentiles: Any
) -> tuple[Any, ...]:
    refuse_tracing(points, "attainment_surfaces")
    given = torch_arrays.host_array(points, "points") if is_tensor(points) else points
    batch = Batch.of(given, maximise=maximise, mask=mask)
    batch.refuse_gpu("points", "attainment surfaces")
    if len(batch.leading) or batch.objectives not in (2, 3):
        raise ValueError(
            "points must have shape (points, 2) or (points, 3), those of all runs together, got "
            f"shape {tuple(batch.values.shape)}"
        )
    values = batch.values.astype(np.float64)
    _refuse_infinite(batch, values)
    runs = labels_of(sets, "sets", batch.points, "the run of each point")
    if mask is not None:
        values, runs = (each[np.asarray(batch.mask, bool)] for each in (values, runs))
    names, runs = np.unique(runs, return_inverse=True)
    levels, wanted = _levels_of(percentiles, len(names))
    signs = -signs_of(batch.minimised, batch.objectives)
    surfaces, attaining = _core.attainment_surfaces(
        values * signs, runs, len(names), max(levels, default=0)
    )
    rows = [np.flatnonzero(attaining == level) for level in levels]
    found = np.concatenate([np.empty(0, np.int64), *rows])
    counts = [len(each) for each in rows]
    answers = surfaces[found] * signs + 0.0, np.repeat(wanted, counts)
    if is_tensor(points):
        return tuple(torch_arrays.from_host(each, points) for each in answers)
    return answers


def attained_corners(
    points: np.ndarray, runs: np.ndarray, run_count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Compute all surfaces, smaller is better, and the number of runs that attain each row."""
    _refuse_infinite(Batch.of(points), points)
    return _core.attainment_surfaces(points, runs, run_count, run_count)


def count_attaining(
    points: np.ndarray, runs: np.ndarray, run_counts: tuple[int, int], corners: np.ndarray
) -> np.ndarray:
    """Count the first runs, and the others, that attain each corner, with 2 objectives."""
    return _core.count_attaining(points, runs, sum(run_counts), run_counts[0], corners)


def _refuse_infinite(batch: Batch, values: np.ndarray) -> None:
    is_wrong = ~np.isfinite(values)
    if batch.mask is not None:
        is_wrong &= np.asarray(batch.mask, bool)[:, None]
    if is_wrong.any():
        at = tuple(int(i) for i in np.argwhere(is_wrong)[0])
        refuse_place(at, float(batch.values[at]), "points", "mask")


def _levels_of(percentiles: Any, runs: int) -> tuple[list[int], np.ndarray]:
    """Convert percentiles to numbers of runs, ascending."""
    if percentiles is None:
        wanted = np.arange(1.0, runs + 1) * (100.0 / max(runs, 1))
        return list(range(1, runs + 1)), wanted
    wanted = np.unique(np.atleast_1d(numbers_of(percentiles, "percentiles")))
    if wanted.ndim != 1 or not ((wanted >= 0) & (wanted <= 100)).all():
        raise ValueError(f"percentiles must be from 0 to 100, got {percentiles!r}")
    if runs == 0:
        return [], np.empty(0)
    # Rounding of a percentile that was computed by a division must not require one more run.
    counts = np.ceil(wanted * (runs / 100.0) - 1e-9).astype(int).clip(1, runs)
    return counts.tolist(), wanted


_EAF = Operation(
    Composed(
        "attainment_surfaces",
        (("sets", "labels"), ("percentiles", "free")),
        (("array", "float64"),) * 2,
    ),
    compose=_compose_eaf,
)
