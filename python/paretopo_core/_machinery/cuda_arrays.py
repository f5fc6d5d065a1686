"""Arrays on a GPU with ``__cuda_array_interface__``, such as CuPy's.

https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html. Work is queued on the stream
that the interface names, after the caller's own work.
"""

from __future__ import annotations

import sys
from typing import Any

from paretopo_core import _core
from paretopo_core._machinery import torch_arrays
from paretopo_core._machinery.dtypes import FLOATS, HALVES, INTEGERS, refuse_kind
from paretopo_core._machinery.numpy_arrays import (
    apply_signs,
    bools_of,
    library_of,
    package_of,
    ranks_of,
    subtract,
    to_doubles,
    unrank_masked,
)

__all__ = ["apply_signs", "bools_of", "ranks_of", "subtract", "to_doubles", "unrank_masked"]

# Packages with NumPy's functions empty, asarray, ascontiguousarray and broadcast_to.
_LIKE_NUMPY = {"cupy"}
_LEGACY_STREAM = 1


def recognises(points: Any) -> bool:
    """Return True for an array on a GPU."""
    return hasattr(points, "__cuda_array_interface__")


def ask_for_tensor(points: Any) -> None:
    """Refuse an array on a GPU where only torch computes on one."""
    if recognises(points):
        raise TypeError(
            f"points are a {type(points).__name__} on a GPU, where this takes torch tensors: pass "
            "torch.as_tensor(points)"
        )


def values_of(points: Any, name: str) -> Any:
    """Return a contiguous array of floats; a tensor of the same memory if torch must allocate."""
    if package_of(points) not in _LIKE_NUMPY:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_available():
            raise TypeError(
                f"{name} is a {type(points).__name__} on a GPU, of a package that this one cannot "
                "allocate results with: pass cupy.asarray(...) or torch.as_tensor(...) of it"
            )
        return torch_arrays.values_of(torch.as_tensor(points), name)
    if points.__cuda_array_interface__.get("mask") is not None:
        raise TypeError(f"{name} is a masked array: pass its data, and mask=")
    dtype = points.dtype.name
    if dtype in HALVES:
        points = points.astype("float32")
    elif dtype in INTEGERS:  # no check that float64 holds them exactly: a GPU would have to wait
        points = points.astype("float64")
    elif dtype not in FLOATS:
        raise refuse_kind(name, f"dtype {dtype}")
    elif not points.dtype.isnative:
        raise TypeError(f"{name} must have the byte order of this machine, got {points.dtype}")
    return library_of(points).ascontiguousarray(points)


def place_of(values: Any) -> tuple[int, int]:
    """Device and stream."""
    stream = values.__cuda_array_interface__.get("stream")
    device = _core.cuda_device_of(address(values))
    return device, _LEGACY_STREAM if stream is None else int(stream)


def allocator_like(values: Any) -> torch_arrays.Allocator:
    """Return a function that allocates with the array's own package on its device."""

    def allocate(shape: list[int], dtype: str) -> tuple[Any, int]:
        with values.device:
            array = library_of(values).empty(tuple(shape), dtype)
        return array, address(array)

    return allocate


def address(array: Any) -> int:
    """Where the first element lives, in device memory."""
    at = int(array.__cuda_array_interface__["data"][0])
    if at == 0 and 0 not in array.shape:
        raise TypeError(f"a {type(array).__name__} on a GPU without memory of its own: pass a copy")
    return at
