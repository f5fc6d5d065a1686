"""Which instruction set the compiled core runs on."""

from __future__ import annotations

import os

from paretopo_core import _core


def get_isa() -> str:
    """Return the instruction set in use: ``"portable"``, ``"avx2"`` or ``"avx512"``.

    At first: the environment variable ``PARETOPO_ISA``, else the best that the machine has and the
    build was compiled for.

    >>> get_isa() in ("portable", "avx2", "avx512")
    True
    """
    return _core.ISAS[_core.isa()]


def set_isa(name: str) -> None:
    """Choose the instruction set; results are the same, bit for bit, only speed differs.

    Args:
        name: ``"portable"``, ``"avx2"`` or ``"avx512"``, one that the machine has and the build
            was compiled for: of a source build, the best of its machine, and ``"portable"``.

    Raises:
        ValueError: an unknown name, or more than this machine or build can do.

    >>> before = get_isa()
    >>> set_isa("portable")
    >>> get_isa()
    'portable'
    >>> set_isa(before)
    """
    _set(name, "the instruction set")


def _set(name: str, what: str) -> None:
    if name not in _core.ISAS:
        raise ValueError(
            f"{what} must be one of {', '.join(_core.ISAS)}, what this machine has and this build "
            f"was compiled for (PARETOPO_BUILD_ISAS=ALL compiles for all), got {name!r}"
        )
    _core.set_isa(_core.ISAS.index(name))


_wanted = os.environ.get("PARETOPO_ISA", "").strip()
if _wanted:
    _set(_wanted, "the environment variable PARETOPO_ISA")
