"""Arrays that pose as arrays on a GPU: they speak ``__cuda_array_interface__``, as CuPy's do.

Their memory is the host's. With ``emulate`` the core takes them for arrays on a device that it
emulates: everything but the kernels' launch is as on a GPU. In a build with the PTX machine they
are lent to it, and the launch, too, is as on a GPU.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest
from support import ptx_machine

from paretopo_core import _core
from paretopo_core._machinery import cuda_arrays

MAPPINGS = _core.MAPPINGS
HAS_EMULATION = _core.HAS_EMULATION or ptx_machine.IS_HERE
ON_EACH = [pytest.param(mapping, marks=pytest.mark.emulated) for mapping in MAPPINGS]
real_device_of = _core.cuda_device_of  # also while a device is emulated


class DeviceArray:
    """As much of an array as CuPy's have in common with NumPy's."""

    __array__ = None  # NumPy must not look into it
    device = nullcontext()

    def __init__(self, host: np.ndarray, *, stream: int | None = 1, is_new: bool = False) -> None:
        if ptx_machine.IS_HERE and host.size > 0 and host.flags.c_contiguous:
            is_writeable = host.flags.writeable
            host = host if is_new else np.array(host)
            ptx_machine.lend(host, is_input=not is_new)
            host.flags.writeable = is_writeable
        self.host = host
        self.stream = stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.host.shape,
            "typestr": self.host.dtype.str,
            "data": (self.host.ctypes.data if self.host.size else 0, not self.host.flags.writeable),
            "strides": None if self.host.flags.c_contiguous else self.host.strides,
            "version": 3,
            "stream": self.stream,
        }

    @property
    def dtype(self) -> np.dtype:
        return self.host.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.host.shape

    def reshape(self, *shape: int) -> DeviceArray:
        return DeviceArray(self.host.reshape(*shape))

    def astype(self, dtype: str) -> DeviceArray:
        return DeviceArray(self.host.astype(dtype))

    def __mul__(self, other: DeviceArray) -> DeviceArray:
        return DeviceArray(self.host * other.host)

    def __sub__(self, other: DeviceArray) -> DeviceArray:
        return DeviceArray(self.host - other.host)


# The core recognises libraries by the package of their arrays.
_PACKAGE = "device_arrays"
DeviceArray.__module__ = _PACKAGE
sys.modules[_PACKAGE] = sys.modules[__name__]


def empty(shape: tuple[int, ...], dtype: str) -> DeviceArray:
    """Return an array full of garbage, so that tests notice unwritten elements."""
    host = np.empty(shape, dtype)
    garbage = np.frombuffer(b"\xad\xde\xf4\x7f", np.uint8)
    host.reshape(-1).view(np.uint8)[...] = np.resize(garbage, host.nbytes)
    return DeviceArray(host, is_new=True)


def asarray(values: Any, dtype: Any = None) -> DeviceArray:
    return values if isinstance(values, DeviceArray) else DeviceArray(np.asarray(values, dtype))


def ascontiguousarray(array: DeviceArray) -> DeviceArray:
    if array.host.flags.c_contiguous:
        return array
    return DeviceArray(np.ascontiguousarray(array.host), stream=array.stream)


def where(chosen: DeviceArray, array: DeviceArray, other: DeviceArray) -> DeviceArray:
    return DeviceArray(np.where(chosen.host, array.host, other.host))


def broadcast_to(array: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
    return DeviceArray(np.broadcast_to(array.host, shape))


def view_at(address: int, ranks: np.ndarray | None = None) -> _core.Points:
    """Two sets of 3 float32 points with 2 objectives at an address of device 0.

    Results go to ``ranks``; without it there is no memory.
    """

    def allocate(shape: list[int], dtype: str) -> tuple[Any, int]:
        if ranks is None or dtype != "int32":
            return None, 0
        return ranks, ranks.ctypes.data

    return _core.Points(address, 0, (2, 3, 2), 0, 4, 0, 0, allocate)


@contextmanager
def emulate(mapping: str) -> Iterator[None]:
    """Let the core emulate the device of these arrays: with a thread, a warp, ... per set."""
    patch = pytest.MonkeyPatch()
    device = _core.EMULATED - MAPPINGS.index(mapping)
    patch.setitem(sys.modules, _PACKAGE, sys.modules[__name__])
    patch.setattr(cuda_arrays, "_LIKE_NUMPY", {*cuda_arrays._LIKE_NUMPY, _PACKAGE})
    if ptx_machine.IS_HERE:
        ptx_machine.settle(MAPPINGS.index(mapping))
    else:
        patch.setattr(_core, "cuda_device_of", lambda address: device)
    try:
        yield
    finally:
        patch.undo()
