"""The operations as torch operators, which torch.compile and torch.export see as one node each.

Imported where torch has to see an operator (``_arrays.operators``); a direct call does without,
which is quicker. Reference points and weights are tensors on the CPU here.
"""

from typing import Any

import torch
from torch import Tensor

import paretopo_core as core
from paretopo_core._arrays import vector_of
from paretopo_core._senses import Maximise, senses_of


def pareto_rank(points: Tensor, maximise: Maximise, mask: Any) -> Tensor:
    """See :func:`paretopo_core.pareto_rank`."""
    ranks: Tensor = _pareto_rank(points, _senses(maximise, points), _mask(mask))
    return ranks


def is_nondominated(points: Tensor, maximise: Maximise, keep_weakly: bool, mask: Any) -> Tensor:
    """See :func:`paretopo_core.is_nondominated`."""
    senses = _senses(maximise, points)
    nondominated: Tensor = _is_nondominated(points, senses, keep_weakly, _mask(mask))
    return nondominated


def crowding_distance(points: Tensor, mask: Any) -> Tensor:
    """See :func:`paretopo_core.crowding_distance`."""
    distances: Tensor = _crowding_distance(points, _mask(mask))
    return distances


def pareto_advantage(
    rewards: Tensor, weights: Any, beta: float, centre: str, mask: Any
) -> tuple[Tensor, Tensor]:
    """See :func:`paretopo_core.pareto_advantage`; returns the ranks, too."""
    vector = _vector(weights, rewards, "weights")
    both: tuple[Tensor, Tensor] = _pareto_advantage(rewards, vector, beta, centre, _mask(mask))
    return both


def hypervolume(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Tensor:
    """See :func:`paretopo_core.hypervolume`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    volumes: Tensor = _hypervolume(points, corner, senses, _mask(mask))
    return volumes


def hv_contributions(
    points: Tensor, ref: Any, maximise: Maximise, ignore_dominated: bool, mask: Any
) -> Tensor:
    """See :func:`paretopo_core.hv_contributions`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    parts: Tensor = _hv_contributions(points, corner, senses, ignore_dominated, _mask(mask))
    return parts


def expected_hypervolume(points: Tensor, ref: Any, k: int, maximise: Maximise, mask: Any) -> Tensor:
    """See :func:`paretopo_core.expected_hypervolume`."""
    corners, senses = _corners(ref), _senses(maximise, points)
    volumes: Tensor = _expected_hypervolume(points, corners, k, senses, _mask(mask))
    return volumes


def hypervolume_advantage(rewards: Tensor, ref: Any, k: int, centre: str, mask: Any) -> Tensor:
    """See :func:`paretopo_core.hypervolume_advantage`."""
    advantages: Tensor = _hypervolume_advantage(rewards, _corners(ref), k, centre, _mask(mask))
    return advantages


def _senses(maximise: Maximise, points: Tensor) -> list[bool]:
    return senses_of(maximise, points.shape[-1])


def _vector(numbers: Any, points: Tensor, name: str) -> Tensor:
    if isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers, dtype=torch.float64)
    return torch.from_numpy(vector_of(numbers, points.shape[-1], name, scalar=name == "ref"))


def _corners(ref: Any) -> Tensor:
    return ref if isinstance(ref, Tensor) else torch.as_tensor(ref, dtype=torch.float64)


def _advantage_dtype(rewards: Tensor) -> torch.dtype:
    is_narrow = rewards.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return torch.float32 if is_narrow else torch.float64


def _mask(mask: Any) -> Tensor | None:
    return mask if mask is None or isinstance(mask, Tensor) else torch.as_tensor(mask)


# ---- The operators and, below each, the shape of its result ----


@torch.library.custom_op("paretopo::pareto_rank", mutates_args=())
def _pareto_rank(points: Tensor, maximise: list[bool], mask: Tensor | None) -> Tensor:
    return core.pareto_rank(points, maximise=maximise, mask=mask)


@_pareto_rank.register_fake
def _(points: Tensor, maximise: list[bool], mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.int32)


