"""The interface between arrays and the compiled core: checks, addresses, allocation, stream.

Each library has a module with the same functions: ``numpy_arrays``, ``torch_arrays`` and, for
other arrays on a GPU, ``cuda_arrays``. Only the last two allocate results.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery import cuda_arrays, numpy_arrays, torch_arrays
from paretopo_core._machinery.numbers import are_finite, numbers_of, per_point_array
from paretopo_core._machinery.senses import Maximise, minimised_bits, signs_of
from paretopo_core._machinery.shapes import is_for_each
from paretopo_core._machinery.torch_arrays import is_tensor

_MAX_POINTS = 2**31 - 1


@dataclass(slots=True)  # not frozen: freezing would cost a tenth of a small call
class Batch:
    """Checked, contiguous points, with their device and stream."""

    values: Any  # (..., points, objectives)
    mask: Any  # (..., points) of bytes, or None
    minimised: int  # bit m: smaller is better in objective m
    device: int  # _core.CPU, the CUDA device index, or _core.EMULATED and below
    stream: int  # address of the CUDA stream, 0 on the CPU
    library: ModuleType = numpy_arrays
    signs: np.ndarray | None = None  # (objectives,), the factors of `values`

    @staticmethod
    def of(
        points: Any, *, name: str = "points", maximise: Maximise = True, mask: Any = None
    ) -> Batch:
        """Check one argument after another; copy only arrays that are not contiguous floats."""
        library = _library_of(points)
        values = library.values_of(points, name)
        if library is cuda_arrays and is_tensor(values):
            library = torch_arrays
        shape = tuple(values.shape)
        if len(shape) < 2:
            raise ValueError(
                f"{name} must have shape (..., points, objectives), got {shape}; "
                f"one set of points is {name}.reshape(-1, objectives)"
            )
        if shape[-1] == 0:
            raise ValueError(f"{name} has no objectives: shape {shape}")
        if shape[-2] > _MAX_POINTS or shape[-1] > _MAX_POINTS:
            raise ValueError(
                f"{name} must have at most {_MAX_POINTS} points and objectives, got shape {shape}"
            )
        minimised = minimised_bits(maximise, shape[-1])
        signs = None
        if minimised >> 64:  # the compiled core keeps one bit for each of 64 objectives
            signs = signs_of(minimised, shape[-1])
            values = library.apply_signs(values, signs)
            minimised = 0
        if mask is not None:
            mask = library.bools_of(_array_of(mask, "mask"), values, "mask")
        device, stream = library.place_of(values)
        return Batch(values, mask, minimised, device, stream, library, signs)

    @property
    def leading(self) -> tuple[int, ...]:
        """The batch dimensions."""
        return tuple(self.values.shape[:-2])

    @property
    def per_point(self) -> tuple[int, ...]:
        """The shape of one number for each point."""
        return tuple(self.values.shape[:-1])

    @property
    def points(self) -> int:
        """Points in each group."""
        return int(self.values.shape[-2])

    @property
    def objectives(self) -> int:
        """Objectives of each point."""
        return int(self.values.shape[-1])

    @property
    def is_on_gpu(self) -> bool:
        """True if the points are on a GPU, or on an emulated one."""
        return self.device != _core.CPU

    def refuse_gpu(self, name: str, operation: str) -> None:
        """Raise ValueError if the points, called ``name`` in the error, are on a GPU."""
        if self.is_on_gpu:
            raise ValueError(
                f"{name} are on a GPU, and {operation} are for the CPU: pass {name}.cpu()"
            )

    @property
    def float_name(self) -> str:
        """The dtype the values are computed in: float32 or float64."""
        return "float32" if self.values.dtype.itemsize == 4 else "float64"

    def reference(self, ref: Any, name: str = "ref") -> np.ndarray:
        """Return the reference point in host memory, with the signs of the values."""
        corner = vector_of(ref, self.objectives, name, scalar=True)
        return corner if self.signs is None else corner * self.signs

    def references(self, ref: Any, name: str = "ref") -> Any:
        """Return one reference point in host memory, or one per group on the points' device."""
        corners = self._corners(ref, name)
        if corners is None:
            return self.reference(ref, name)
        corners = self.library.to_doubles(corners, (*self.leading, self.objectives), self.values)
        if self.signs is not None:
            corners = self.library.apply_signs(corners, self.signs)
        return self.held(corners)

    def measure_from(self, ref: Any) -> tuple[Batch, np.ndarray]:
        """Return points and a single reference point in host memory.

        With one reference per group, the points become their distances from it, in float64. The
        compiled core would compute the same distances first, so that no digit differs.
        """
        corners = self._corners(ref)
        if corners is None:
            return self, self.reference(ref)
        shape = (*self.leading, 1, self.objectives)
        per_point = corners.reshape(*corners.shape[:-1], 1, corners.shape[-1])
        corners = self.library.to_doubles(per_point, shape, self.values)
        if self.signs is not None:
            corners = self.library.apply_signs(corners, self.signs)
        moved = replace(self, values=self.library.subtract(self.values, corners))
        return moved, np.zeros(self.objectives)

    def _corners(self, ref: Any, name: str = "ref") -> Any:
        """Return one reference per group, not yet broadcast; None if all groups share one.

        On a GPU they are not checked for finite values, because the host would have to wait.
        """
        is_there = self.is_on_gpu and (is_tensor(ref) or cuda_arrays.recognises(ref))
        if not is_there or len(ref.shape) < 2:
            ref = numbers_of(ref, name)
            if ref.ndim < 2:
                return None
            self.check_per_group(ref, name)
            return ref
        self._check_leading(tuple(ref.shape), name, scalar=True)
        return ref

    def check_per_group(self, numbers: np.ndarray, name: str, *, scalar: bool = True) -> None:
        """Refuse numbers that are not finite, or cannot be broadcast to one vector per group."""
        if not np.isfinite(numbers).all():
            raise ValueError(f"{name} must be finite, got {numbers[~np.isfinite(numbers)][0]}")
        self._check_leading(numbers.shape, name, scalar=scalar)

    def _check_leading(self, given: tuple[int, ...], name: str, *, scalar: bool) -> None:
        expected = (*self.leading, self.objectives)
        if not is_for_each(given, expected):
            number = "be a number, or " if scalar else ""
            raise ValueError(
                f"{name} must {number}have shape ({self.objectives},), or {expected} for one to "
                f"each group, got shape {given}"
            )

    def ranks(self, ranks: Any) -> Any:
        """Return the ranks of the points as int32 on their device; that of padding is -1."""
        if ranks is None:
            return None
        fronts = self.library.ranks_of(_array_of(ranks, "ranks"), self.per_point, self.values)
        if self.mask is not None:
            fronts = self.library.unrank_masked(fronts, self.mask)
        return self.held(fronts)

    def bools(self, numbers: Any, name: str) -> Any:
        """Return one byte per point, on the points' device; None for None."""
        if numbers is None:
            return None
        return self.library.bools_of(_array_of(numbers, name), self.values, name)

    def held(self, array: Any) -> _core.Address | None:
        """Return the address of an array of this batch's library; None for None."""
        return None if array is None else _core.Address(self.library.address(array), array)

    def view(self) -> _core.Points:
        """Return the points for the compiled core; valid while this batch lives."""
        if self.library is numpy_arrays:
            return _core.points_of(self.values, self.mask, self.minimised)
        return _core.Points(
            address=self.library.address(self.values),
            mask=0 if self.mask is None else self.library.address(self.mask),
            shape=self.values.shape,
            minimised=self.minimised,
            itemsize=int(self.values.dtype.itemsize),
            device=self.device,
            stream=self.stream,
            allocate=self.library.allocator_like(self.values) if self.is_on_gpu else None,
        )

    def wrap_results(self, results: Any) -> Any:
        """Convert results of the compiled core to arrays of the caller's library."""
        if self.is_on_gpu or self.library is numpy_arrays:
            return results
        if isinstance(results, tuple):
            return tuple(self.library.from_host(each, self.values) for each in results)
        return self.library.from_host(results, self.values)


