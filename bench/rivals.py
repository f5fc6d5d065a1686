"""Every contender behind one signature: ``rival.<task>(case)`` gives what to time, or None.

A rival has a method for each task it offers, named as in ``case.TASKS``. The method prepares the
data in the form the package likes best, outside the clock, and returns a ``Work``; None where the
package has no answer for the case, or would need memory beyond reason. A package is imported when
its rival is made, so that none of them is needed.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from importlib import metadata
from typing import Any

from bench.case import Case
from bench.timing import Work

OURS = "paretopo"

# name: (what has to be installed, the first being its version; where its rival class lives)
RIVALS: dict[str, tuple[tuple[str, ...], str]] = {
    OURS: (("paretopo",), "rivals_ours:Paretopo"),
    "moocore": (("moocore",), "rivals_compiled:Moocore"),
    "moocore C": (("moocore", "numba"), "rivals_moocore_c:MoocoreC"),
    "pygmo": (("pygmo",), "rivals_compiled:Pygmo"),
    "hvwfg": (("hvwfg",), "rivals_compiled:Hvwfg"),
    "pymoo": (("pymoo",), "rivals_compiled:Pymoo"),
    "paretoset": (("paretoset", "numba"), "rivals_compiled:Paretoset"),
    "optuna": (("optuna",), "rivals_compiled:Optuna"),
    "moarchiving": (("moarchiving",), "rivals_compiled:Moarchiving"),
    "botorch": (("botorch",), "rivals_torch:Botorch"),
    "evotorch": (("evotorch",), "rivals_torch:Evotorch"),
    "evox": (("evox",), "rivals_torch:Evox"),
    "numpy": (("numpy",), "rivals_numpy:Numpy"),
    "torch": (("torch",), "rivals_torch:PlainTorch"),
    "torch compiled": (("torch",), "rivals_gpu:Compiled"),
    "paretopo graph": (("paretopo", "torch"), "rivals_gpu:Graph"),
}
_GPU_ONLY = ("torch compiled", "paretopo graph")
ON_CPU = tuple(name for name in RIVALS if name not in _GPU_ONLY)
ON_GPU = (OURS, "botorch", "evotorch", "evox", "torch", *_GPU_ONLY)


def version(name: str) -> str | None:
    """The version of a rival's package, None if something it needs is not installed."""
    needed, _ = RIVALS[name]
    try:
        first, *_ = [metadata.version(package) for package in needed]
    except metadata.PackageNotFoundError:
        return None
    return first


def make(name: str) -> Any:
    """Import a rival's package and make the rival.

    Raises:
        KeyError: no such rival.
        ImportError: its package is not installed.
    """
    _, place = RIVALS[name]
    module, _, kind = place.partition(":")
    return getattr(importlib.import_module(f"bench.{module}"), kind)()


def work_of(rival: Any, case: Case) -> Work | None:
    """What a rival would run for a case; None if it does not offer that."""
    offer = getattr(rival, case.task, None)
    work = None if offer is None else offer(case)
    work = work if work is None or isinstance(work, Work) else Work(work)
    if work is None or not case.is_on_gpu:
        return work
    torch: Any = importlib.import_module("torch")
    return replace(work, finish=torch.cuda.synchronize)
