"""torch tensors on the CPU and on CUDA, as the compiled core takes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery.dtypes import (
    FLOATS,
    HALVES,
    INTEGERS,
    check_exact,
    check_range,
    check_ranks,
    refuse_kind,
)
from paretopo_core._machinery.shapes import check_per_point

# From shape and name of a dtype to uninitialised memory and its address.
Allocator: TypeAlias = Callable[[list[int], str], tuple[Any, int]]


def is_tensor(array: Any) -> bool:
    """Return True for a torch tensor. It does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def check_memory(tensor: Any, name: str) -> None:
    """Refuse a tensor without memory: its address would be null."""
    if tensor.device.type != "meta" and not _has_memory(tensor):
        raise TypeError(
            f"{name} is a {type(tensor).__name__} without memory of its own: pass a torch.Tensor "
            "that holds the numbers (of a distributed tensor to_local() or full_tensor(); a fake "
            "or freed one holds none)"
        )


def _has_memory(tensor: Any) -> bool:
    if tensor.numel() == 0:
        return True
    try:
        if tensor.data_ptr() == 0:
            return False
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        last = tensor.storage_offset() + sum((size - 1) * stride for size, stride in steps)
        # Storage may have been freed, or shrunk, under its tensors.
        return bool(tensor.untyped_storage().nbytes() >= (last + 1) * tensor.itemsize)
    except RuntimeError:  # of a transformation that is over, and of classes without storage
        return False


def host_array(tensor: Any, name: str) -> np.ndarray:
    """Return the numbers of a tensor as a NumPy array; refuse a tensor that requires a gradient."""
    torch = _torch()
    if tensor.requires_grad and torch.is_grad_enabled():
        raise TypeError(
            f"{name} requires a gradient, which is not computed here: pass {name}.detach()"
        )
    check_memory(tensor, name)
    try:
        host = tensor.detach().resolve_neg().cpu()
        return np.asarray((host.float() if host.dtype == torch.bfloat16 else host).numpy())
    except (TypeError, RuntimeError) as error:
        raise TypeError(
            f"{name} is a {type(tensor).__name__} that torch cannot turn into numbers: {error}"
        ) from error


def without_tensors(numbers: Any, name: str) -> Any:
    """Nested lists with NumPy arrays for the tensors among their leaves."""
    if "torch" not in sys.modules:
        return numbers
    if isinstance(numbers, (list, tuple)):
        return [without_tensors(each, name) for each in numbers]
    return host_array(numbers, name) if is_tensor(numbers) else numbers


def place_of(values: Any) -> tuple[int, int]:
    """Device and stream: the caller's current one."""
    return (_core.CPU, 0) if values.device.type == "cpu" else place_on(values.device.index)


def place_on(index: int) -> tuple[int, int]:
    """CUDA device and stream; torch.cuda.current_stream() would make an object of the stream."""
    return index, _torch()._C._cuda_getCurrentRawStream(index)


def bools_of(numbers: Any, values: Any, name: str) -> Any:
    """Return one byte per point on the points' device, broadcast over leading dimensions."""
    torch = _torch()
    numbers = torch.as_tensor(numbers)
    check_memory(numbers, name)
    if numbers.dtype != torch.bool:
        raise TypeError(f"{name} must be of dtype bool, got {numbers.dtype}")
    expected = tuple(values.shape[:-1])
    check_per_point(tuple(numbers.shape), expected, name, "bool")
    return numbers.detach().to(values.device).expand(expected).contiguous().view(torch.uint8)


def allocator_like(values: Any) -> Allocator:
    """Return a function that allocates with torch's own allocator on the device of the values."""
    return allocator_on(values.device)


def allocator_on(device: Any) -> Allocator:
    """Return the same function for a torch.device."""
    torch = _torch()
    empty = torch.empty

    def allocate(shape: list[int], dtype: str) -> tuple[Any, int]:
        array = empty(shape, dtype=getattr(torch, dtype), device=device)
        return array, array.data_ptr()

    return allocate


def to_doubles(numbers: Any, shape: tuple[int, ...], like: Any) -> Any:
    """Contiguous float64 on the same device, broadcast."""
    torch = _torch()
    tensor = torch.as_tensor(numbers).detach()
    check_memory(tensor, "ref")
    tensor = tensor.to(like.device, torch.float64)
    return tensor.expand(shape).contiguous()


def address(array: Any) -> int:
    """Where the first element lives, in host or device memory."""
    return int(array.data_ptr())


def from_host(array: np.ndarray, like: Any) -> Any:
    """Move a result that the compiled core has allocated to a device."""
    return _torch().from_numpy(np.asarray(array)).to(like.device)


def ranks_of(ranks: Any, shape: tuple[int, ...], like: Any) -> Any:
    """One int32 per point."""
    torch = _torch()
    ranks = torch.as_tensor(ranks)
    check_memory(ranks, "ranks")
    check_ranks(str(ranks.dtype).removeprefix("torch."), tuple(ranks.shape), shape)
    if ranks.numel() and ranks.device.type == "cpu":  # a GPU would have to wait
        check_range(int(ranks.min()), int(ranks.max()))
    return ranks.detach().to(like.device, torch.int32).expand(shape).contiguous()


def unrank_masked(ranks: Any, mask: Any) -> Any:
    """The ranks, -1 where the mask is 0."""
    return ranks.masked_fill(mask == 0, -1)


def subtract(values: Any, corners: Any) -> Any:
    """Subtract the corners from the values, in float64."""
    return (values.double() - corners).contiguous()


def apply_signs(values: Any, signs: np.ndarray) -> Any:
    """The values times one sign per objective."""
    return values * _torch().from_numpy(signs).to(values)


def turning_signs(senses: Any, points: Any, dtype: Any) -> Any:
    """Return -1 where smaller is better, 1 elsewhere; senses of None are True everywhere."""
    signs = _torch().ones(points.shape[-1], dtype=dtype, device=points.device)
    return signs if senses is None else _torch().where(senses.to(signs.device), signs, -signs)


def turn_towards(senses: Any, ref: Any, points: Any) -> tuple[Any, Any, Any]:
    """Return points and references in float64 with their signs, and these signs.

    Larger is better then. A reference per set gets a dimension for the points.
    """
    signs = turning_signs(senses, points, _torch().float64)
    corners = ref.to(signs) * signs
    return points.double() * signs, corners[..., None, :] if ref.dim() > 1 else corners, signs


def values_of(points: Any, name: str) -> Any:
    """A contiguous tensor of floats, without its history."""
    dtype = str(points.dtype).removeprefix("torch.")
    check_dense(points, name)
    if points.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{name} must live on CPU or CUDA, got device {points.device}")
    check_memory(points, name)
    values = points.detach().resolve_neg()
    if dtype in HALVES:
        values = values.float()
    elif dtype in INTEGERS:
        is_wide = values.dtype.itemsize == 8
        values = values.double()
        if is_wide and values.numel() and values.device.type == "cpu":  # a GPU would have to wait
            check_exact(int(values.min()), int(values.max()), name)
    elif dtype not in FLOATS:
        raise refuse_kind(name, f"dtype {dtype}")
    return values.contiguous()


def check_dense(points: Any, name: str) -> None:
    """Refuse tensors whose values are not in memory as they are."""
    if points.is_quantized:
        raise TypeError(
            f"{name} must be a dense tensor, got a quantized one: pass its dequantize()"
        )
    if points.layout != _torch().strided:
        raise TypeError(f"{name} must be a dense tensor, got layout {points.layout}")


def _torch() -> Any:
    return sys.modules["torch"]  # a tensor exists only if torch was imported
