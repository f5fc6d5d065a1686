"""Hypervolume within boxes: improvements over a front, and weighted hypervolumes."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Never

import numpy as np
from numpy.typing import ArrayLike

from paretopo_core import _core
from paretopo_core._dominance import Frame, can_read, widen
from paretopo_core._machinery.arrays import Batch, host_doubles, places_of, vector_of
from paretopo_core._machinery.calls import MISSING, explain_calls, refuse_call
from paretopo_core._machinery.numbers import flag_of, numbers_of
from paretopo_core._machinery.operation import Composed, Operation, Refused, refuse_value
from paretopo_core._machinery.senses import Maximise, senses_of
from paretopo_core._machinery.shapes import broadcast_sets, broadcast_shapes
from paretopo_core._machinery.torch_arrays import check_dense, from_host, host_array, is_tensor
from paretopo_core._machinery.types import Array, Mask, PerPair, PerPoint, Points, Vector
from paretopo_core.boxes import turn_corners
from paretopo_core.hypervolume import turn_slopes


@explain_calls
def hypervolume_improvement(
    candidates: Points,
    *extra: Never,
    boxes: tuple[ArrayLike, ...],
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPair[np.float64]:
    """Compute the joint hypervolume improvement of q candidates over a front.

    It is HV(front and candidates) - HV(front), computed as the volume that they dominate in the
    boxes of the undominated region. This is a sum of positive terms instead of a difference of two
    volumes, so small improvements keep their digits. With q = 1, it is the improvement of a single
    candidate. To measure many candidates one by one in the same boxes, pass
    ``candidates[:, None]``.

    Args:
        candidates: shape (..., q, objectives), any real dtype; a NumPy array, a list, or a torch
            tensor on the CPU. The leading dimensions of boxes and candidates are broadcast. For
            tensors the result has a first derivative in the candidates. At ties, it is the left
            derivative; among equal candidates the first receives the whole gradient, as in
            :func:`paretopo_core.hypervolume_gradient`.
        boxes: from :func:`nondominated_boxes`, or any boxes that do not overlap, as (lower, upper):
            shape (..., boxes, objectives) each. (With :func:`dominated_boxes`, the result is the
            volume that the candidates dominate within that region.)
        maximise: whether larger is better, as the boxes were made with.
        mask: shape (..., q), bool; False marks padding.

    Returns:
        shape (...), float64, in the product of the objectives' units; a NumPy scalar for one set.

    Raises:
        ValueError: wrong shape of an argument; a candidate that is NaN, or infinite on the better
            side; a corner that is NaN, or infinite on the worse side, for example if ``maximise``
            differs from that of the boxes; candidates on a GPU.
        TypeError: ``candidates`` or ``boxes`` are not real numbers, ``mask`` or ``maximise`` not
            bool.

    Cost: O(boxes · objectives) for one candidate, about 1 ns for each; for q of them O(boxes · q ·
    objectives), and the hypervolume of those that reach into a box. The derivative costs, for each
    box, objective and candidate that ends there, a contribution with one objective less.

    Source: Yang, Emmerich, Deutz and Bäck (2019), J. Glob. Optim. 75; Daulton, Balandat and Bakshy
    (2020), "Differentiable expected hypervolume improvement", NeurIPS, arXiv 2006.05078, for q
    candidates.

    >>> from paretopo_core import nondominated_boxes
    >>> boxes = nondominated_boxes([[1, 2], [2, 1]], ref=0)
    >>> hypervolume_improvement([[2, 2], [3, 1]], boxes=boxes)
    np.float64(2.0)
    >>> hypervolume_improvement([[[2, 2]], [[3, 1]]], boxes=boxes)
    array([1., 1.])
    """
    if extra or wrong or boxes is MISSING:
        refuse_call(extra, wrong)
    lower, upper = _corners_of(boxes)
    return _IMPROVEMENT.answer(candidates, maximise, mask, lower, upper, None, None, 0.0)


def positive_improvement(boxes: tuple[Any, Any], candidates: Any, shortest_side: float) -> Any:
    """Compute the improvement of single candidates, with every side at least ``shortest_side``.

    The result is slightly more than the volume, and never 0: its logarithm is finite and has a
    derivative. Candidates have shape (..., 1, objectives); larger is better.
    """
    return _IMPROVEMENT.answer(candidates, True, None, *boxes, None, None, shortest_side)


@explain_calls
def expected_hypervolume_improvement(
    means: Points,
    deviations: ArrayLike,
    *extra: Never,
    boxes: tuple[ArrayLike, ...],
    maximise: Maximise = True,
    mask: Mask = None,
    return_gradient: bool = False,
    **wrong: Never,
) -> PerPoint[np.float64] | tuple[PerPoint[np.float64], Array[np.float64], Array[np.float64]]:
    """Compute the exact expected hypervolume improvement (EHVI) of Gaussian candidates.

    A model predicts each objective of a candidate as an independent Gaussian variable. The result
    is the mean of :func:`hypervolume_improvement` over this prediction, in closed form: no samples,
    no random error. The result treats each candidate on its own. For the joint improvement of
    several candidates, average :func:`hypervolume_improvement` over samples.
    (:func:`paretopo_core.expected_hypervolume` is another expectation: that of k points drawn from
    a set.)

    Args:
        means: shape (..., candidates, objectives), any real dtype; a NumPy array, a list, or a
            torch tensor on the CPU. The leading dimensions of boxes and means are broadcast.
        deviations: the standard deviations, 0 or more, in the objectives' units: a number, or any
            shape that broadcasts to that of ``means``. With 0, an objective is certain.
        boxes: as for :func:`hypervolume_improvement`.
        maximise: whether larger is better, as the boxes were made with.
        mask: shape (..., candidates), bool; False marks padding, which gets 0.0.
        return_gradient: also return the derivatives, for optimisers without torch.

    Returns:
        shape (..., candidates), float64, in the product of the objectives' units. For tensors it
        has a first derivative in ``means`` and ``deviations``. With ``return_gradient`` a tuple of
        the result, its derivatives in the means and those in the deviations; the last two have
        shape (..., candidates, objectives), and are arrays for a frame. Derivatives at a deviation
        of 0 are limits of positive deviations.

    Raises:
        ValueError: wrong shape of an argument; a mean that is NaN, or infinite on the better side;
            a deviation that is negative, NaN or infinite; corners as for
            :func:`hypervolume_improvement`; means on a GPU.
        TypeError: ``means``, ``deviations`` or ``boxes`` are not real numbers, ``mask`` or
            ``maximise`` not bool.

    Cost: for each candidate O(boxes · objectives), and a short series for each different corner of
    an objective. With the boxes of :func:`nondominated_boxes`, the relative error is a few
    roundings, even for unlikely improvements.

    Source: Emmerich, Deutz and Klinkenberg (2011), "Hypervolume-based expected improvement:
    Monotonicity properties and exact computation", CEC; Yang, Emmerich, Deutz and Bäck (2019), J.
    Glob. Optim. 75, for the sum over boxes.

    >>> from paretopo_core import nondominated_boxes
    >>> boxes = nondominated_boxes([[1, 2], [2, 1]], ref=0)
    >>> expected_hypervolume_improvement([[2, 2], [1, 1]], 0.5, boxes=boxes).round(6)
    array([1.405759, 0.046622])
    >>> expected_hypervolume_improvement([[2, 2]], 0, boxes=boxes)  # as hypervolume_improvement
    array([1.])
    """
    if extra or wrong or deviations is MISSING or boxes is MISSING:
        refuse_call(extra, wrong)
    corners = _corners_of(boxes)
    wants_gradient = return_gradient is not False and flag_of(return_gradient, "return_gradient")
    return _EXPECTED.answer(means, maximise, mask, *corners, deviations, wants_gradient)


def _compose_expected(
    means: Any,
    maximise: Maximise,
    mask: Any,
    lower: Any,
    upper: Any,
    deviations: Any,
    wants_gradient: bool,
) -> Any:
    """Stack means and deviations, so that the core's derivative covers both."""
    if is_tensor(means):
        from paretopo_core._machinery.torch_calls import are_plain, hide_values

        others = mask, lower, upper, deviations
        if means.device.type == "cpu" and are_plain(means, others):  # NumPy is quicker
            check_dense(means, "means")
            return _expect_in_numpy(means, maximise, *others, wants_gradient)
        are_hidden = hide_values(means, mask)
    own, over, is_mean = means, mask, np.array([[True], [False]])
    if not is_tensor(means) or not are_hidden:
        frame = Frame(means, maximise, mask, name="means")
        own, over = frame.given, frame.mask
    if is_tensor(means):
        from paretopo_core._machinery.torch_operators import convert

        library, own = sys.modules["torch"], widen(own, "means").double()
        spread = convert("numbers", "deviations", deviations, own).to(own.device, own.dtype)
        over = convert("bools", "mask", over, own)
        is_mean = convert("bools", "rows", is_mean, own).to(own.device)
    else:
        library, spread = np, numbers_of(deviations, "deviations")
    shape, given = tuple(own.shape), tuple(spread.shape)
    ends = zip(reversed(given), reversed(shape), strict=False)
    if len(given) > len(shape) or any(size != 1 and size != whole for size, whole in ends):
        raise ValueError(
            "deviations must be a number, or have a shape that broadcasts to that of means, "
            f"{shape}, got shape {given}"
        )
    spread = spread if not given else spread[..., None, :]
    pairs = library.where(is_mean, own[..., None, :], spread)
    if over is not None:
        over = library.broadcast_to(over[..., None], (*over.shape, 2))
    corners = (_for_each_candidate(each, own) for each in (lower, upper))
    arguments = (pairs, maximise, over, *corners, None, None)
    values = _PAIR_IMPROVEMENT.answer(*arguments)
    if not wants_gradient:
        return values
    slopes = _PAIR_GRADIENT.answer(*arguments)
    return values, slopes[..., 0, :], slopes[..., 1, :]


