"""A warning for senses that seem wrong.

Users of minimisers pass a reference point larger than every point. If larger is better, no point
beats it and every volume is 0. The compiled core calls `hint` for such points, except on a GPU.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

from paretopo_core import _core

_OURS = ("paretopo", "paretopo_core", "torch")
_FOR_POINTS_BEYOND_REF = "paretopo_core.uncrowded"
_OF_DERIVATIVES = "operate"  # of Operation; the call itself has warned


class SenseWarning(UserWarning):
    """No point is better than the reference, as if ``maximise`` were wrong; volumes are then 0.

    >>> import paretopo_core as pp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", pp.SenseWarning)  # the points are meant to be worse
    ...     pp.hypervolume([[1, 2]], ref=3)
    np.float64(0.0)
    """


def hint(objectives: int, minimised: int) -> None:
    """Warn the caller of a public function; ``minimised`` has a bit for each objective.

    There is no warning for callers within this package, such as code that serves other libraries.
    """
    if objectives <= 64:
        warn_of_senses([not minimised >> m & 1 for m in range(objectives)])


def warn_of_senses(senses: Sequence[bool]) -> None:
    """Warn the first caller outside this package that every point is worse than the reference."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back and _is_inside(module := frame.f_globals.get("__name__", "")):
        if module == _FOR_POINTS_BEYOND_REF or frame.f_code.co_name == _OF_DERIVATIVES:
            return
        frame, level = frame.f_back, level + 1
    if _package(frame.f_globals.get("__name__", "")) in _OURS:
        return
    others = [not sense for sense in senses]
    meant = others if len(set(others)) > 1 else others[0]
    default = " (larger is better by default)" if all(senses) else ""
    message = (
        "no point is better than ref in any objective; "
        f"with maximise={meant} every one would be{default}; if the senses are right, pass a ref "
        "that is worse than the points, such as reference_point(points)"
    )
    warnings.warn(message, SenseWarning, stacklevel=level)


def _package(module: str) -> str:
    return module.partition(".")[0]


def _is_inside(module: str) -> bool:
    """Return True if calls of public functions pass through this module to the core."""
    is_door = module.startswith(("paretopo_core.compat", "paretopo_core.accelerate"))
    return _package(module) in ("paretopo_core", "torch") and not is_door


_core.set_sense_hint(hint)
