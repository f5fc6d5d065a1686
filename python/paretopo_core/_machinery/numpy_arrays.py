"""NumPy arrays and lists, as the compiled core takes them.

Most functions also serve arrays on a GPU, with the functions of their own package.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.dtypes import check_range, check_ranks
from paretopo_core._machinery.numbers import real_array
from paretopo_core._machinery.shapes import check_per_point


def values_of(points: Any, name: str) -> np.ndarray:
    """A contiguous array of floats."""
    array = real_array(points, name)
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return array


def place_of(_values: np.ndarray) -> tuple[int, int]:
    """Device and stream."""
    return _core.CPU, 0


def address(array: np.ndarray) -> int:
    """Where the first element lives."""
    return _core.address(array)


def package_of(array: Any) -> str:
    """The name of an array's package."""
    return type(array).__module__.partition(".")[0]


def library_of(array: Any) -> Any:
    """The module with NumPy's functions for an array."""
    return sys.modules[package_of(array)]


def bools_of(numbers: Any, values: Any, name: str) -> Any:
    """One byte per point, on the points' device, broadcast over leading dimensions."""
    library = library_of(values)
    with _on_device_of(values):
        array = library.asarray(_on_host(numbers, name, library))
        if array.dtype.name != "bool":
            raise TypeError(f"{name} must be of dtype bool, got {array.dtype.name}")
        expected = tuple(values.shape[:-1])
        check_per_point(tuple(array.shape), expected, name, "bool")
        return library.ascontiguousarray(library.broadcast_to(array, expected))


def ranks_of(ranks: Any, shape: tuple[int, ...], like: Any) -> Any:
    """One int32 per point."""
    library = library_of(like)
    with _on_device_of(like):
        array = library.asarray(_on_host(ranks, "ranks", library))
        check_ranks(array.dtype.name, tuple(array.shape), shape)
        if library is np and array.size:  # a GPU would have to wait
            check_range(int(array.min()), int(array.max()))
        return library.ascontiguousarray(library.broadcast_to(array.astype("int32"), shape))


def unrank_masked(ranks: Any, mask: Any) -> Any:
    """The ranks, -1 where the mask is 0."""
    library = library_of(ranks)
    with _on_device_of(ranks):
        return library.where(mask, ranks, library.asarray(-1, dtype="int32"))


def to_doubles(numbers: Any, shape: tuple[int, ...], like: Any) -> Any:
    """Contiguous float64, on the same device, broadcast."""
    library = library_of(like)
    with _on_device_of(like):
        array = library.asarray(numbers).astype("float64")
        return library.ascontiguousarray(library.broadcast_to(array, shape))


def subtract(values: Any, corners: Any) -> Any:
    """Subtract the corners from the values, in float64."""
    # An overflow is refused by name.
    with _on_device_of(values), np.errstate(over="ignore", invalid="ignore"):
        return library_of(values).ascontiguousarray(values.astype("float64") - corners)


def apply_signs(values: Any, signs: np.ndarray) -> Any:
    """The values times one sign per objective."""
    with _on_device_of(values):
        return values * library_of(values).asarray(signs, dtype=values.dtype)


def _on_device_of(array: Any) -> AbstractContextManager[Any]:
    return nullcontext() if isinstance(array, np.ndarray) else array.device


def _on_host(numbers: Any, name: str, library: Any) -> Any:
    """Return a tensor as a NumPy array if that is wanted; other numbers unchanged."""
    if library is np and torch_arrays.is_tensor(numbers):
        return torch_arrays.host_array(numbers, name)
    return numbers
