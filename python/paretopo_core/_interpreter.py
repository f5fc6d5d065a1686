"""A check that the compiled core can be loaded. Imported before it, and before NumPy."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def refuse_sub_interpreter() -> None:
    """Raise ImportError outside the main interpreter, where the compiled core would deadlock.

    Neither pybind11 nor NumPy supports more than one interpreter in a process on every version of
    Python that this package runs on.
    """
    interpreters = _find("_interpreters") or _find("_xxsubinterpreters")  # the latter until 3.12
    if interpreters and interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "paretopo_core works in the main interpreter of a process only, not in a "
            "sub-interpreter: import it there, or use threads or processes"
        )


def _find(name: str) -> ModuleType | None:
    try:
        return import_module(name)
    except ImportError:
        return None


refuse_sub_interpreter()
