"""An operation as one value: the compiled core's description and the additions of its family.

A family makes one of each compiled operation, and calls it with (points, maximise, mask, ...), in
the order that ``csrc/bindings/operations.cpp`` gives the other arguments. Plain arguments go
straight into the core. All others, errors included, are checked here by their kind, and then passed
to the same function of the core. If torch must see an operator, it gets one made from the same
description (``torch_operators.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from paretopo_core import _core
from paretopo_core._machinery.arrays import Batch
from paretopo_core._machinery.dlpack import convert_results, namespace_of
from paretopo_core._machinery.numbers import plain_array, whole_number
from paretopo_core._machinery.registry import OPERATIONS, Derivative
from paretopo_core._machinery.tables import Table, align, table_of
from paretopo_core._machinery.torch_arrays import is_tensor

_PLAIN = (np.ndarray, list, tuple)


class Composed(NamedTuple):
    """An operation that Python composes from others, described like those of the core."""

    name: str
    arguments: tuple[tuple[str, str], ...]  # name and kind of each but points, maximise and mask
    results: tuple[tuple[str, str], ...]  # extent and dtype of each
    is_on_gpu: bool = False

    def call(self, *_: Any) -> None:
        """Accept no plain arguments."""


class Refused(NamedTuple):
    """A refusal by the compiled core, and the call that it refused."""

    refusal: _core.Refusal
    batch: Batch  # the caller's
    given: Batch  # as the core got it
    arguments: tuple[Any, ...]  # the others, checked
    name: str  # of the points

    @property
    def place(self) -> tuple[int, ...]:
        """The index of the value among the caller's points."""
        shape = self.batch.values.shape
        at = np.unravel_index(self.refusal.index, tuple(self.given.values.shape))[-len(shape) :]
        return tuple(int(i) if size > 1 else 0 for i, size in zip(at, shape, strict=True))

    @property
    def value(self) -> float:
        """The value, as the caller gave it."""
        sign = 1.0 if self.batch.signs is None else self.batch.signs[self.place[-1]]
        return float(self.batch.values[self.place]) * float(sign)


def refuse_value(refused: Refused) -> None:
    """Raise an error that names the refused value."""
    name, value = refused.name, refused.value
    why = f"is {value}, an infinite volume"
    if value != value:
        why = "is NaN"
    elif math.isfinite(value):
        why = f"is {value}, so far from ref that float64 cannot hold the distance"
    raise ValueError(
        f"{name} must be numbers, finite on the better side, but {name}{list(refused.place)} "
        f"{why}; leave such points out with mask="
    )


