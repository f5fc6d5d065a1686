"""The functions of paretopo_core for those who minimise: `maximise` is False by default.

>>> from paretopo_core import minimise as pp
>>> pp.pareto_rank([[1, 0], [0, 1], [1, 1]])
array([0, 0, 1], dtype=int32)
>>> pp.hypervolume([[1, 0], [0, 1], [1, 1]], ref=2)
np.float64(3.0)

Each function is that of :mod:`paretopo_core` with the other default: same code, speed and errors.
Build and type checkers read ``minimise.pyi``, which ``scripts/make_stub.py`` writes.
"""

import inspect
import sys
from types import FunctionType
from typing import Any, Never

import paretopo_core
from paretopo_core._machinery.other_names import refuse_attribute

__all__ = list(paretopo_core.__all__)


def _turn(function: Any) -> Any:
    """Return a function with the same code, which minimises by default."""
    turned = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    turned.__dict__.update(function.__dict__)
    turned.__annotations__, turned.__module__ = function.__annotations__, __name__
    turned.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "maximise": False}
    signature = inspect.signature(function)
    turned.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            each.replace(default=False) if each.name == "maximise" else each
            for each in signature.parameters.values()
        ]
    )
    text, _, _ = (function.__doc__ or "").partition("\n    >>> ")  # whose examples maximise
    turned.__doc__ = f"{text.rstrip()}\n\n    Smaller is better by default.\n    "
    return turned


def _turn_if_it_has_senses(given: Any) -> Any:
    has_senses = inspect.isfunction(given) and "maximise" in inspect.signature(given).parameters
    return _turn(given) if has_senses else given


globals().update({name: _turn_if_it_has_senses(getattr(paretopo_core, name)) for name in __all__})


class ParetoArchive(paretopo_core.ParetoArchive):
    """A :class:`paretopo_core.ParetoArchive` whose ``maximise`` is False by default."""

    __init__ = _turn(paretopo_core.ParetoArchive.__init__)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Never:
    refuse_attribute(sys.modules[__name__], name, __all__)
