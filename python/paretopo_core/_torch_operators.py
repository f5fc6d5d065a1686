"""The operations as torch operators: one node of a graph each, under every transformation.

Imported where torch has to see an operator (``_arrays.operators``); a direct call does without,
which is quicker. Reference points and weights are tensors here.

An operator has a fake (what torch.compile, torch.export and FakeTensorMode ask for a shape), a rule
for vmap (the operations are batched already) and a derivative, or the refusal to have one. torch
wants the derivative twice: on the operator, for graphs, and as an ``autograd.Function``, for
torch.func and forward mode; both are made from the same slopes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paretopo_core import _torch_arrays
from paretopo_core._arrays import numbers_of, vector_of
from paretopo_core._senses import Maximise, senses_of
from paretopo_core.advantage import compute_advantage
from paretopo_core.crowding import compute_crowding
from paretopo_core.expected_hypervolume import (
    compute_expected_hypervolume,
    compute_hypervolume_advantage,
)
from paretopo_core.fronts import compute_nondominated, compute_ranks
from paretopo_core.hypervolume import compute_contributions, compute_gradient, compute_hypervolume


def pareto_rank(points: Tensor, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.pareto_rank`."""
    return _call(_pareto_rank, points, _per_point(mask, points, "mask"), _senses(maximise, points))


def is_nondominated(points: Tensor, maximise: Maximise, keep_weakly: bool, mask: Any) -> Any:
    """See :func:`paretopo_core.is_nondominated`."""
    return _call(
        _is_nondominated,
        points,
        _per_point(mask, points, "mask"),
        _senses(maximise, points),
        keep_weakly,
    )


def crowding_distance(points: Tensor, maximise: Maximise, ranks: Any, mask: Any) -> Any:
    """See :func:`paretopo_core.crowding_distance`."""
    keep, known = _per_point(mask, points, "mask"), _per_point(ranks, points, "ranks")
    return _call(_crowding_distance, points, keep, known, _senses(maximise, points))


def pareto_advantage(
    rewards: Tensor, weights: Any, beta: float, centre: int, mask: Any, return_ranks: bool
) -> Any:
    """See :func:`paretopo_core.pareto_advantage`."""
    vector = _vector(weights, rewards, "weights")
    both = _call(
        _pareto_advantage, rewards, vector, _per_point(mask, rewards, "mask"), beta, centre
    )
    return both if return_ranks else both[0]


def hypervolume(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.hypervolume`."""
    corner = _vector(ref, points, "ref")
    return _call(
        _hypervolume, points, corner, _per_point(mask, points, "mask"), _senses(maximise, points)
    )


def hypervolume_gradient(points: Tensor, ref: Any, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.hypervolume_gradient`."""
    corner = _vector(ref, points, "ref")
    return _call(
        _hypervolume_gradient,
        points,
        corner,
        _per_point(mask, points, "mask"),
        _senses(maximise, points),
    )


def hv_contributions(
    points: Tensor, ref: Any, maximise: Maximise, ignore_dominated: bool, mask: Any
) -> Any:
    """See :func:`paretopo_core.hv_contributions`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return _call(
        _hv_contributions,
        points,
        corner,
        _per_point(mask, points, "mask"),
        senses,
        ignore_dominated,
    )


def expected_hypervolume(points: Tensor, ref: Any, k: int, maximise: Maximise, mask: Any) -> Any:
    """See :func:`paretopo_core.expected_hypervolume`."""
    corner, senses = _vector(ref, points, "ref"), _senses(maximise, points)
    return _call(_expected_hypervolume, points, corner, _per_point(mask, points, "mask"), senses, k)


def hypervolume_advantage(rewards: Tensor, ref: Any, k: int, centre: int, mask: Any) -> Any:
    """See :func:`paretopo_core.hypervolume_advantage`."""
    corner = _vector(ref, rewards, "ref")
    return _call(
        _hypervolume_advantage, rewards, corner, _per_point(mask, rewards, "mask"), k, centre
    )


def _senses(maximise: Maximise, points: Tensor) -> str:
    """A character for each objective: a list would be taken apart by torch's transformations."""
    return "".join("+" if each else "-" for each in senses_of(maximise, _objectives(points)))


def _objectives(points: Tensor) -> int:
    if torch.compiler.is_compiling():
        return points.shape[-1]
    with _constants():
        return int(points.shape[-1])


@contextmanager
def _constants() -> Iterator[None]:
    """What torch.jit.trace is to record as it stands, without a warning."""
    if torch._C._get_tracing_state() is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)
        yield


def _bools(senses: str) -> list[bool]:
    return [sense == "+" for sense in senses]