def vector_of(numbers: Any, objectives: int, name: str, *, scalar: bool) -> np.ndarray:
    """Return a finite float64 vector with one number per objective.

    A scalar stands for all objectives if ``scalar``.
    """
    vector = numbers_of(numbers, name)
    if vector.ndim == 0 and scalar:
        vector = np.array([vector] * objectives)
    if vector.shape != (objectives,):
        number = "be a number or " if scalar else ""
        raise ValueError(
            f"{name} must {number}have shape ({objectives},), one number per objective, got shape "
            f"{vector.shape}"
        )
    if not are_finite(values := vector.tolist()):
        raise ValueError(f"{name} must be finite, got {values}")
    return vector


def places_of(own: tuple[int, ...], leading: tuple[int, ...]) -> np.ndarray | None:
    """Return the index of the original set of each broadcast set; None if there is only one."""
    count = math.prod(own)
    if count == 1:
        return None
    numbers = np.arange(count, dtype=np.int64).reshape(own)
    return np.ascontiguousarray(np.broadcast_to(numbers, leading))


def host_doubles(numbers: Any, name: str) -> np.ndarray:
    """Return a contiguous float64 array in host memory."""
    if not (type(numbers) is np.ndarray and numbers.dtype == np.float64):
        numbers = numbers_of(numbers, name)
    return np.ascontiguousarray(numbers) if numbers.flags.aligned else np.array(numbers, order="C")


def positive_vector(epsilon: Any, objectives: int) -> np.ndarray:
    """Return the sides of boxes in objective space, float64, one per objective."""
    sides = vector_of(epsilon, objectives, "epsilon", scalar=True)
    if not (sides > 0).all():
        raise ValueError(f"epsilon must be larger than 0, got {sides.tolist()}")
    return sides


def tolerances(given: Any, objectives: int) -> np.ndarray:
    """Up to which distance points are near duplicates, float64, one for each objective."""
    sides = vector_of(given, objectives, "duplicate_tolerance", scalar=True)
    if not (sides >= 0).all():
        raise ValueError(f"duplicate_tolerance must be at least 0, got {sides.tolist()}")
    return sides


def _array_of(numbers: Any, name: str) -> Any:
    """Return bools or ranks as an array; tensors and GPU arrays unchanged."""
    is_array = is_tensor(numbers) or cuda_arrays.recognises(numbers)
    return numbers if is_array else per_point_array(numbers, name)


def _library_of(points: Any) -> ModuleType:
    if type(points) is np.ndarray:
        return numpy_arrays
    if is_tensor(points):
        return torch_arrays
    return cuda_arrays if cuda_arrays.recognises(points) else numpy_arrays
