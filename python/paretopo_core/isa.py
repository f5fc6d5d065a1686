"""Which instruction set the compiled core runs on."""

from __future__ import annotations

import os

from paretopo_core import _core
from paretopo_core._machinery.settings import Setting, Users


def get_isa() -> str:
    """Return the instruction set in use: ``"portable"``, ``"avx2"`` or ``"avx512"``.

    The default is the environment variable ``PARETOPO_ISA``, or else the best instruction set that
    both the machine and the build support.

    >>> get_isa() in ("portable", "avx2", "avx512")
    True
    """
    return _core.ISAS[_core.isa()]


def isa(name: str) -> Setting[str]:
    """Choose the instruction set. It affects only speed: results are the same, bit for bit.

    It holds for calls of all threads of this process, from now on, or in a ``with`` statement.

    Args:
        name: ``"portable"``, ``"avx2"`` or ``"avx512"``; machine and build must support it. A
            source build supports the best one of its machine, and ``"portable"``.

    Returns:
        the :class:`~paretopo_core.Setting`, a context manager with ``undo()``.

    Raises:
        ValueError: an unknown name, or one that this machine or build does not support.

    >>> with isa("portable"):
    ...     get_isa()
    'portable'
    """
    return _USERS.add(_check(name, "the instruction set"))


def _check(name: str, setting: str) -> str:
    if name not in _core.ISAS:
        raise ValueError(
            f"{setting} must be one of {', '.join(_core.ISAS)}, which this machine and this build "
            f"support (PARETOPO_BUILD_ISAS=ALL compiles for all), got {name!r}"
        )
    return name


_wanted = os.environ.get("PARETOPO_ISA", "").strip()
_USERS = Users(
    "instruction set",
    lambda name: _core.set_isa(_core.ISAS.index(name)),
    _check(_wanted, "the environment variable PARETOPO_ISA") if _wanted else get_isa(),
)