def _vector(numbers: Any, points: Tensor, name: str) -> Tensor:
    if isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers, dtype=torch.float64)
    with _constants():
        array = numbers_of(numbers, name)
        if array.ndim < 2 or name != "ref":
            array = vector_of(array, _objectives(points), name, scalar=name == "ref")
        return _beside(points, torch.from_numpy(array))


def _per_point(numbers: Any, points: Tensor, name: str) -> Tensor | None:
    if numbers is None or isinstance(numbers, Tensor):
        return numbers
    if torch.compiler.is_compiling():
        return torch.as_tensor(numbers)
    with _constants():
        array = np.asarray(_torch_arrays.without_tensors(numbers, name))
        return _beside(points, torch.as_tensor(array))


def _beside(points: Any, constant: Tensor) -> Tensor:
    """A tensor that may stand in one call with the points: a fake one takes no real ones."""
    mode = getattr(points, "fake_mode", None)
    beside: Tensor = constant if mode is None else mode.from_tensor(constant)
    return beside


def _call(operator: Any, *arguments: Any) -> Any:
    if torch.compiler.is_compiling():
        return operator(*arguments)
    if _torch_arrays.is_transforming() and not _is_functionalising():
        function: Any = _FUNCTIONS[operator]
        return function.apply(*arguments)
    plain = (Tensor, torch.nn.Parameter)
    others = [each for each in arguments if isinstance(each, Tensor) and type(each) not in plain]
    if not others:
        return operator(*arguments)
    try:
        return operator(*arguments)
    except (NotImplementedError, TypeError, RuntimeError) as error:
        kind = type(others[0])
        raise TypeError(
            f"{operator._name} does not take a {kind.__module__}.{kind.__name__}"
            ": pass a plain torch.Tensor (of a masked one get_data(), and mask=get_mask().all(-1); "
            f"of a distributed one to_local() or full_tensor()); torch says: {error}"
        ) from error


def _is_functionalising() -> bool:
    """Whether torch.func.functionalize is at work, which only knows operators."""
    top = torch._C._functorch.peek_interpreter_stack()
    return top is not None and top.key() == torch._C._functorch.TransformType.Functionalize


# ---- Derivatives and rules for vmap ----

_NOTHING_SUBTRACTED = 0  # the code of centre="none"
_FUNCTIONS: dict[Any, type[torch.autograd.Function]] = {}


def _take_apart(ctx: Any, inputs: tuple[Any, ...]) -> None:
    tensors = [each if isinstance(each, Tensor) else None for each in inputs]
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)
    ctx.others = [None if isinstance(each, Tensor) else each for each in inputs]


def _put_together(ctx: Any) -> list[Any]:
    pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
    return [other if tensor is None else tensor for tensor, other in pairs]


