"""All operations, in the order of their definition, and the form of a derivative.

Each operation becomes a torch operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

OPERATIONS: list[Any] = []  # paretopo_core._machinery.operation.Operation


class Derivative(NamedTuple):
    """The derivative of an operator with respect to its points, as products with vectors."""

    forward: Callable[..., Any]  # (motion of the points, *arguments) to the change of the result
    backward: Callable[..., Any]  # (gradient of the result, *arguments) to that of the points
