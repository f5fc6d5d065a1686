"""Derivatives of torch operators, rules for vmap, and the call that picks the form of an operator.

torch needs the derivative twice: on the operator, for graphs, and as an ``autograd.Function``, for
torch.func and forward mode. Both use the same products.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from paretopo_core._machinery.registry import Derivative
from paretopo_core._machinery.torch_calls import is_transforming

# The autograd function of every operator, for transformations that cannot differentiate operators.
FUNCTIONS: dict[Any, type[torch.autograd.Function]] = {}


def call(operator: Any, *arguments: Any) -> Any:
    """Apply an operator, in the form that torch needs at this moment.

    Raises:
        TypeError: a tensor is of a class that the operator cannot take; it is named.
        NotImplementedError: a compiled graph takes a forward derivative.
    """
    if torch.compiler.is_compiling():
        if forward_ad._current_level >= 0:  # its derivative would be 0; torch now leaves the graph
            raise NotImplementedError(
                f"{operator._name} has no forward derivative in a compiled graph: compile without "
                "fullgraph=True"
            )
        return operator(*arguments)
    if is_transforming() and not _is_functionalising():
        function: Any = FUNCTIONS[operator]
        return function.apply(*arguments)
    plain = (Tensor, torch.nn.Parameter)
    others = [each for each in arguments if isinstance(each, Tensor) and type(each) not in plain]
    if not others:
        return operator(*arguments)
    try:
        return operator(*arguments)
    except (TypeError, RuntimeError) as error:  # NotImplementedError is one
        kind = type(others[0])
        raise TypeError(
            f"{operator._name} does not take a {kind.__module__}.{kind.__name__}"
            ": pass a plain torch.Tensor (of a masked one get_data(), and mask=get_mask().all(-1); "
            f"of a distributed one to_local() or full_tensor()); torch says: {error}"
        ) from error


def _is_functionalising() -> bool:
    """Return True within torch.func.functionalize, which only supports operators."""
    top = torch._C._functorch.peek_interpreter_stack()
    return top is not None and top.key() == torch._C._functorch.TransformType.Functionalize


def _save_inputs(ctx: Any, inputs: tuple[Any, ...]) -> None:
    tensors = [each if isinstance(each, Tensor) else None for each in inputs]
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)
    ctx.others = [None if isinstance(each, Tensor) else each for each in inputs]


def _load_inputs(ctx: Any) -> list[Any]:
    pairs = zip(ctx.saved_tensors, ctx.others, strict=True)
    return [other if tensor is None else tensor for tensor, other in pairs]


def _without_own_tangent(given: Any) -> Any:
    """Return an input of a derivative with the tangents of outer derivatives only."""
    if not isinstance(given, Tensor):
        return given
    return forward_ad.unpack_dual(given).primal  # type: ignore[no-untyped-call]


def products_of(slopes: Callable[..., Any]) -> Derivative:
    """Return the derivative of a measure of each set or point, from all of its slopes.

    ``slopes`` takes the operator's arguments and returns the shape of the result followed by
    (points, objectives).
    """

    def forward(motion: Tensor, points: Tensor, *others: Any) -> Tensor:
        parts = slopes(points, *others)
        is_per_point = parts.dim() > points.dim()
        moves = motion[..., None, :, :] if is_per_point else motion
        return (parts * moves).sum((-2, -1))

    def backward(gradient: Tensor, points: Tensor, *others: Any) -> Tensor:
        parts: Tensor = gradient[..., None, None] * slopes(points, *others)
        return parts.sum(-3) if parts.dim() > points.dim() else parts

    return Derivative(forward, backward)


def add_derivative(operator: Any, derivative: Derivative, ref: int | None) -> None:
    """Make an operator of (points, senses, mask, ...) differentiable, once.

    ``ref`` is the index of the reference point. Moving points and reference together changes no
    result, so that the reference's derivative is minus the sum of the points' derivatives. None:
    only the points have a derivative.
    """

    def refuse_others(are_wanted: Iterable[bool]) -> None:
        if ref is None and any(are_wanted):
            raise NotImplementedError(
                f"{operator._name} has a derivative in its first argument only: pass the others "
                "with .detach()"
            )

    class Differentiable(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*inputs: Any) -> Any:
            return operator(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ARG004
            ctx.set_materialize_grads(False)  # constant arguments get None
            _save_inputs(ctx, inputs)

        @staticmethod
        def backward(ctx: Any, gradient: Tensor | None) -> Any:
            if gradient is None:  # nothing depends on the result
                return (None,) * len(ctx.needs_input_grad)
            refuse_others(ctx.needs_input_grad[1:])
            inputs = _load_inputs(ctx)
            points = inputs[0]
            parts = derivative.backward(gradient, *inputs)
            needed: list[Tensor | None] = [None] * len(inputs)
            if ctx.needs_input_grad[0]:
                needed[0] = parts.to(points.dtype)
            if ref is not None and ctx.needs_input_grad[ref]:
                corner, in_ref = inputs[ref], -parts.sum(-2)
                needed[ref] = in_ref.sum_to_size(corner.shape).to(corner.device, corner.dtype)
            return tuple(needed)

        @staticmethod
        def jvp(ctx: Any, along: Tensor | None, *others: Any) -> Tensor:
            refuse_others(each is not None for each in others)
            # torch would ignore all tangents here, also those of an outer derivative.
            with forward_ad._set_fwd_grad_enabled(True):
                inputs = [_without_own_tangent(each) for each in _load_inputs(ctx)]
                points = inputs[0]
                motion = torch.zeros_like(points) if along is None else along
                motion = motion.double()
                along_ref = None if ref is None else others[ref - 1]
                if along_ref is not None:
                    away = along_ref.to(motion.device, motion.dtype)
                    motion = motion - (away[..., None, :] if away.dim() > 1 else away)
                result: Tensor = derivative.forward(motion, *inputs)
            return result

    operator.register_autograd(Differentiable.backward, setup_context=Differentiable.setup_context)
    FUNCTIONS[operator] = Differentiable


def refuse_slopes(operator: Any, reason: str = "") -> None:
    """Make differentiation raise an error; integer results need none."""
    name = operator._name

    def refuse(*_: Any) -> Any:
        raise NotImplementedError(
            f"{name} has no derivative{reason}: pass points.detach(), and detach other arguments"
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
    FUNCTIONS[operator] = NotDifferentiable


def add_batch_rule(operator: Any, *, looped: Sequence[int], paired: Sequence[int]) -> None:
    """Let vmap add one more leading dimension.

    The tensors among the arguments are the points (first) and arrays that are broadcast over their
    leading dimensions. The latter have one further dimension, or two at the indices ``paired``.
    ``looped``: the indices of arguments without leading dimensions. If they are batched, the rule
    loops over the batch.
    """

    def rule(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> Any:
        size = info.batch_size
        if any(in_dims[place] is not None for place in looped):
            pairs = list(zip(arguments, in_dims, strict=True))
            parts = [
                operator(*[a if dim is None else a.select(dim, b) for a, dim in pairs])
                for b in range(size)
            ]
            if isinstance(parts[0], Tensor):
                return torch.stack(parts), 0
            stacked = tuple(torch.stack(list(each)) for each in zip(*parts, strict=True))
            return stacked, (0,) * len(stacked)
        points, dim = arguments[0], in_dims[0]
        points = points.expand(size, *points.shape) if dim is None else points.movedim(dim, 0)
        others = []
        for place, (each, dim) in enumerate(zip(arguments[1:], in_dims[1:], strict=True), 1):
            if dim is None:
                others.append(each)
                continue
            moved = each.movedim(dim, 0)
            if moved.dim() == 1:  # one number to each: for all objectives
                moved = moved[:, None].expand(size, points.shape[-1])
            own = moved.shape[1:]
            missing = points.dim() - (1 if place in paired else 2) - len(own)
            others.append(moved.reshape(size, *[1] * missing, *own))
        result = operator(points, *others)
        return result, (0,) * len(result) if isinstance(result, tuple) else 0

    operator.register_vmap(rule)