@dataclass(eq=False, kw_only=True)
class Operation:
    """See this module.

    Args:
        core: the description, with the function of the compiled core.
        points: the name of the points in errors.
        cpu_only: name in the error for GPU arrays, for operations without a GPU form.
        checks: by argument name, functions of (batch, value) that return the core's argument. Other
            arguments are checked by their kind.
        prepare: maps (batch, points for the core, checked arguments, ...) to the core's points and
            arguments, for conversions that depend on several of them.
        refuse: raises the error for a value that the core refuses, if not ``refuse_value``.
        finish: (batch, result) to the result.
        compute: replaces all of these: returns the result for arguments that are not plain.
        compose: the same, from other operations. Torch sees those, and no operator of this one.
        broadcast: returns the leading dimensions of the result from the shapes of points and sets.
        slopes: the derivative as an array, a function of the torch operator's arguments, see
            ``torch_transforms.products_of``.
        derivative: the same as products, for results with one number for each value. Without
            either, there is no derivative, for the reason ``no_slopes``.
        moves_with_ref: True if the first other argument is a reference point with a derivative.
    """

    core: Any = field(kw_only=False)
    points: str = "points"
    cpu_only: str = ""
    checks: Mapping[str, Callable[[Batch, Any], Any]] = field(default_factory=dict)
    prepare: Callable[..., tuple[Batch, tuple[Any, ...]]] | None = None
    refuse: Callable[[Refused], Any] = refuse_value
    finish: Callable[[Batch, Any], Any] | None = None
    compute: Any = None
    compose: Callable[..., Any] | None = None
    broadcast: Callable[..., tuple[int, ...]] | None = None
    slopes: Callable[..., Any] | None = None
    derivative: Derivative | None = None
    no_slopes: str = ""
    moves_with_ref: bool = True
    operator: Any = field(default=None, init=False)  # torch's, from its first use on

    def __post_init__(self) -> None:
        self.call = self.core.call
        self.arguments = self.core.arguments
        self.described = (("maximise", "senses"), ("mask", "bools"), *self.arguments)
        self.compute = self.compute or self.compose or self._compute
        if not self.compose:
            OPERATIONS.append(self)

    def answer(self, *given: Any) -> Any:
        """Return the result for (points, maximise, mask, ...), by the fastest path for them.

        A tiny call takes less time if the arguments stay in one tuple.
        """
        points = given[0]
        if type(points) in _PLAIN:
            result = self.call(*given)
            return self._answer_slowly(*given) if result is None else result
        calls = _torch_calls
        if (calls is not None and type(points) is calls.Tensor) or is_tensor(points):
            if points.dim() < 2:
                return self.compute(*given)
            calls = calls or _import_torch_calls()
            others = given[1:]
            if not calls.are_plain(points, others):
                if self.compose:
                    return self.compose(*given)
                from paretopo_core._machinery import torch_operators

                return torch_operators.apply(self, *given)
            result = calls.call_plain(self.call, points, others)
            if result is not None:
                return result
        return self._answer_slowly(*given)

    def _answer_slowly(self, points: Any, *given: Any) -> Any:
        """Return the result if points or arguments are frames, or arrays of another library."""
        others = align(points, self.described, given, self.points)
        table = table_of(points)
        if table is not None:
            return self._label(table, self.answer(table.numbers(self.points), *others))
        namespace = namespace_of(points)
        if namespace is None:
            return self.compute(points, *others)
        return convert_results(self.answer(plain_array(points, self.points), *others), namespace)

    def _label(self, table: Table, result: Any) -> Any:
        """Return the result for a frame, with its index and columns if their sizes match."""
        parts = result if isinstance(result, tuple) else (result,)
        labelled = tuple(
            table.label(part, extent, self.core.name)
            for part, (extent, _) in zip(parts, self.core.results, strict=False)
        )
        return labelled if isinstance(result, tuple) else labelled[0]

    def _spread(
        self, batch: Batch, passed: list[Any], mask: Any, broadcast: Callable[..., tuple[int, ...]]
    ) -> Batch:
        """Return the points, repeated for each of the sets that they are compared with."""
        kinds = [kind for _, kind in self.arguments]
        sets = [each for each, kind in zip(passed, kinds, strict=True) if kind == "sets"]
        shapes = [tuple(getattr(each, "values", each).shape) for each in sets]
        leading = broadcast(tuple(batch.values.shape), *shapes)
        values = batch.values
        if leading != batch.leading:
            shape = (*leading, batch.points, batch.objectives)
            values = batch.library.to_doubles(values, shape, values)
        spread = replace(batch, values=values)
        spread.mask = spread.bools(mask, "mask")
        return spread

    def operate(self, *arguments: Any) -> Any:
        """Apply the torch operator, as derivatives of other operations do."""
        from paretopo_core._machinery import torch_transforms

        return torch_transforms.call(self.operator, *arguments)

    def _compute(self, points: Any, maximise: Any, mask: Any, *others: Any) -> Any:
        """Compute the result for arguments that are not plain, hidden from torch, or raise."""
        own_mask = None if self.broadcast else mask
        batch = Batch.of(points, name=self.points, maximise=maximise, mask=own_mask)
        if self.cpu_only:
            batch.refuse_gpu(self.points, self.cpu_only)
        given, passed = batch, []
        for (name, kind), value in zip(self.arguments, others, strict=True):
            if name in self.checks:
                passed.append(self.checks[name](batch, value))
            elif kind == "corner":
                given, corner = batch.measure_from(value)
                passed.append(corner)
            else:
                passed.append(_check(batch, kind, name, value))
        if self.broadcast:
            given = self._spread(batch, passed, mask, self.broadcast)
        arguments = tuple(passed)
        if self.prepare:
            given, arguments = self.prepare(batch, given, *passed)
        result = self.call(given.view(), True, None, *arguments)
        if type(result) is _core.Refusal:
            self.refuse(Refused(result, batch, given, tuple(passed), self.points))
        result = batch.wrap_results(result)
        return self.finish(batch, result) if self.finish else result


def check_count(batch: Batch, count: Any, name: str) -> int:
    """Return a number of points of each set."""
    why = ", the points of a set" if batch.points else ", as the sets have no points"
    return whole_number(count, name, 1, max(batch.points, 1), why)


def _check(batch: Batch, kind: str, name: str, value: Any) -> Any:
    """Check an argument by its kind, and convert it for the core."""
    if kind == "corners" or (kind == "corners?" and value is not None):
        return batch.references(value, name)
    if kind == "bools":
        return batch.held(batch.bools(value, name))
    if kind == "ranks":
        return batch.ranks(value)
    if kind == "count":
        return check_count(batch, value, name)
    return value


# Cached, because an import statement takes longer than a call. It is not looked up in sys.modules,
# because torch.compile refuses a first call that changes objects it has guarded.
_torch_calls: ModuleType | None = None


def _import_torch_calls() -> ModuleType:
    global _torch_calls
    from paretopo_core._machinery import torch_calls as calls

    _torch_calls = calls
    return calls
