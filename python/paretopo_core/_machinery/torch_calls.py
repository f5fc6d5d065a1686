"""Direct calls of the core with tensors, and the conditions for them.

This module is imported with the first tensor, so that torch is a global name here: on a tiny set
every lookup counts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from paretopo_core import _core
from paretopo_core._machinery import torch_arrays

_is_compiling = torch.compiler.is_compiling
_is_functional = torch._is_functional_tensor
_dispatch_depth: Any = torch._C._len_torch_dispatch_stack
_tracing_state: Any = torch._C._get_tracing_state
_transform_level: Any = torch._C._functorch.maybe_current_level
_to_dlpack: Any = torch.utils.dlpack.to_dlpack  # type: ignore[attr-defined]


def are_plain(points: Tensor, others: tuple[Any, ...]) -> bool:
    """Return True if torch need not see an operator: no tracing, and only plain arguments."""
    is_plain = not is_tracing() and _is_plain(points)
    for other in others:
        is_plain = is_plain and (other is None or _is_plain(other))
    return is_plain


def hide_values(*arguments: Any) -> bool:
    """Return True if values must not be read: torch traces, or a tensor is of another class."""
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    return is_tracing() or any(
        type(each) not in (Tensor, torch.nn.Parameter) or _is_functional(each) for each in tensors
    )


def call_plain(call: Callable[..., Any], points: Tensor, others: tuple[Any, ...]) -> Any:
    """Return the result of the compiled core for plain arguments; None for others."""
    try:
        tensor = _exported(points)
        result = call(tensor, *others)
        if result is None and Tensor in map(type, others):
            others = tuple(_exported(o) if type(o) is Tensor else o for o in others)
            result = call(tensor, *others)
    except BufferError:
        return None
    if type(result) is np.ndarray:
        return torch.from_numpy(result)
    if type(result) is tuple:
        return tuple(map(_as_tensor, result))
    return None if result is None else _as_tensor(result)


def _exported(tensor: Tensor) -> Any:
    """Return a tensor for the core, by DLPack.

    Raises:
        BufferError: it is freed, still to be negated, or nothing for DLPack.
    """
    try:
        end = (tensor.storage_offset() + tensor.numel()) * tensor.itemsize
        if tensor.untyped_storage().nbytes() >= end and not tensor.is_neg():
            return _to_dlpack(tensor)
    except RuntimeError:  # sparse, quantised, of a transformation that is over ...
        pass
    raise BufferError("no plain memory")


def _as_tensor(result: Any) -> Tensor:
    """Return a result as a tensor, which it is on a GPU; for a single set it may be a number."""
    return result if type(result) is Tensor else torch.from_numpy(np.asarray(result))


def _place_on(index: int) -> tuple[int, int, torch_arrays.Allocator]:
    """Return device, stream and allocator, for the compiled core."""
    return *torch_arrays.place_on(index), _allocator_on(index)


@cache
def _allocator_on(index: int) -> torch_arrays.Allocator:
    return torch_arrays.allocator_on(torch.device("cuda", index))


_core.set_place_of_tensors(_place_on)


def _is_plain(argument: Any) -> bool:
    """Return True if an argument needs no operator: no gradient, and no dispatching class."""
    kind = type(argument)
    if kind is Tensor or kind is torch.nn.Parameter:
        wants_gradient = argument.requires_grad and torch.is_grad_enabled()
        return not wants_gradient and not _is_functional(argument)
    return kind in _NO_TENSORS or not isinstance(argument, Tensor)


# Types are compared without torch's instance check, which takes longer.
_NO_TENSORS = frozenset({bool, float, int, list, tuple, np.ndarray})


def is_tracing() -> bool:
    """Return True if torch compiles, traces or transforms: values must not be read."""
    return (
        _is_compiling()
        or _dispatch_depth() > 0  # make_fx, FakeTensorMode, counters
        or _tracing_state() is not None  # torch.jit.trace
        or forward_ad._current_level >= 0
        or _transform_level() is not None
    )


def is_transforming() -> bool:
    """Return True within a transformation of torch.func or forward mode."""
    return forward_ad._current_level >= 0 or _transform_level() is not None
