"""Ranks and filters, with options composed from compiled calls and the caller's array library.

A tensor therefore stays on its device, and torch's transformations see the usual operators.
"""

from __future__ import annotations

import math
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch, host_doubles, positive_vector, tolerances
from paretopo_core._machinery.cuda_arrays import ask_for_tensor
from paretopo_core._machinery.dtypes import refuse_kind
from paretopo_core._machinery.near_duplicates import drop_near_duplicates
from paretopo_core._machinery.numbers import MAX_WHOLE, numbers_of, whole_number
from paretopo_core._machinery.operation import Composed, Operation
from paretopo_core._machinery.sense_hint import warn_of_senses
from paretopo_core._machinery.senses import Maximise, minimised_bits, senses_of, signs_of
from paretopo_core._machinery.shapes import check_per_point
from paretopo_core._machinery.torch_arrays import is_tensor, turning_signs, values_of

RANKS = Operation(_core.pareto_rank)
NONDOMINATED = Operation(_core.is_nondominated)

# Peel front by front only for large sets if few points are wanted and few fronts of the last one's
# size would complete them; otherwise ranking all points is faster.
_MANY = 4_000
_OBJECTIVES = 3
_PART = 1 / 4
_FRONTS = 16
_LAST = 2**31 - 2  # above every rank
_LAST_BOX = 2.0**53
_LEAST = math.ulp(0.0)
_MAX_SQUARED = 2**26  # points, so that a double holds the square of their number


def widen(tensor: Any, name: str) -> Any:
    """Return a tensor as the floats that the core computes with, with its gradient.

    Traced integers that float64 may not hold are checked when the graph runs.
    """
    if tensor.is_complex():
        raise refuse_kind(name, f"dtype {tensor.dtype}")
    if tensor.is_floating_point():
        return tensor.float() if tensor.itemsize == 2 else tensor
    if not is_tracing():
        return values_of(tensor, name)
    if tensor.itemsize < 8:
        return tensor.double()
    return _EXACT.answer(tensor[..., None, None], True, None, name)[..., 0, 0]  # any shape


_EXACT = Operation(
    Composed("exact_values", (("name", "name"),), (("value", "float64"),)),
    compute=lambda points, _, __, name: values_of(points, name).double().clone(),
)


