"""Ranks of torch's tensors as EvoX and EvoTorch define them, for any transformation of torch."""

from __future__ import annotations

from torch import Tensor

import paretopo_core as pp

_DEVICES = ("cpu", "cuda") if pp._core.cuda_is_compiled() else ("cpu",)


def can_rank(points: Tensor) -> bool:
    """Return True for floats of shape (points, objectives) on a device of this build."""
    return (
        points.ndim == 2
        and 0 not in points.shape
        and points.is_floating_point()
        and points.device.type in _DEVICES
    )


def rank(points: Tensor, *, maximise: bool) -> Tensor:
    """Rank points, int32; those with a NaN are in front 0 and dominate nothing.

    It reads no value, so that torch.compile and torch.vmap can trace it.
    """
    is_number = ~points.isnan().any(dim=-1)
    return pp.pareto_rank(points, maximise=maximise, mask=is_number).clamp_min(0)