@torch.library.custom_op("paretopo::is_nondominated", mutates_args=())
def _is_nondominated(
    points: Tensor, maximise: list[bool], keep_weakly: bool, mask: Tensor | None
) -> Tensor:
    return core.is_nondominated(points, maximise=maximise, keep_weakly=keep_weakly, mask=mask)


@_is_nondominated.register_fake
def _(points: Tensor, maximise: list[bool], keep_weakly: bool, mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.bool)


@torch.library.custom_op("paretopo::crowding_distance", mutates_args=())
def _crowding_distance(points: Tensor, mask: Tensor | None) -> Tensor:
    return core.crowding_distance(points, mask=mask)


@_crowding_distance.register_fake
def _(points: Tensor, mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::pareto_advantage", mutates_args=())
def _pareto_advantage(
    rewards: Tensor, weights: Tensor, beta: float, centre: str, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    both: tuple[Tensor, Tensor] = core.pareto_advantage(
        rewards,
        weights,
        beta=beta,
        centre=centre,  # type: ignore[arg-type]
        mask=mask,
        return_ranks=True,
    )
    return both


@_pareto_advantage.register_fake
def _(
    rewards: Tensor, weights: Tensor, beta: float, centre: str, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    shape = rewards.shape[:-1]
    advantages = rewards.new_empty(shape, dtype=_advantage_dtype(rewards))
    return advantages, rewards.new_empty(shape, dtype=torch.int32)


@torch.library.custom_op("paretopo::hv_contributions", mutates_args=())
def _hv_contributions(
    points: Tensor,
    ref: Tensor,
    maximise: list[bool],
    ignore_dominated: bool,
    mask: Tensor | None,
) -> Tensor:
    return core.hv_contributions(
        points, ref, maximise=maximise, ignore_dominated=ignore_dominated, mask=mask
    )


@_hv_contributions.register_fake
def _(
    points: Tensor,
    ref: Tensor,
    maximise: list[bool],
    ignore_dominated: bool,
    mask: Tensor | None,
) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::expected_hypervolume", mutates_args=())
def _expected_hypervolume(
    points: Tensor, ref: Tensor, k: int, maximise: list[bool], mask: Tensor | None
) -> Tensor:
    volumes: Tensor = core.expected_hypervolume(points, ref, k, maximise=maximise, mask=mask)
    return volumes


@_expected_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, k: int, maximise: list[bool], mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_advantage", mutates_args=())
def _hypervolume_advantage(
    rewards: Tensor, ref: Tensor, k: int, centre: str, mask: Tensor | None
) -> Tensor:
    advantages: Tensor = core.hypervolume_advantage(
        rewards,
        ref,
        k=k,
        centre=centre,  # type: ignore[arg-type]
        mask=mask,
    )
    return advantages


@_hypervolume_advantage.register_fake
def _(rewards: Tensor, ref: Tensor, k: int, centre: str, mask: Tensor | None) -> Tensor:
    return rewards.new_empty(rewards.shape[:-1], dtype=_advantage_dtype(rewards))


@torch.library.custom_op("paretopo::hypervolume", mutates_args=())
def _hypervolume(points: Tensor, ref: Tensor, maximise: list[bool], mask: Tensor | None) -> Tensor:
    result: Tensor = core.hypervolume(points.detach(), ref, maximise=maximise, mask=mask)
    return result


@_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, maximise: list[bool], mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_gradient", mutates_args=())
def _hypervolume_gradient(
    points: Tensor, ref: Tensor, maximise: list[bool], mask: Tensor | None
) -> Tensor:
    return core.hypervolume_gradient(points, ref, maximise=maximise, mask=mask)


@_hypervolume_gradient.register_fake
def _(points: Tensor, ref: Tensor, maximise: list[bool], mask: Tensor | None) -> Tensor:
    return points.new_empty(points.shape, dtype=torch.float64)


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    points, ref, ctx.maximise, mask = inputs
    ctx.save_for_backward(points, ref, mask)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
    points, ref, mask = ctx.saved_tensors
    slopes = _hypervolume_gradient(points, ref, ctx.maximise, mask)
    return (gradient[..., None, None] * slopes).to(points.dtype), None, None, None


_hypervolume.register_autograd(_backward, setup_context=_remember)