def _expect_in_numpy(means: Any, maximise: Maximise, *others: Any) -> Any:
    names = "mask", "boxes", "boxes", "deviations", "return_gradient"
    given: list[Any] = [
        host_array(each, name) if is_tensor(each) else each
        for each, name in zip(others, names, strict=True)
    ]
    result = _compose_expected(host_array(means, "means"), maximise, *given)
    if isinstance(result, tuple):
        return tuple(from_host(part, means) for part in result)
    return from_host(result, means)


def _for_each_candidate(corners: Any, means: Any) -> Any:
    """Let the boxes of a set broadcast over its candidates."""
    if is_tensor(means):
        from paretopo_core._machinery.torch_operators import convert

        ends = convert("sets", "boxes", corners, means)
    else:
        ends = corners if is_tensor(corners) else host_doubles(corners, "boxes")
    return ends[..., None, :, :] if ends.ndim > 2 else ends


def _prepare_pairs(batch: Batch, given: Batch, *sides: Any) -> tuple[Batch, tuple[Any, ...]]:
    if batch.points != 2:
        raise ValueError(f"a candidate must have 2 rows, means and deviations, got {batch.points}")
    given, arguments = _prepare_boxes(batch, given, *sides)
    if given.signs is not None:  # deviations have no sense
        own = np.stack([np.ones_like(given.signs), given.signs])
        given = replace(given, values=given.library.apply_signs(given.values, own))
    return given, arguments