class Frame:
    """Points, mask and other numbers per point, in one array library."""

    def __init__(self, points: Any, maximise: Maximise, mask: Any, *, name: str = "points") -> None:
        self.is_tensor = is_tensor(points)
        self.maximise = maximise
        self.mask = mask  # (..., points), bool, or None
        if self.is_tensor and is_tracing():  # no value may be looked at
            self.given = widen(points, name)  # the points with their gradient
            self.points = self.given.detach()
        else:
            if not self.is_tensor:
                ask_for_tensor(points)
            batch = Batch.of(points, name=name, maximise=maximise, mask=mask)
            self.points = batch.values
            if batch.signs is not None:  # of more than 64 objectives they are turned
                self.points = batch.library.apply_signs(batch.values, batch.signs)
            if mask is not None:
                self.mask = batch.mask != 0
            self.given = points.to(self.points.dtype) if self.is_tensor else self.points
        if self.is_tensor and mask is not None:
            self.mask = self.library.as_tensor(self.mask, device=self.points.device)

    @property
    def library(self) -> Any:
        """The module of the array functions."""
        return sys.modules["torch"] if self.is_tensor else np

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one number per point."""
        return tuple(self.points.shape[:-1])

    def signs(self, dtype: Any) -> Any:
        """Shape (objectives,): -1 where smaller is better, 1 elsewhere."""
        count = self.points.shape[-1]
        if not self.is_tensor:
            return signs_of(minimised_bits(self.maximise, count), count).astype(dtype)
        from paretopo_core._machinery.torch_operators import read_senses

        return turning_signs(read_senses(self.maximise, self.points), self.points, dtype)

    def violations(self, numbers: Any) -> Any:
        """Return the total violation of each point as a float, on the points' device."""
        numbers, library = self.numbers(numbers, "violation"), self.library
        at_least = np.maximum
        if self.is_tensor:
            numbers = library.as_tensor(numbers, dtype=library.float64).detach()
            numbers, at_least = numbers.to(self.points.device), library.clamp_min
        with self.ignoring_overflow():
            total = self._in_all(numbers, at_least)
        check_per_point(tuple(total.shape), self.shape, "violation", "number")
        return library.broadcast_to(total, self.shape)

    def numbers(self, given: Any, name: str) -> Any:
        """Check the numbers of an argument: float64 in host memory, or a tensor.

        Lists and arrays stay as they are while torch compiles.
        """
        if self.is_tensor and is_tensor(given):
            if given.is_complex() or given.dtype == self.library.bool:
                raise refuse_kind(name, f"dtype {given.dtype}")
            return given if given.is_floating_point() else widen(given, name)
        is_compiling = self.is_tensor and self.library.compiler.is_compiling()
        return given if is_compiling else numbers_of(given, name)

    def hint_at_senses(self, ref: Any) -> None:
        """Warn if every point is worse than the reference in every objective."""
        signs = self.signs(self.points.dtype)
        worse = (self.points * signs < self.library.asarray(ref) * signs).all(-1)
        better = self.among(~worse)
        if self.among(worse).any() and not better.any():
            warn_of_senses(senses_of(self.maximise, self.points.shape[-1]))

    def doubles(self, given: Any, name: str) -> Any:
        """Return numbers as float64: a tensor while torch traces one, else in host memory."""
        if not (self.is_tensor and is_tracing()):
            return host_doubles(given, name)
        return self.library.as_tensor(self.numbers(given, name), dtype=self.library.float64)

    def _in_all(self, numbers: Any, at_least: Any) -> Any:
        """The sum over the columns, one after the other, so that each library has the same."""
        if len(numbers.shape) != len(self.shape) + 1:
            return numbers
        total = numbers[..., :0].sum(-1) + 0.0
        for column in range(numbers.shape[-1]):
            total = total + at_least(numbers[..., column], 0.0)
        return total

    def ignoring_overflow(self) -> AbstractContextManager[Any]:
        """Return a context in which an overflow gives infinity without a warning."""
        return nullcontext() if self.is_tensor else np.errstate(all="ignore")

    def among(self, chosen: Any) -> Any:
        """Return the chosen points without padding."""
        return chosen if self.mask is None else chosen & self.mask


def _compose_ranks(
    points: Any, maximise: Maximise, mask: Any, dominance: str, violation: Any, n_below: Any
) -> Any:
    if n_below is not None:
        n_below = whole_number(n_below, "n_below", 1, MAX_WHOLE)
    frame = Frame(points, maximise, mask)
    if dominance == "strict":
        frame.points, frame.maximise = _without_ties(frame), False
    if violation is None:
        return _first_ranks(frame, frame.mask, n_below)
    library = frame.library
    numbers = frame.violations(violation)
    feasible = numbers <= 0
    fronts = _first_ranks(frame, frame.among(feasible), n_below)
    if frame.shape[-1] == 0:
        return fronts
    others = frame.among(~feasible)
    later = RANKS.answer(_in_a_column(numbers), False, others)
    last = library.amax(fronts, -1)[..., None]
    ranks = library.where(others, later + last + 1, fronts)
    return ranks if n_below is None else _cut(ranks, n_below, library)


