"""A tensor's way into the core: straight, or as an operator that torch sees.

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

_internals = torch._C
_functorch: Any = torch._C._functorch
_to_dlpack: Any = torch.utils.dlpack.to_dlpack  # type: ignore[attr-defined]


def answer_tensor(
    operation: str,
    compute: Callable[..., Any],
    plain_call: Callable[..., Any],
    points: Tensor,
    *others: Any,
) -> Any:
    """The result for a tensor of two dimensions or more, as `paretopo_core._arrays.answer` says."""
    if is_tracing() or not _is_plain(points) or not all(map(_is_plain, others)):
        from paretopo_core import _torch_operators

        return getattr(_torch_operators, operation)(points, *others)
    result = None
    try:
        end = (points.storage_offset() + points.numel()) * points.itemsize
        # Neither freed nor still to be negated.
        if points.untyped_storage().nbytes() >= end and not points.is_neg():
            result = plain_call(_to_dlpack(points), *others)
    except (RuntimeError, BufferError):  # sparse, quantised, of a transformation that is over ...
        pass
    if type(result) is np.ndarray:
        return torch.from_numpy(result)
    if result is None:
        return compute(points, *others)
    if type(result) is tuple:
        return tuple(map(torch.from_numpy, result))
    return torch.from_numpy(np.asarray(result))


def _is_plain(argument: Any) -> bool:
    """Whether torch need not see an operator: no gradient is wanted, no class dispatches."""
    kind = type(argument)
    if kind in _NO_TENSORS:
        return True
    if kind is not Tensor and kind is not torch.nn.Parameter:
        return not isinstance(argument, Tensor)
    wants_gradient = argument.requires_grad and torch.is_grad_enabled()
    return not wants_gradient and not torch._is_functional_tensor(argument)


_NO_TENSORS = frozenset({bool, float, int, list, tuple, np.ndarray, type(None)})


def is_tracing() -> bool:
    """Whether torch compiles, traces or transforms: no value may be looked at."""
    return (
        torch.compiler.is_compiling()
        or _internals._len_torch_dispatch_stack() > 0  # make_fx, FakeTensorMode, counters
        or _internals._get_tracing_state() is not None  # torch.jit.trace
        or is_transforming()
    )


def is_transforming() -> bool:
    """Whether a transformation of torch.func, or forward mode, is at work."""
    return forward_ad._current_level >= 0 or _functorch.maybe_current_level() is not None
