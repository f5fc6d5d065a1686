"""A tensor's straight way into the core, and whether it may take that.

Imported with the first tensor, so that torch is a name of this module: on a tiny set every lookup
counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

_is_compiling = torch.compiler.is_compiling
_is_functional = torch._is_functional_tensor
_dispatch_depth: Any = torch._C._len_torch_dispatch_stack
_tracing_state: Any = torch._C._get_tracing_state
_transform_level: Any = torch._C._functorch.maybe_current_level
_to_dlpack: Any = torch.utils.dlpack.to_dlpack  # type: ignore[attr-defined]


def are_plain(points: Tensor, others: tuple[Any, ...]) -> bool:
    """Whether torch need not see an operator: nothing is traced, and no argument asks for one."""
    is_plain = not is_tracing() and _is_plain(points)
    for other in others:
        is_plain = is_plain and (other is None or _is_plain(other))
    return is_plain


def call_plain(call: Callable[..., Any], points: Tensor, others: tuple[Any, ...]) -> Any:
    """The result of the compiled core for a tensor that lies in host memory; None for others."""
    result = None
    try:
        end = (points.storage_offset() + points.numel()) * points.itemsize
        # Neither freed nor still to be negated.
        if points.untyped_storage().nbytes() >= end and not points.is_neg():
            result = call(_to_dlpack(points), *others)
    except (RuntimeError, BufferError):  # sparse, quantised, of a transformation that is over ...
        pass
    if type(result) is np.ndarray:
        return torch.from_numpy(result)
    if result is None:
        return None
    if type(result) is tuple:
        return tuple(torch.from_numpy(np.asarray(each)) for each in result)
    return torch.from_numpy(np.asarray(result))


def _is_plain(argument: Any) -> bool:
    """Whether torch need not see an operator: no gradient is wanted, no class dispatches."""
    kind = type(argument)
    if kind is Tensor or kind is torch.nn.Parameter:
        wants_gradient = argument.requires_grad and torch.is_grad_enabled()
        return not wants_gradient and not _is_functional(argument)
    return kind in _NO_TENSORS or not isinstance(argument, Tensor)


# Told apart without the instance check of torch, which takes longer.
_NO_TENSORS = frozenset({bool, float, int, list, tuple, np.ndarray})


def is_tracing() -> bool:
    """Whether torch compiles, traces or transforms: no value may be looked at."""
    return (
        _is_compiling()
        or _dispatch_depth() > 0  # make_fx, FakeTensorMode, counters
        or _tracing_state() is not None  # torch.jit.trace
        or forward_ad._current_level >= 0
        or _transform_level() is not None
    )


def is_transforming() -> bool:
    """Whether a transformation of torch.func, or forward mode, is at work."""
    return forward_ad._current_level >= 0 or _transform_level() is not None