def _compose_filter(
    points: Any,
    maximise: Maximise,
    mask: Any,
    dominance: str,
    duplicates: str,
    violation: Any,
    epsilon: Any,
    duplicate_tolerance: Any,
) -> Any:
    if duplicates == "none":
        if epsilon is not None or duplicate_tolerance is not None:
            raise ValueError(
                "duplicates='none' drops equal points, but epsilon= and duplicate_tolerance= keep "
                "one of several near ones: pass one of them"
            )
        return _keep_single(Frame(points, maximise, mask), dominance, violation)
    if duplicate_tolerance is not None:
        kept = _compose_filter(
            points, maximise, mask, dominance, duplicates, violation, epsilon, None
        )
        return _without_near(Frame(points, maximise, mask), kept, duplicate_tolerance)
    if dominance == "strict" and epsilon is not None:
        raise ValueError(
            "dominance='strict' is about points and epsilon= about boxes: pass one of them"
        )
    keep_all = duplicates == "all"
    filtered, option = _STRICT if dominance == "strict" else NONDOMINATED, keep_all
    if epsilon is not None:
        filtered, option = _BOXES, epsilon
    if violation is None:
        return filtered.answer(points, maximise, mask, option)
    frame = Frame(points, maximise, mask)
    numbers = frame.violations(violation)
    feasible = frame.among(numbers <= 0)
    chosen = filtered.answer(frame.points, frame.maximise, feasible, option)
    others = frame.among(~feasible & ~feasible.any(-1)[..., None])
    one_of_each = keep_all and epsilon is None
    return chosen | NONDOMINATED.answer(_in_a_column(numbers), False, others, one_of_each)


def _keep_single(frame: Frame, dominance: str, violation: Any) -> Any:
    """Mark the non-dominated points without an equal one: each is the first, in either order."""
    flip = frame.library.flip
    numbers = None if violation is None else frame.violations(violation)
    given = (frame.points, -2), (frame.mask, -1), (numbers, -1)
    turned = [None if part is None else flip(part, (axis,)) for part, axis in given]
    forth, back = (
        _compose_filter(x, frame.maximise, mask, dominance, "first", lacking, None, None)
        for x, mask, lacking in ((frame.points, frame.mask, numbers), turned)
    )
    return forth & flip(back, (-1,))


def _without_ties(frame: Frame) -> Any:
    """Return integer ranks per objective; dominance on them equals strict dominance on the points.

    Smaller is better. Points that share a value in some objective are ordered there against the
    order of their rows. No point is then better both in that objective and in the first objective
    that differs. Equal points stay equal.
    """
    library = frame.library
    values = frame.points.double() if frame.is_tensor else frame.points.astype(np.float64)
    values = values * -frame.signs(library.float64) + 0.0  # one zero
    count = values.shape[-2]
    places = [_dense(values[..., m], frame) for m in range(values.shape[-1])]
    rows = places[0]
    for place in places[1:]:
        rows = _dense(rows * count + place, frame)
    ordered = [place * count + (count - 1 - rows) for place in places]
    if count > _MAX_SQUARED:
        ordered = [_dense(place, frame) for place in ordered]
    places = library.stack(ordered, -1)
    return places.double() if frame.is_tensor else places.astype(np.float64)


def _dense(numbers: Any, frame: Frame) -> Any:
    """Count the distinct smaller numbers of the set for each; NaN counts as the largest number."""
    if not frame.is_tensor and numbers.ndim == 1:
        return _dense_row(numbers)
    library = frame.library
    order = library.argsort(numbers, -1)
    is_tensor = frame.is_tensor
    ordered = numbers.gather(-1, order) if is_tensor else np.take_along_axis(numbers, order, -1)
    one, next_one = ordered[..., :-1], ordered[..., 1:]
    is_new = (one != next_one) & ((one == one) | (next_one == next_one))
    places = library.concatenate([order[..., :1] * 0, library.cumsum(is_new, -1)], -1)
    if frame.is_tensor:
        return library.zeros_like(order).scatter(-1, order, places)
    back = np.empty_like(places)
    np.put_along_axis(back, order, places, -1)
    return back


def _dense_row(numbers: Any) -> Any:
    """``_dense`` of one set in NumPy, in a third of the time."""
    order = numbers.argsort()
    ordered = numbers[order]
    is_new = ordered[1:] != ordered[:-1]
    if (ordered[-1:] != ordered[-1:]).any():
        is_new &= ordered[:-1] == ordered[:-1]
    places = np.zeros_like(order)
    places[order[1:]] = is_new.cumsum()
    return places


