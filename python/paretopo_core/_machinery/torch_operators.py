"""The operations as torch operators: one node of a graph each, under every transformation.

Imported where torch has to see an operator (``operation.py``); a direct call does without, which
is quicker. An operator takes the points, the senses (None if larger is better everywhere), the mask
and the other arguments; arrays are tensors here. The description of the operation determines its
schema, its fake (the shape for torch.compile, torch.export and FakeTensorMode) and its rule for
vmap (operations are already batched). The family defines the derivative, if any
(``torch_transforms.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from paretopo_core._machinery.arrays import vector_of
from paretopo_core._machinery.numbers import numbers_of, per_point_array
from paretopo_core._machinery.registry import OPERATIONS
from paretopo_core._machinery.senses import Maximise, check_senses, senses_of
from paretopo_core._machinery.torch_calls import is_tracing
from paretopo_core._machinery.torch_transforms import (
    add_batch_rule,
    add_derivative,
    call,
    products_of,
    refuse_slopes,
)

# The types of arguments in torch's schema, by the kind that the core gives them.
_TYPES = {
    "corner": "Tensor",
    "corners": "Tensor",
    "corners?": "Tensor?",
    "weights": "Tensor",
    "bools": "Tensor?",
    "ranks": "Tensor?",
    "sets": "Tensor",
    "numbers": "Tensor?",
    "vectors": "Tensor?",
    "bool": "bool",
    "float": "float",
    "int": "SymInt",
    "int?": "SymInt?",
    "count": "SymInt",
    "name": "str",
}
_VECTORS = ("corner", "corners", "corners?", "weights")  # one number for each objective
_FIRST = 3  # points, senses and mask come before the others


def apply(operation: Any, points: Tensor, maximise: Maximise, mask: Any, *others: Any) -> Any:
    """The result of an operation for a tensor, by its operator; see its public function."""
    given, wants_all = [], True
    for (name, kind), value in zip(operation.core.arguments, others, strict=True):
        if kind == "wanted":
            wants_all = value
        elif kind != "internal":
            given.append(convert(kind, name, value, points))
    if operation.broadcast:
        sets = [each for each, kind in zip(given, _kinds(operation), strict=True) if kind == "sets"]
        shapes = _shapes(points, *sets)
        leading = operation.broadcast(*shapes)
        *own, count, objectives = shapes[0]
        if leading != tuple(own):
            points = points.expand(*leading, count, objectives)
    senses, over = read_senses(maximise, points), convert("bools", "mask", mask, points)
    results = call(operation.operator, points, senses, over, *given)
    return results if wants_all else results[0]


def convert(kind: str, name: str, value: Any, points: Tensor) -> Any:
    """Return an argument as the operator takes it."""
    if value is None or isinstance(value, Tensor) or not _TYPES[kind].startswith("Tensor"):
        return value
    is_per_point = kind in ("bools", "ranks")
    if torch.compiler.is_compiling():
        return torch.as_tensor(value, dtype=None if is_per_point else torch.float64)
    with _constants():
        array = per_point_array(value, name) if is_per_point else numbers_of(value, name)
        if kind in _VECTORS and array.ndim < 2:
            array = vector_of(array, _objectives(points), name, scalar=kind != "weights")
        return _as_constant(points, torch.tensor(array))


def _kinds(operation: Any) -> list[str]:
    """List the kinds of the arguments after the mask."""
    return [kind for _, kind in operation.core.arguments if kind in _TYPES]


def _register(operation: Any) -> Any:
    """Make the operator of an operation."""
    kinds, results = _kinds(operation), operation.core.results
    names = [name.replace(".", "_") for name, kind in operation.core.arguments if kind in _TYPES]
    typed = [f"{_TYPES[kind]} {name}" for kind, name in zip(kinds, names, strict=True)]
    takes = ", ".join(["Tensor points", "Tensor? senses", "Tensor? mask", *typed])
    gives = ", ".join(["Tensor"] * len(results))
    schema = f"({takes}) -> {gives if len(results) == 1 else f'({gives})'}"

    def compute(points: Tensor, senses: Tensor | None, mask: Tensor | None, *given: Any) -> Any:
        rest = iter(given)
        others = [
            True if kind == "wanted" else None if kind == "internal" else next(rest)
            for _, kind in operation.core.arguments
        ]
        return operation.compute(points, True if senses is None else senses, mask, *others)

    def fake(points: Tensor, _: Tensor | None, __: Tensor | None, *given: Any) -> Any:
        sizes = _Sizes(points, given[kinds.index("count")] if "count" in kinds else None)
        made = [sizes.empty(extent, dtype) for extent, dtype in results]
        return made[0] if len(made) == 1 else tuple(made)

    name = f"paretopo::{operation.core.name}"
    operator: Any = torch.library.custom_op(name, compute, mutates_args=(), schema=schema)
    operator.register_fake(fake)
    derivative = operation.derivative or (operation.slopes and products_of(operation.slopes))
    if derivative:
        add_derivative(operator, derivative, _FIRST if operation.moves_with_ref else None)
    else:
        refuse_slopes(operator, operation.no_slopes)
    places = {kind: [_FIRST + i for i, each in enumerate(kinds) if each == kind] for kind in kinds}
    looped = (1, *places.get("vectors", ()))  # 1: the senses
    add_batch_rule(operator, looped=looped, paired=places.get("sets", ()))
    return operator


class _Sizes:
    """The shapes of results, by their extent."""

    def __init__(self, points: Tensor, count: Any) -> None:
        self._points = points
        self._count = count
        self._boxes: Any = None

    def empty(self, extent: str, dtype: str) -> Tensor:
        if dtype == "own":
            is_narrow = self._points.dtype in (torch.float32, torch.float16, torch.bfloat16)
            dtype = "float32" if is_narrow else "float64"
        shape, ends = self._points.shape[:-2], tuple(self._points.shape[-2:])
        if extent == "boxes" and self._boxes is None:
            self._boxes = torch.library.get_ctx().new_dynamic_size()  # known once they are found
        own: dict[str, tuple[Any, ...]] = {
            "set": (),
            "point": ends[:1],
            "value": ends,
            "kept": (self._count,),
            "boxes": (self._boxes, ends[1]),
        }
        return self._points.new_empty((*shape, *own[extent]), dtype=getattr(torch, dtype))


def _shapes(*tensors: Tensor) -> list[tuple[int, ...]]:
    shapes = [tuple(each.shape) for each in tensors]
    if torch.compiler.is_compiling():
        return shapes
    with _constants():
        return [tuple(map(int, shape)) for shape in shapes]


def read_senses(maximise: Maximise, points: Tensor) -> Tensor | None:
    """Return a bool for each objective; None if larger is better everywhere.

    Senses in a tensor or, in a compiled graph, in an array are read when the graph runs.

    Raises:
        TypeError, ValueError: as for all functions.
    """
    if maximise is True:
        return None
    count = _objectives(points)
    is_array = torch.compiler.is_compiling() and isinstance(maximise, np.ndarray)
    if is_array or (is_tracing() and isinstance(maximise, Tensor)):
        senses = torch.as_tensor(maximise)
        check_senses(senses.dtype == torch.bool and senses.dim() == 1, maximise, senses, count)
        return senses
    given = senses_of(maximise, count)
    return None if all(given) else _as_constant(points, torch.tensor(given))


def _objectives(points: Tensor) -> int:
    return _shapes(points)[0][-1]


@contextmanager
def _constants() -> Iterator[None]:
    """Let torch.jit.trace record constants without a warning."""
    if torch._C._get_tracing_state() is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=torch.jit._trace.TracerWarning)
        yield


def _as_constant(points: Any, constant: Tensor) -> Tensor:
    """Wrap a constant as a FakeTensor if `points` is one, because the two cannot be mixed.

    In the mode that made the points, ``torch.tensor`` has done so, and a graph holds its values.
    """
    mode = getattr(points, "fake_mode", None)
    if mode is None or hasattr(constant, "fake_mode"):
        return constant
    return mode.from_tensor(constant)


for _operation in OPERATIONS:
    _operation.operator = _register(_operation)
