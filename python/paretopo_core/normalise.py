"""The range of a front, points scaled to it, and knees."""

from __future__ import annotations

import math
from typing import Any, Never

import numpy as np

from paretopo_core import _core
from paretopo_core._dominance import Frame
from paretopo_core._machinery.calls import explain_calls, refuse_call
from paretopo_core._machinery.numbers import are_finite, number_of
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.senses import Maximise
from paretopo_core._machinery.shapes import is_for_each
from paretopo_core._machinery.torch_arrays import is_tensor
from paretopo_core._machinery.types import Mask, PerObjective, PerPoint, PerValue, Points, Vector
from paretopo_core.fronts import is_nondominated


@explain_calls
def ideal_point(
    points: Points, *extra: Never, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> PerObjective[np.floating[Any]]:
    """Give the best value that any point of each set has, objective by objective.

    Args:
        points: shape (..., points, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on CPU or CUDA.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (..., objectives), in the units of the objectives; float32 or float64, as the points
        are computed; same library, device and gradient as ``points``; for a pandas frame, a series
        with its columns. NaN values are ignored; if a set has no other value, the result is NaN.

    Raises:
        ValueError: wrong shape of an argument, or no objectives.
        TypeError: ``points`` are not real numbers, or on a GPU but not a tensor; ``mask`` or
            ``maximise`` not bool.

    Cost: O(points · objectives) per set.

    Source: Miettinen (1999), "Nonlinear Multiobjective Optimization", section 2.4.

    >>> ideal_point([[3, 1], [1, 2], [0, 0]])
    array([3., 2.])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    return _IDEAL.answer(points, maximise, mask)


@explain_calls
def nadir_point(
    points: Points, *extra: Never, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> PerObjective[np.floating[Any]]:
    """Give the worst value that any non-dominated point of each set has, objective by objective.

    Arguments, result and errors are those of :func:`ideal_point`, but NaN is worse than every
    number: if a non-dominated point contains NaN, the result is NaN. It is also NaN for an empty
    set.

    Cost: that of :func:`is_nondominated`.

    Source: Miettinen (1999), "Nonlinear Multiobjective Optimization", section 2.4, for the given
    points. A payoff table, which uses only the best point of each objective, can differ from it.

    >>> nadir_point([[3, 1], [1, 2], [0, 0]])
    array([1., 1.])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    return _NADIR.answer(points, maximise, mask)


@explain_calls
def reference_point(
    points: Points,
    *extra: Never,
    scale: float = 0.1,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerObjective[np.floating[Any]]:
    """Guess a reference point for the hypervolume: the nadir point, moved away from the front.

    Every non-dominated point is better than it in every objective, if only by the last digit, so
    that the ends of the front have a volume. Volumes are comparable only with the same reference
    point, so guess it only once.

    Args:
        points: shape (..., points, objectives), as for :func:`ideal_point`.
        scale: the distance from the nadir point, as a part of the range of the front: 0, which
            gives the nadir point itself, or more; finite. If an objective has no range, the
            absolute value of its nadir replaces the range, or 1 if this value is 0.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (..., objectives), in the units of the objectives; dtype, library, device and gradient
        as for :func:`nadir_point`; NaN if the nadir is NaN. A number too large for the dtype
        becomes the largest finite one, unless no finite number is worse than the nadir.

    Raises:
        ValueError, TypeError: as :func:`ideal_point`; ``scale`` is not a number, below 0 or not
            finite.

    Cost: that of :func:`nadir_point`.

    Source: Ishibuchi, Imada, Setoguchi and Nojima (2018), "How to specify a reference point in
    hypervolume calculation for fair performance comparison", Evolutionary Computation 26(3). The
    default scale is that of BoTorch's ``infer_reference_point``. If several front points have the
    same value in an objective, BoTorch returns about this value, and all volumes are about 0.

    >>> points = [[0, 10], [4, 8], [10, 0]]
    >>> ref = reference_point(points)
    >>> ref
    array([-1., -1.])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    part = number_of(scale, "scale")
    if not 0 <= part < math.inf:
        raise ValueError(f"scale must be 0 or more, and finite, got {scale}")
    return _REFERENCE.answer(points, maximise, mask, part)


@explain_calls
def normalise(
    points: Points,
    *extra: Never,
    ideal: Vector | None = None,
    nadir: Vector | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerValue[np.floating[Any]]:
    """Scale each objective so that its ideal and nadir values become 0 and 1.

    The smaller of the two becomes 0 and the larger one 1. Every objective keeps its sense. Values
    beyond the two become negative or larger than 1.

    Args:
        points: shape (..., points, objectives), as for :func:`ideal_point`.
        ideal: shape (objectives,), or (..., objectives) for one per set, finite; by default
            :func:`ideal_point` of the points.
        nadir: the same shapes; by default :func:`nadir_point` of the points.
        maximise: whether larger is better; one bool, or one per objective. It matters only for an
            ``ideal`` or ``nadir`` that is not given.
        mask: shape (..., points), bool; False marks padding, which does not affect ideal and nadir.

    Returns:
        shape (..., points, objectives), dimensionless; float32 or float64, as the points are
        computed; same library, device and gradient as ``points``. An objective whose ideal and
        nadir are equal is only shifted, so that they are 0. No intermediate value overflows, even
        if the range is too wide for the dtype. A result too large for the dtype is infinite.

    Raises:
        ValueError, TypeError: as :func:`ideal_point`; ``ideal`` or ``nadir`` of a wrong shape, not
            real numbers or not finite.

    Cost: O(points · objectives) per set, plus that of the nadir point if it is not given.

    Source: Miettinen (1999), section 2.4. moocore's function of this name takes its bounds from all
    points; here, the nadir comes from the non-dominated points.

    >>> normalise([[30, 1], [10, 2], [0, 0]])
    array([[ 1. ,  0. ],
           [ 0. ,  1. ],
           [-0.5, -1. ]])
    >>> normalise([[30, 1], [10, 2]], ideal=[40, 4], nadir=[0, 0])
    array([[0.75, 0.25],
           [0.25, 0.5 ]])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    return _NORMALISE.answer(points, maximise, mask, ideal, nadir)


@explain_calls
def knee_points(
    points: Points, *extra: Never, maximise: Maximise = True, mask: Mask = None, **wrong: Never
) -> PerPoint[np.bool_]:
    """Mark the knee of each set's front, the point at which it bends most.

    That is the non-dominated point farthest from the plane through the ends of the front, on the
    side of the ideal point. At an end, one objective has its nadir value and the others have their
    ideal values. With objectives scaled by :func:`normalise`, distances from the ideal point add up
    to 1 on this plane. The knee is the point with the smallest sum.

    Args:
        points: shape (..., points, objectives), as for :func:`ideal_point`. A point with NaN or
            infinity is left out.
        maximise: whether larger is better; one bool, or one per objective.
        mask: shape (..., points), bool; False marks padding, for which the answer is False.

    Returns:
        shape (..., points), bool; same library and device as ``points``. One point in each set,
        unless distances are equal; on a flat front rounding decides.

    Raises:
        ValueError, TypeError: as :func:`ideal_point`.

    Cost: that of :func:`is_nondominated`.

    Source: Das (1999), "On characterizing the knee of the Pareto curve based on normal-boundary
    intersection", Structural Optimization 18. There, the ends are the minimisers of each objective.
    Here, they follow from the nadir and the ideal point, for any number of objectives.

    >>> knee_points([[0, 10], [4, 9], [7, 7], [10, 0], [6, 6]])
    array([False, False,  True, False, False])
    """
    if extra or wrong:
        refuse_call(extra, wrong)
    return _KNEES.answer(points, maximise, mask)


def _compose_knees(points: Any, maximise: Maximise, mask: Any) -> Any:
    whole = Frame(points, maximise, mask)
    finite = whole.library.isfinite(whole.points).all(-1)
    frame = Frame(whole.points, maximise, whole.among(finite))
    library = frame.library
    chosen = is_nondominated(frame.points, maximise=maximise, mask=frame.mask)
    if frame.shape[-1] == 0:
        return chosen
    columns = _swapped(frame, frame.points)
    ideal = ideal_point(frame.points, maximise=maximise, mask=frame.mask)[..., None]
    nadir = nadir_point(frame.points, maximise=maximise, mask=frame.mask)[..., None]
    with frame.ignoring_overflow():
        overflows = library.isinf(nadir - ideal)
        half = library.where(overflows, 0.5, library.ones_like(ideal))
        span = abs(nadir * half - ideal * half)  # halves do not overflow
        origin = library.where(overflows, 0.0, ideal)  # which lies within such a range
        parts = (origin - columns) * half * frame.signs(columns.dtype)[:, None]
        parts = parts / library.where(span == 0, 1.0, span)
        total = parts[..., 0, :]
        for m in range(1, parts.shape[-2]):
            total = total + parts[..., m, :]
    total = library.where(chosen, total, math.inf)
    return chosen & (total == library.amin(total, -1)[..., None])


def _columns_of(*given: Any) -> tuple[Frame, Any]:
    frame = Frame(*given)
    return frame, _swapped(frame, frame.given)


def _compose_reference(points: Any, maximise: Maximise, mask: Any, scale: float) -> Any:
    frame, columns = _columns_of(points, maximise, mask)
    library = frame.library
    with frame.ignoring_overflow():
        ideal, nadir = _ideal(frame, columns), _nadir(frame, columns)
        if scale == 0:
            return nadir
        span = abs(ideal - nadir)
        span = library.where(span == 0, abs(nadir), span)
        span = library.where(span == 0, 1.0, span)
        beyond = abs(scale * ideal - scale * nadir)
        beyond = library.where(library.isinf(span), beyond, scale * span)
        signs = frame.signs(columns.dtype)
        end = nadir.detach() if frame.is_tensor else nadir
        nearest = library.nextafter(end, -signs * math.inf)
        corner = nadir - signs * beyond
        is_short = signs * corner > signs * nearest
        corner = library.where(is_short, nadir + (nearest - end), corner)
        last = -signs * library.finfo(nadir.dtype).max
        overflows = library.isinf(corner) & library.isfinite(nearest)
        return library.where(overflows, last, corner)


def _compose_normalised(points: Any, maximise: Maximise, mask: Any, ideal: Any, nadir: Any) -> Any:
    frame, columns = _columns_of(points, maximise, mask)
    library = frame.library
    with frame.ignoring_overflow():
        one = _ideal(frame, columns) if ideal is None else _corner(frame, ideal, "ideal")
        other = _nadir(frame, columns) if nadir is None else _corner(frame, nadir, "nadir")
        least, most = library.minimum(one, other)[..., None], library.maximum(one, other)[..., None]
        overflows = library.isinf(columns - least) | library.isinf(most - least)
        part = library.where(overflows, 0.5, library.ones_like(columns))  # halves do not overflow
        span = most * part - least * part
        is_flat = (most == least) | (span == 0)  # also if both are infinite
        scaled = (columns * part - least * part) / library.where(is_flat, part, span)
    return _swapped(frame, scaled)


def _swapped(frame: Frame, values: Any) -> Any:
    """Swap points and objectives, because NumPy is slow on rows as short as a point."""
    swapped = frame.library.swapaxes(values, -1, -2)
    return swapped if frame.is_tensor else np.ascontiguousarray(swapped)


def _ideal(frame: Frame, columns: Any) -> Any:
    values = _turned(frame, columns)
    known = ~frame.library.isnan(values)
    if frame.mask is not None:
        known = known & frame.mask[..., None, :]
    return _extreme(frame, values, known, is_best=True)


def _nadir(frame: Frame, columns: Any) -> Any:
    chosen = is_nondominated(frame.points, maximise=frame.maximise, mask=frame.mask)
    return _extreme(frame, _turned(frame, columns), chosen[..., None, :], is_best=False)


def _turned(frame: Frame, columns: Any) -> Any:
    """Flip signs so that larger is better in every objective."""
    return columns * frame.signs(columns.dtype)[:, None]


def _extreme(frame: Frame, values: Any, known: Any, *, is_best: bool) -> Any:
    library = frame.library
    if frame.shape[-1] == 0:
        return values.sum(-1) + math.nan
    if is_best:
        found = library.amax(library.where(known, values, -math.inf), -1)
    else:
        found = library.amin(library.where(known, values, math.inf), -1)
    return library.where(known.any(-1), found * frame.signs(frame.given.dtype), math.nan)


def _corner(frame: Frame, corner: Any, name: str) -> Any:
    corner, given = frame.numbers(corner, name), frame.given
    if isinstance(corner, np.ndarray) and not are_finite(values := corner.ravel().tolist()):
        raise ValueError(f"{name} must be finite, got {values}")
    if is_tensor(corner):
        numbers = corner.to(given.device, given.dtype)
    elif frame.is_tensor:
        numbers = frame.library.as_tensor(corner, dtype=given.dtype, device=given.device)
    else:
        numbers = corner.astype(given.dtype)
    expected = (*frame.shape[:-1], frame.points.shape[-1])
    shape = tuple(numbers.shape)
    if shape and not is_for_each(shape, expected):
        raise ValueError(
            f"{name} must be a number, or have shape {expected[-1:]}, or {expected} for one to "
            f"each set, got shape {shape}"
        )
    return numbers


_IDEAL = Operation(_core.ideal_point, compose=lambda *given: _ideal(*_columns_of(*given)))
_NADIR = Operation(_core.nadir_point, compose=lambda *given: _nadir(*_columns_of(*given)))
_REFERENCE = Operation(_core.reference_point, compose=_compose_reference)
_NORMALISE = Operation(_core.normalise, compose=_compose_normalised)
_KNEES = Operation(Composed("knee_points", (), (("point", "bool"),)), compose=_compose_knees)