def _compose_boxes(points: Any, maximise: Maximise, mask: Any, epsilon: Any) -> Any:
    frame = Frame(points, maximise, mask)
    mask, library = frame.mask, frame.library
    if not frame.is_tensor:
        sides = positive_vector(epsilon, frame.points.shape[-1])
        batch = Batch.of(frame.points, maximise=maximise, mask=mask)
        return _BOXES.call(batch.view(), True, None, sides)
    if not library.compiler.is_compiling():
        epsilon = positive_vector(epsilon, frame.points.shape[-1])
    sides = library.as_tensor(epsilon, dtype=library.float64, device=frame.points.device)
    corners, order = _boxes(frame, sides.expand(frame.points.shape[-1]))
    places = library.argsort(order[-1], dim=-1, stable=True)
    for key in reversed(order[:-1]):
        places = places.gather(-1, key.gather(-1, places).argsort(dim=-1, stable=True))
    moved = corners.gather(-2, places[..., None].expand(corners.shape))
    kept = None if mask is None else mask.expand(frame.shape).gather(-1, places)
    back = places.argsort(-1)
    return NONDOMINATED.answer(moved, False, kept, False).gather(-1, back)


def _boxes(frame: Frame, sides: Any) -> tuple[Any, list[Any]]:
    """Return the boxes of a tensor's points, smaller is better, and sort keys within a box.

    From 2⁵³ sides on, where a side is smaller than the gap between floats, each value has its box.
    """
    library = frame.library
    values = frame.points.double() * -frame.signs(library.float64) + 0.0  # one zero
    places = values / sides
    places = library.where((places == 0) & (values < 0), -_LEAST, places)
    is_own = places.abs() >= _LAST_BOX
    corners = places.clamp(-_LAST_BOX, _LAST_BOX).floor()
    parts = library.where(is_own, 0.0, places - corners)
    if is_tracing() or is_own.any():
        corners = library.cat([corners, library.where(is_own, values, 0.0)], -1)
    distance = 0.0
    for part in parts.unbind(-1):
        distance = distance + part * part
    return corners, [distance, *values.unbind(-1)]


_BOXES = Operation(_core.filter_boxes, compose=_compose_boxes)


def _compose_strict(points: Any, maximise: Maximise, mask: Any, keep_duplicates: bool) -> Any:
    frame = Frame(points, maximise, mask)
    if frame.is_tensor:
        return NONDOMINATED.answer(_without_ties(frame), False, frame.mask, keep_duplicates)
    batch = Batch.of(frame.points, maximise=maximise, mask=frame.mask)
    return _STRICT.call(batch.view(), True, None, keep_duplicates)


_STRICT = Operation(_core.filter_strictly, compose=_compose_strict)
CONSTRAINED_RANKS = Operation(
    Composed(
        "pareto_rank",
        (("dominance", "word"), ("violation", "numbers"), ("n_below", "int?")),
        (("point", "int32"),),
    ),
    compose=_compose_ranks,
)
CONSTRAINED_FILTER = Operation(
    Composed(
        "is_nondominated",
        (
            ("dominance", "word"),
            ("duplicates", "word"),
            ("violation", "numbers"),
            ("epsilon", "corner"),
            ("duplicate_tolerance", "corner"),
        ),
        (("point", "bool"),),
    ),
    compose=_compose_filter,
)


def _without_near(frame: Frame, kept: Any, duplicate_tolerance: Any) -> Any:
    refuse_tracing(frame.points, "is_nondominated with duplicate_tolerance=")
    tolerance = tolerances(duplicate_tolerance, frame.points.shape[-1])
    if not frame.is_tensor:
        return drop_near_duplicates(frame.points, kept, tolerance)
    points = frame.points.detach().double().cpu().numpy()
    near = drop_near_duplicates(points, kept.cpu().numpy(), tolerance)
    return frame.library.from_numpy(near).to(kept.device)