def _has_slopes(operator: Any, slopes: Callable[..., Any]) -> None:
    """Make a measure of (points, ref, mask, ...) differentiable, once.

    ``slopes`` of the same arguments: the shape of the result, then (points, objectives). Moving the
    points and the reference together changes no volume, so that the slope in the reference is the
    sum of those in the points, negative.
    """

    class Differentiable(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return operator(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004
            _take_apart(ctx, inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor) -> Any:
            inputs = _put_together(ctx)
            points, ref = inputs[:2]
            parts = gradient[..., None, None] * slopes(*inputs)
            if parts.dim() > points.dim():  # one result for each point
                parts = parts.sum(-3)
            needed: list[Tensor | None] = [None, None]
            if ctx.needs_input_grad[0]:
                needed[0] = parts.to(points.dtype)
            if ctx.needs_input_grad[1]:
                in_ref = -parts.sum(-2)
                needed[1] = in_ref.sum_to_size(ref.shape).to(ref.device, ref.dtype)
            return *needed, *[None] * (len(inputs) - 2)

        @staticmethod
        def jvp(ctx: Any, along: Tensor | None, along_ref: Tensor | None, *_: Any) -> Tensor:
            inputs = _put_together(ctx)
            points = inputs[0]
            parts = slopes(*inputs)
            is_per_point = parts.dim() > points.dim()
            motion = torch.zeros_like(points, dtype=parts.dtype) if along is None else along
            if along_ref is not None:
                away = along_ref.to(parts.device, parts.dtype)
                motion = motion - (away[..., None, :] if away.dim() > 1 else away)
            beside = motion[..., None, :, :] if is_per_point else motion
            result: Tensor = (parts * beside).sum((-2, -1))
            return result

    operator.register_autograd(Differentiable.backward, setup_context=Differentiable.setup_context)
    _FUNCTIONS[operator] = Differentiable


def _has_no_slope(operator: Any, reason: str = "") -> None:
    """Refuse to be differentiated; of whole numbers there is nothing to refuse."""
    name = operator._name

    def refuse(*_: Any) -> Any:
        raise NotImplementedError(
            f"{name} has no derivative{reason}: pass points.detach(), and what else requires one"
        )

    class NotDifferentiable(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:  # noqa: ARG004
            refuse()

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return operator(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004
            outputs = output if isinstance(output, tuple) else (output,)
            ctx.mark_non_differentiable(*[o for o in outputs if not o.is_floating_point()])
            ctx.is_whole = not any(each.is_floating_point() for each in outputs)

        @staticmethod
        def jvp(ctx: Any, *_: Any) -> Any:
            return None if ctx.is_whole else refuse()

    operator.register_autograd(refuse, setup_context=NotDifferentiable.setup_context)
    _FUNCTIONS[operator] = NotDifferentiable


def _is_batched(operator: Any, looped: int | None = None) -> None:
    """Let vmap add one more leading dimension.

    The tensors among the arguments are the points (first) and what is broadcast over their leading
    dimensions, with one dimension of its own. ``looped``: the place of an argument that has no
    leading dimensions; the batch is taken apart where it differs.
    """

    def rule(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        size = info.batch_size
        if looped is not None and in_dims[looped] is not None:
            pairs = list(zip(arguments, in_dims, strict=True))
            parts = [
                operator(*[a if dim is None else a.select(dim, b) for a, dim in pairs])
                for b in range(size)
            ]
            stacked = tuple(torch.stack(list(each)) for each in zip(*parts, strict=True))
            return stacked, (0,) * len(stacked)
        points, dim = arguments[0], in_dims[0]
        points = points.expand(size, *points.shape) if dim is None else points.movedim(dim, 0)
        beside = []
        for each, dim in zip(arguments[1:], in_dims[1:], strict=True):
            if dim is None:
                beside.append(each)
                continue
            moved = each.movedim(dim, 0)
            if moved.dim() == 1:  # one number to each: for all objectives
                moved = moved[:, None].expand(size, points.shape[-1])
            own = moved.shape[1:]
            beside.append(moved.reshape(size, *[1] * (points.dim() - 2 - len(own)), *own))
        result = operator(points, *beside)
        return result, (0,) * len(result) if isinstance(result, tuple) else 0

    operator.register_vmap(rule)


# ---- The operators and, below each, the shape of its result ----


def _advantage_dtype(rewards: Tensor) -> torch.dtype:
    is_narrow = rewards.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return torch.float32 if is_narrow else torch.float64


@torch.library.custom_op("paretopo::pareto_rank", mutates_args=())
def _pareto_rank(points: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    ranks: Tensor = compute_ranks(points, _bools(senses), mask)
    return ranks


@_pareto_rank.register_fake
def _(points: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.int32)


@torch.library.custom_op("paretopo::is_nondominated", mutates_args=())
def _is_nondominated(points: Tensor, mask: Tensor | None, senses: str, keep_weakly: bool) -> Tensor:
    nondominated: Tensor = compute_nondominated(points, _bools(senses), keep_weakly, mask)
    return nondominated


@_is_nondominated.register_fake
def _(points: Tensor, mask: Tensor | None, senses: str, keep_weakly: bool) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.bool)


@torch.library.custom_op("paretopo::crowding_distance", mutates_args=())
def _crowding_distance(
    points: Tensor, mask: Tensor | None, ranks: Tensor | None, senses: str
) -> Tensor:
    distances: Tensor = compute_crowding(points, _bools(senses), ranks, mask)
    return distances


@_crowding_distance.register_fake
def _(points: Tensor, mask: Tensor | None, ranks: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::pareto_advantage", mutates_args=())
def _pareto_advantage(
    rewards: Tensor, weights: Tensor, mask: Tensor | None, beta: float, centre: int
) -> tuple[Tensor, Tensor]:
    both: tuple[Tensor, Tensor] = compute_advantage(
        rewards, weights, beta, centre, mask, return_ranks=True
    )
    return both


@_pareto_advantage.register_fake
def _(
    rewards: Tensor, weights: Tensor, mask: Tensor | None, beta: float, centre: int
) -> tuple[Tensor, Tensor]:
    shape = rewards.shape[:-1]
    advantages = rewards.new_empty(shape, dtype=_advantage_dtype(rewards))
    return advantages, rewards.new_empty(shape, dtype=torch.int32)


@torch.library.custom_op("paretopo::hypervolume", mutates_args=())
def _hypervolume(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    volume: Tensor = compute_hypervolume(points, ref, _bools(senses), mask)
    return volume


@_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_gradient", mutates_args=())
def _hypervolume_gradient(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    slopes: Tensor = compute_gradient(points, ref, _bools(senses), mask)
    return slopes


@_hypervolume_gradient.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str) -> Tensor:
    return points.new_empty(points.shape, dtype=torch.float64)


@torch.library.custom_op("paretopo::hv_contributions", mutates_args=())
def _hv_contributions(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    parts: Tensor = compute_contributions(points, ref, _bools(senses), ignore_dominated, mask)
    return parts


@_hv_contributions.register_fake
def _(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    return points.new_empty(points.shape[:-1], dtype=torch.float64)


@torch.library.custom_op("paretopo::expected_hypervolume", mutates_args=())
def _expected_hypervolume(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int
) -> Tensor:
    volume: Tensor = compute_expected_hypervolume(points, ref, k, _bools(senses), mask)
    return volume


@_expected_hypervolume.register_fake
def _(points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int) -> Tensor:
    return points.new_empty(points.shape[:-2], dtype=torch.float64)


@torch.library.custom_op("paretopo::hypervolume_advantage", mutates_args=())
def _hypervolume_advantage(
    rewards: Tensor, ref: Tensor, mask: Tensor | None, k: int, centre: int
) -> Tensor:
    advantages: Tensor = compute_hypervolume_advantage(rewards, ref, k, centre, mask)
    return advantages


@_hypervolume_advantage.register_fake
def _(rewards: Tensor, ref: Tensor, mask: Tensor | None, k: int, centre: int) -> Tensor:
    return rewards.new_empty(rewards.shape[:-1], dtype=_advantage_dtype(rewards))


# ---- Slopes: what a measure gains for each unit of a value ----


def _slopes_of_contributions(
    points: Tensor,
    ref: Tensor,
    mask: Tensor | None,
    senses: str,
    ignore_dominated: bool,
) -> Tensor:
    # A contribution is the difference of two volumes: with the point and without it.
    count = points.shape[-2]
    kept = torch.ones(points.shape[:-1], dtype=torch.bool, device=points.device)
    if ignore_dominated:
        kept = _call(_is_nondominated, points, mask, senses, True)
    elif mask is not None:
        kept = kept & mask.to(points.device)
    whole = _call(_hypervolume_gradient, points, ref, kept, senses)
    others = ~torch.eye(count, dtype=torch.bool, device=points.device)
    repeated = points[..., None, :, :].expand(*points.shape[:-1], count, points.shape[-1])
    corners = ref[..., None, :] if ref.dim() > 1 else ref
    without = _call(_hypervolume_gradient, repeated, corners, kept[..., None, :] & others, senses)
    slopes: Tensor = whole[..., None, :, :] - without
    return slopes


def _slopes_of_expected(
    points: Tensor, ref: Tensor, mask: Tensor | None, senses: str, k: int
) -> Tensor:
    # A point that moves in one objective pushes its facet, in the other objectives: there it adds,
    # averaged over draws, what it would in a set where only the points before it in that objective
    # have volume. Those get a side of 1 there, all others 0.
    objectives, count = points.shape[-1], points.shape[-2]
    device = points.device
    signs = torch.tensor(
        [1.0 if each else -1.0 for each in _bools(senses)], dtype=torch.float64, device=device
    )
    corners = ref.to(device, torch.float64)
    sides = (points.double() - (corners[..., None, :] if ref.dim() > 1 else corners)) * signs
    own, other = sides[..., :, None, :], sides[..., None, :, :]
    earlier = torch.ones(count, count, dtype=torch.bool, device=device).tril()
    before = (other > own) | ((other == own) & earlier[..., None])
    before = before.transpose(-1, -2)[..., None]  # (..., point, objective, other point, 1)
    here = torch.eye(objectives, dtype=torch.bool, device=device)[:, None, :]
    boxes = torch.where(here, before.double(), sides[..., None, None, :, :])
    present = None if mask is None else mask.to(device)
    over = None if present is None else present[..., None, None, :]
    zero = torch.zeros(objectives, dtype=torch.float64)
    added = _call(_hypervolume_advantage, boxes, zero, over, k, _NOTHING_SUBTRACTED)
    facets = added.diagonal(dim1=-3, dim2=-1).transpose(-1, -2)
    is_inside = (sides > 0).all(-1, keepdim=True)
    total = count if present is None else present.expand(points.shape[:-1]).sum(-1)[..., None, None]
    drawn = torch.as_tensor(total).clamp(max=k) / torch.as_tensor(total).clamp(min=1)
    return torch.where(is_inside, facets * drawn * signs, 0.0)


_has_slopes(_hypervolume, lambda *inputs: _call(_hypervolume_gradient, *inputs))
_has_slopes(_hv_contributions, _slopes_of_contributions)
_has_slopes(_expected_hypervolume, _slopes_of_expected)
_has_no_slope(_pareto_rank)
_has_no_slope(_is_nondominated)
_has_no_slope(_crowding_distance)
_has_no_slope(_pareto_advantage)
_has_no_slope(_hypervolume_advantage)
_has_no_slope(_hypervolume_gradient, " (hypervolumes have first derivatives only)")
for _operator in _FUNCTIONS:
    _is_batched(_operator, looped=1 if _operator is _pareto_advantage else None)
