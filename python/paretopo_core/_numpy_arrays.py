"""NumPy arrays and lists, as the compiled core takes them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from paretopo_core import _core, _torch_arrays
from paretopo_core._dtypes import (
    FLOATS,
    HALVES,
    INTEGERS,
    check_exact,
    check_ranks,
    refuse_dtype,
)
from paretopo_core._shapes import check_per_point


def place_of(_values: np.ndarray) -> tuple[int, int]:
    """Device and stream."""
    return _core.CPU, 0


def bools_of(numbers: Any, values: np.ndarray, name: str) -> np.ndarray:
    """One byte per point, broadcast over leading dimensions."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(numbers, (torch.Tensor, list, tuple)):
        numbers = _torch_arrays.without_tensors(numbers, name)
    array = np.asarray(numbers)
    if array.dtype != np.bool_:
        raise TypeError(f"{name} must be of dtype bool, got {array.dtype.name}")
    expected = values.shape[:-1]
    check_per_point(array.shape, expected, name, "bool")
    return np.ascontiguousarray(np.broadcast_to(array, expected)).view(np.uint8)


def empty(shape: tuple[int, ...], dtype: str, _beside: np.ndarray) -> np.ndarray:
    """Uninitialised memory."""
    return np.empty(shape, dtype)


def to_doubles(numbers: np.ndarray, shape: tuple[int, ...], _beside: np.ndarray) -> np.ndarray:
    """Contiguous float64, broadcast."""
    return np.ascontiguousarray(np.broadcast_to(numbers, shape), dtype=np.float64)


def address(array: np.ndarray) -> int:
    """Where the first element lives."""
    return _core.address(array)


def from_host(array: np.ndarray, _beside: np.ndarray) -> np.ndarray:
    """A result that the compiled core has allocated."""
    return array


def ranks_of(ranks: Any, shape: tuple[int, ...], _beside: np.ndarray) -> np.ndarray:
    """One int32 per point."""
    array = np.asarray(_torch_arrays.without_tensors(ranks, "ranks"))
    check_ranks(array.dtype.name, array.shape, shape)
    return np.ascontiguousarray(np.broadcast_to(array, shape), dtype=np.int32)


def unrank_masked(ranks: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The ranks, -1 where the mask is 0."""
    return np.where(mask != 0, ranks, np.int32(-1))


def subtract(values: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The values less what is taken off each, in float64."""
    with np.errstate(over="ignore", invalid="ignore"):  # such values are refused by name
        return np.asarray(np.subtract(values, corners, dtype=np.float64))


def apply_signs(values: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The values times one sign per objective."""
    return np.asarray(values * signs.astype(values.dtype))


def values_of(points: Any, name: str) -> np.ndarray:
    """A contiguous array of floats."""
    if type(points) is np.ndarray and points.dtype.char in "fd":  # the usual case, without detours
        flags = points.flags
        if flags.c_contiguous and flags.aligned and points.dtype.isnative:
            return points
    if isinstance(points, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array: pass {name}.data and, to leave out every point with a "
            f"masked value, mask=~np.ma.getmaskarray({name}).any(-1)"
        )
    if isinstance(points, (list, tuple)):
        points = _torch_arrays.without_tensors(points, name)
    try:
        array = np.asarray(points)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from error
    dtype = array.dtype.name
    if not isinstance(points, np.ndarray) and not hasattr(points, "__array__"):
        array, dtype = _from_list(array, name)
    if dtype in HALVES:
        array = array.astype(np.float32)
    elif dtype in INTEGERS:
        array = _widen(array, name)
    elif dtype not in FLOATS:
        raise refuse_dtype(name, dtype, _suggest(points, name))
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = np.array(array, order="C")
    return array


def _from_list(array: np.ndarray, name: str) -> tuple[np.ndarray, str]:
    """Python's numbers become float64; a list of arrays is what an array of them would be."""
    if array.dtype.name in INTEGERS and array.size:
        array = _widen(array, name)
    elif array.dtype.name == "object" or not np.issubdtype(array.dtype, np.number):
        if array.size:
            raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype.name}")
        array = array.astype(np.float64)
    elif array.size == 0:
        array = array.astype(np.float64)
    return array, array.dtype.name


def _widen(array: np.ndarray, name: str) -> np.ndarray:
    if array.dtype.itemsize == 8 and array.size:
        check_exact(int(array.min()), int(array.max()), name)
    return array.astype(np.float64)


def _suggest(points: Any, name: str) -> str:
    """How to come by floats from what NumPy only knows as objects."""
    if type(points).__module__.partition(".")[0] != "pandas":
        return ""
    return f"; nullable columns become floats by {name}.to_numpy(dtype=float, na_value=np.nan)"