def _first_ranks(frame: Frame, mask: Any, n_below: int | None) -> Any:
    if n_below is None:
        return RANKS.answer(frame.points, frame.maximise, mask)
    points = frame.points
    is_large = points.shape[-2] >= _MANY and points.shape[-1] >= _OBJECTIVES
    if can_read(points) and is_large and n_below <= _PART * points.shape[-2]:
        senses = senses_of(frame.maximise, points.shape[-1])
        if not frame.is_tensor:
            return _front_by_front(points, senses, mask, n_below)
        kept = None if mask is None else mask.numpy()
        return frame.library.from_numpy(_front_by_front(points.numpy(), senses, kept, n_below))
    return _cut(RANKS.answer(points, frame.maximise, mask), n_below, frame.library)


def _front_by_front(
    points: np.ndarray, senses: list[bool], mask: np.ndarray | None, n_below: int
) -> np.ndarray:
    """Find the first fronts of large sets, each by a filter of the remaining points."""
    ranks = np.empty(points.shape[:-1], dtype=np.int32)
    for at in np.ndindex(ranks.shape[:-1]):
        ranks[at] = _of_one_set(points[at], senses, None if mask is None else mask[at], n_below)
    return ranks


def _of_one_set(
    points: np.ndarray, senses: list[bool], mask: np.ndarray | None, n_below: int
) -> np.ndarray:
    chosen = NONDOMINATED.answer(points, senses, mask, True)
    front, missing = 0, n_below - int(chosen.sum())
    if missing > _FRONTS * (n_below - missing):
        return np.asarray(_cut(RANKS.answer(points, senses, mask), n_below, np))
    ranks = np.full(len(points), -1, dtype=np.int32)
    ranks[chosen] = 0
    rest = np.flatnonzero(~chosen if mask is None else ~chosen & mask)
    while missing > 0 and len(rest):
        front += 1
        left = points[rest]
        chosen = NONDOMINATED.answer(left, senses, None, True)
        ranks[rest[chosen]] = front
        count = int(chosen.sum())
        missing, rest = missing - count, rest[~chosen]
        if missing > _FRONTS * count and len(rest):
            ranks[rest] = front + 1 + _cut(RANKS.answer(points[rest], senses, None), missing, np)
            return ranks
    ranks[rest] = front + 1
    return ranks


def _cut(ranks: Any, n_below: int, library: Any) -> Any:
    """Give all points after the fronts that hold n_below points the next rank."""
    if ranks.shape[-1] <= n_below:
        return ranks
    if library is np and ranks.ndim == 1:
        ordered = np.cumsum(np.bincount(ranks + 1)[1:])  # points up to each front
        return np.minimum(ranks, np.searchsorted(ordered, n_below).astype(np.int32) + 1)
    ordered = library.where(ranks < 0, _LAST, ranks)
    ordered = np.sort(ordered, axis=-1) if library is np else ordered.sort(-1).values
    # A slice leaves n_below open in a compiled graph, and an index does not.
    return library.minimum(ranks, ordered[..., n_below - 1 : n_below] + 1)


def _in_a_column(numbers: Any) -> Any:
    return numbers[..., None] + 0.0  # floats, and one zero


def is_tracing() -> bool:
    """Return True if torch compiles, traces or transforms: values must not be read."""
    from paretopo_core._machinery import torch_calls

    return torch_calls.is_tracing()


def can_read(points: Any) -> bool:
    """Return True if torch does not hide the values, and no GPU makes the host wait for them."""
    return not is_tensor(points) or (points.device.type == "cpu" and not is_tracing())


def refuse_tracing(points: Any, function: str) -> None:
    """Refuse a tensor whose values torch hides, for a function that must read them.

    Raises:
        NotImplementedError: torch compiles, traces or transforms; it names the function.
    """
    if is_tensor(points) and is_tracing():
        raise NotImplementedError(
            f"{function} cannot run while torch compiles, traces or transforms: call it outside, "
            "on the points themselves"
        )