def _turn_pairs(batch: Batch, slopes: Any) -> Any:
    if batch.signs is None:
        return slopes
    signs = np.stack([batch.signs, np.ones_like(batch.signs)])
    return batch.library.apply_signs(slopes, signs) + 0.0


def _refuse_pair(refused: Refused) -> None:
    if refused.refusal.argument != 0:
        ends = (each.squeeze(-3) if each.ndim > 2 else each for each in refused.arguments[:2])
        _refuse_candidate(refused._replace(arguments=tuple(ends)))
    *place, row, objective = refused.place
    name, rule = (
        ("means", "numbers, finite on the better side"),
        ("deviations", "finite and 0 or more"),
    )[row]
    raise ValueError(
        f"{name} must be {rule}, but {name}{[*place, objective]} is {refused.value}; leave padding "
        "out with mask="
    )


@explain_calls
def weighted_hypervolume(
    points: Points,
    ref: Vector,
    *extra: Never,
    boxes: tuple[ArrayLike, ...],
    weights: ArrayLike,
    maximise: Maximise = True,
    mask: Mask = None,
    **wrong: Never,
) -> PerPair[np.float64]:
    """Compute the hypervolume under a density that is constant in boxes and 0 outside of them.

    The result is the sum over boxes of the weight times the volume that the points dominate in the
    box above the reference. The weights of overlapping boxes add up. For example, boxes in which
    the attainment of two algorithms differs can express where a user prefers good points. (This is
    moocore's ``whv_rect`` for any number of objectives.)

    Args:
        points: shape (..., points, objectives), as for :func:`paretopo_core.hypervolume`.
        ref: the reference point, finite: a number, shape (objectives,), or (..., objectives) for
            one per set.
        boxes: as (lower, upper), shape (..., boxes, objectives) each, in the objectives' units; an
            end may be infinite. A :class:`paretopo_core.Boxes` also works. Leading dimensions of
            boxes and points are broadcast.
        weights: shape (..., boxes), finite; a negative one counts against a set.
        maximise: whether larger is better; one bool, or one per objective; ``lower`` holds the
            smaller numbers of a box in either case.
        mask: shape (..., points), bool; False marks padding.

    Returns:
        shape (...), float64; a NumPy scalar for one set. For tensors it has a first derivative in
        the points, as :func:`paretopo_core.hypervolume_improvement`.

    Raises:
        ValueError, TypeError: as :func:`paretopo_core.hypervolume_improvement`; ``weights`` of a
            wrong shape.

    Cost: for each box, the hypervolume of the points that reach into it. With two objectives: one
    sort, and for each box the points on its part of the front.

    Source: Zitzler, Brockhoff and Thiele (2007), "The hypervolume indicator revisited", EMO; boxes:
    Diaz and López-Ibáñez (2021), Eur. J. Oper. Res. 289(3).

    >>> boxes = [[1, 3], [2, 3.5], [2, 3]], [[2, np.inf], [2.5, np.inf], [3, 3.5]]
    >>> weighted_hypervolume([[1, 2]], ref=6, boxes=boxes, weights=[1, 2, 3], maximise=False)
    np.float64(7.0)
    """
    if extra or wrong or ref is MISSING or boxes is MISSING or weights is MISSING:
        refuse_call(extra, wrong)
    return _WEIGHTED.answer(points, maximise, mask, *_corners_of(boxes), weights, ref)


