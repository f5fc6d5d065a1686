"""NumPy arrays and lists, as the compiled core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from paretopo_core import _core, _torch_arrays
from paretopo_core._dtypes import check_range, check_ranks
from paretopo_core._numbers import real_array
from paretopo_core._shapes import check_per_point


def place_of(_values: np.ndarray) -> tuple[int, int]:
    """Device and stream."""
    return _core.CPU, 0


def bools_of(numbers: Any, values: np.ndarray, name: str) -> np.ndarray:
    """One byte per point, broadcast over leading dimensions."""
    array = _torch_arrays.host_array(numbers, name) if _torch_arrays.is_tensor(numbers) else numbers
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be of dtype bool, got {array.dtype.name}")
    expected = values.shape[:-1]
    check_per_point(array.shape, expected, name, "bool")
    return np.ascontiguousarray(np.broadcast_to(array, expected)).view(np.uint8)


def to_doubles(numbers: np.ndarray, shape: tuple[int, ...], _like: np.ndarray) -> np.ndarray:
    """Contiguous float64, broadcast."""
    return np.ascontiguousarray(np.broadcast_to(numbers, shape), dtype=np.float64)


def address(array: np.ndarray) -> int:
    """Where the first element lives."""
    return _core.address(array)


def ranks_of(ranks: Any, shape: tuple[int, ...], _like: np.ndarray) -> np.ndarray:
    """One int32 per point."""
    array = _torch_arrays.host_array(ranks, "ranks") if _torch_arrays.is_tensor(ranks) else ranks
    check_ranks(array.dtype.name, array.shape, shape)
    if array.size:
        check_range(int(array.min()), int(array.max()))
    return np.ascontiguousarray(np.broadcast_to(array, shape), dtype=np.int32)


def unrank_masked(ranks: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The ranks, -1 where the mask is 0."""
    return np.where(mask != 0, ranks, np.int32(-1))


def subtract(values: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Subtract the corners from the values, in float64."""
    with np.errstate(over="ignore", invalid="ignore"):  # such values are refused by name
        return np.asarray(np.subtract(values, corners, dtype=np.float64))


def apply_signs(values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The values times one sign per objective."""
    return np.asarray(values * signs.astype(values.dtype))


def values_of(points: Any, name: str) -> np.ndarray:
    """A contiguous array of floats."""
    array = real_array(points, name)
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return array
