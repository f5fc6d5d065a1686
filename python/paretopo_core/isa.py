"""Which instruction set the compiled core runs on."""

from __future__ import annotations

import os

from paretopo_core import _core


def get_isa() -> str:
    """Return the instruction set in use: ``"portable"``, ``"avx2"`` or ``"avx512"``.

    The default is the environment variable ``PARETOPO_ISA``, or else the best instruction set that
    both the machine and the build support.

    >>> get_isa() in ("portable", "avx2", "avx512")
    True
    """
    return _core.ISAS[_core.isa()]


def set_isa(name: str) -> None:
    """Choose the instruction set. It affects only speed: results are the same, bit for bit.

    Args:
        name: ``"portable"``, ``"avx2"`` or ``"avx512"``; machine and build must support it. A
            source build supports the best one of its machine, and ``"portable"``.

    Raises:
        ValueError: an unknown name, or one that this machine or build does not support.

    >>> before = get_isa()
    >>> set_isa("portable")
    >>> get_isa()
    'portable'
    >>> set_isa(before)
    """
    _set(name, "the instruction set")


def _set(name: str, setting: str) -> None:
    if name not in _core.ISAS:
        raise ValueError(
            f"{setting} must be one of {', '.join(_core.ISAS)}, which this machine and this build "
            f"support (PARETOPO_BUILD_ISAS=ALL compiles for all), got {name!r}"
        )
    _core.set_isa(_core.ISAS.index(name))


_wanted = os.environ.get("PARETOPO_ISA", "").strip()
if _wanted:
    _set(_wanted, "the environment variable PARETOPO_ISA")