def _compose_weighted(
    points: Any, maximise: Maximise, mask: Any, lower: Any, upper: Any, weights: Any, ref: Any
) -> Any:
    frame = Frame(points, maximise, mask)  # errors call them points, others candidates below
    lower, upper, numbers = (
        frame.doubles(each, name)
        for each, name in ((lower, "boxes"), (upper, "boxes"), (weights, "weights"))
    )
    if tuple(lower.shape) != tuple(upper.shape) or lower.ndim < 2:
        raise ValueError(
            "boxes must have lower and upper corners of one shape (..., boxes, objectives), got "
            f"{tuple(lower.shape)} and {tuple(upper.shape)}"
        )
    if numbers.ndim < 1 or numbers.shape[-1] != lower.shape[-2]:
        raise ValueError(
            f"weights must have shape (..., {lower.shape[-2]}), one number per box, got shape "
            f"{tuple(numbers.shape)}"
        )
    objectives = lower.shape[-1]
    if is_tensor(lower):
        library, is_more = frame.library, frame.signs(lower.dtype) > 0
        corner = frame.doubles(ref, "ref")
    else:
        _finite_weights(numbers)  # the core takes plain arrays unchecked
        library, is_more = np, senses_of(maximise, objectives)
        corner = numbers_of(ref, "ref")
        if corner.ndim < 2:
            corner = vector_of(corner, objectives, "ref", scalar=True)
        else:
            Batch.of(frame.points).check_per_group(corner, "ref")
    corner = corner[..., None, :] if corner.ndim > 1 else corner
    lower, upper = (  # clipped at the corner
        library.where(is_more, library.maximum(ends, corner), library.minimum(ends, corner))
        for ends in (lower, upper)
    )
    if lower.ndim > 2 or numbers.ndim > 1:
        try:
            leading = broadcast_shapes(tuple(lower.shape[:-2]), tuple(numbers.shape[:-1]))
        except ValueError:
            raise ValueError(
                f"boxes of shape {tuple(lower.shape)} and weights of shape {tuple(numbers.shape)} "
                "have leading dimensions that cannot be broadcast"
            ) from None
        ends = tuple(lower.shape[-2:])
        lower, upper = (library.broadcast_to(each, leading + ends) for each in (lower, upper))
        numbers = library.broadcast_to(numbers, leading + ends[:1])
    volume = _IMPROVEMENT.answer(points, maximise, mask, lower, upper, numbers, None, 0.0)
    if can_read(frame.points) and not volume.any():
        frame.hint_at_senses(corner)
    return volume


