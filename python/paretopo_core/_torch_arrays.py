"""torch tensors on the CPU and on CUDA, as the compiled core takes them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from paretopo_core import _core
from paretopo_core._dtypes import (
    FLOATS,
    HALVES,
    INTEGERS,
    check_exact,
    check_mask_shape,
    refuse_dtype,
)


def place_of(values: Any) -> tuple[int, int]:
    """Device and stream: the caller's current one."""
    if values.device.type == "cpu":
        return _core.CPU, 0
    return values.device.index, _torch().cuda.current_stream(values.device).cuda_stream


def mask_of(mask: Any, values: Any) -> Any:
    """One byte per point, beside the points, broadcast over leading dimensions."""
    torch = _torch()
    if not isinstance(mask, torch.Tensor):
        mask = torch.as_tensor(np.asarray(mask))
    if mask.dtype != torch.bool:
        raise TypeError(f"mask must be of dtype bool, got {mask.dtype}")
    expected = tuple(values.shape[:-1])
    check_mask_shape(tuple(mask.shape), expected)
    return mask.detach().to(values.device).expand(expected).contiguous().view(torch.uint8)


def empty(shape: tuple[int, ...], dtype: str, beside: Any) -> Any:
    """Uninitialised memory on the same device, from torch's own allocator."""
    torch = _torch()
    return torch.empty(shape, dtype=getattr(torch, dtype), device=beside.device)


def doubles_of(numbers: Any, shape: tuple[int, ...], beside: Any) -> Any:
    """Contiguous float64 on the same device, broadcast."""
    torch = _torch()
    tensor = torch.as_tensor(numbers).detach().to(beside.device, torch.float64)
    return tensor.expand(shape).contiguous()


def address(array: Any) -> int:
    """Where the first element lives, in host or device memory."""
    return int(array.data_ptr())


def turned(values: Any, signs: np.ndarray) -> Any:
    """The values times one sign per objective."""
    return values * _torch().from_numpy(signs).to(values)


def values_of(points: Any, name: str) -> Any:
    """A contiguous tensor of floats, without its history."""
    torch = _torch()
    dtype = str(points.dtype).removeprefix("torch.")
    if points.layout != torch.strided or points.is_quantized:
        raise TypeError(f"{name} must be a dense tensor, got layout {points.layout}")
    if points.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{name} must live on CPU or CUDA, got device {points.device}")
    values = points.detach().resolve_neg()
    if dtype in HALVES:
        values = values.float()
    elif dtype in INTEGERS:
        is_wide = values.dtype.itemsize == 8
        values = values.double()
        if is_wide and values.numel() and values.device.type == "cpu":  # a GPU would have to wait
            check_exact(int(values.min()), int(values.max()), name)
    elif dtype not in FLOATS:
        raise refuse_dtype(name, dtype)
    return values.contiguous()


def _torch() -> Any:
    return sys.modules["torch"]  # a tensor exists only if torch was imported