def _finite_weights(weights: Any) -> np.ndarray | None:
    numbers = None if weights is None else host_doubles(weights, "weights")
    if numbers is not None and not np.isfinite(numbers).all():
        raise ValueError(f"weights must be finite, got {numbers[~np.isfinite(numbers)][0]}")
    return numbers


def _prepare_boxes(
    _: Batch,
    given: Batch,
    lower: np.ndarray,
    upper: np.ndarray,
    weights: Any,
    __: None,
    *shortest_side: float,
) -> tuple[Batch, tuple[Any, ...]]:
    if given.signs is not None:
        lower, upper = map(np.ascontiguousarray, turn_corners(lower, upper, given.signs))
    places = places_of(lower.shape[:-2], given.leading)
    return given, (lower, upper, weights, places, *shortest_side)


def _broadcast(
    candidates: tuple[int, ...], lower: tuple[int, ...], upper: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the leading dimensions of boxes and candidates, broadcast."""
    if lower != upper or len(lower) < 2 or lower[-1] != candidates[-1]:
        raise ValueError(
            "boxes must have lower and upper corners of one shape (..., boxes, "
            f"{candidates[-1]}), with as many objectives as the candidates, got {tuple(lower)} and "
            f"{tuple(upper)}"
        )
    return broadcast_sets(lower, candidates, "boxes", "candidates")


def _corners_of(boxes: Any) -> tuple[Any, Any]:
    """Return the lower and upper corners of the boxes argument."""
    if isinstance(boxes, (tuple, list)) and len(boxes) in (2, 3):
        return boxes[0], boxes[1]
    raise TypeError(
        "boxes must be a result of nondominated_boxes, or a tuple (lower, upper), got "
        f"{type(boxes).__name__}"
    )


def _refuse_candidate(refused: Refused) -> None:
    if refused.refusal.argument == 0:
        refuse_value(refused)
    lower, upper = refused.arguments[:2]
    at = tuple(int(i) for i in np.unravel_index(refused.refusal.index, lower.shape))
    raise ValueError(
        "boxes must be numbers, finite on the worse side, but the corners of "
        f"{list(at)} are {lower[at]} and {upper[at]}: pass the maximise= that they were made with"
    )


_in_boxes: dict[str, Any] = {
    "points": "candidates",
    "cpu_only": "boxes",
    "checks": {
        "boxes.lower": lambda _, corners: host_doubles(corners, "boxes.lower"),
        "boxes.upper": lambda _, corners: host_doubles(corners, "boxes.upper"),
        "weights": lambda _, weights: _finite_weights(weights),
    },
    "prepare": _prepare_boxes,
    "refuse": _refuse_candidate,
    "broadcast": _broadcast,
}


def _define_with_gradient(
    core: Any, core_gradient: Any, finish: Any, kind: str, **described: Any
) -> tuple[Operation, Operation]:
    """Return an operation whose derivative is an operation of the core, and that operation."""
    gradient = Operation(
        core_gradient,
        **described,
        finish=finish,
        no_slopes=f" ({kind} have first derivatives only)",
    )
    return Operation(core, **described, slopes=gradient.operate, moves_with_ref=False), gradient


_IMPROVEMENT, _ = _define_with_gradient(
    _core.hypervolume_improvement,
    _core.hypervolume_improvement_gradient,
    turn_slopes,
    "improvements",
    **_in_boxes,
)
_of_pairs = _in_boxes | {"points": "means", "prepare": _prepare_pairs, "refuse": _refuse_pair}
_PAIR_IMPROVEMENT, _PAIR_GRADIENT = _define_with_gradient(
    _core.expected_hypervolume_improvement,
    _core.expected_hypervolume_improvement_gradient,
    _turn_pairs,
    "expected improvements",
    **_of_pairs,
)
_EXPECTED = Operation(
    Composed(
        "expected_hypervolume_improvement",
        (
            *(("boxes.lower", "sets"), ("boxes.upper", "sets")),
            *(("deviations", "values"), ("return_gradient", "bool")),
        ),
        (("point", "float64"), ("array", "float64"), ("array", "float64")),
    ),
    compose=_compose_expected,
)
_WEIGHTED = Operation(_core.weighted_hypervolume, compose=_compose_weighted)
