"""Peers with one interface: ``peer.<task>(case)`` returns the call to time, or None.

A peer is a class with a method for each task that it offers, named as in ``cases.TASKS``; this
package is one of them. The method converts the data to the library's best format, outside the
clock. It returns a ``Work`` or a function without arguments, or None if the library does not
support the case or would need too much memory; for a large set on a GPU, it raises ``Skipped`` with
the reason. A library is imported when its peer is made, so
that all of them are optional.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from importlib import metadata
from typing import Any

from bench.cases import Case
from bench.timing import Work

OURS = "paretopo"

# name: (required packages, the first with the version; module and class in this folder)
PEERS: dict[str, tuple[tuple[str, ...], str]] = {
    OURS: (("paretopo",), "ours:Paretopo"),
    "moocore": (("moocore",), "in_numpy:Moocore"),
    "moocore C": (("moocore", "numba"), "in_numpy:MoocoreC"),
    "pygmo": (("pygmo",), "in_numpy:Pygmo"),
    "hvwfg": (("hvwfg",), "in_numpy:Hvwfg"),
    "pymoo": (("pymoo",), "in_numpy:Pymoo"),
    "paretoset": (("paretoset", "numba"), "in_numpy:Paretoset"),
    "optuna": (("optuna",), "in_numpy:Optuna"),
    "moarchiving": (("moarchiving",), "in_numpy:Moarchiving"),
    "botorch": (("botorch",), "in_torch:Botorch"),
    "botorch binary": (("botorch",), "in_torch:BotorchBinary"),
    "evotorch": (("evotorch",), "in_torch:Evotorch"),
    "evox": (("evox",), "in_torch:Evox"),
    "numpy": (("numpy",), "in_numpy:Numpy"),
    "torch": (("torch",), "in_torch:Torch"),
    "torch compiled": (("torch",), "in_torch:TorchCompiled"),
    "paretopo ranks": (("paretopo",), "ours:ParetopoRanks"),
    "paretopo list": (("paretopo",), "ours:ParetopoList"),
    "paretopo tensor": (("paretopo", "torch"), "ours:ParetopoTensor"),
    "paretopo graph": (("paretopo", "torch"), "ours:ParetopoGraph"),
    "paretopo thread": (("paretopo", "torch"), "ours:ParetopoThread"),
}
_GPU_ONLY = ("torch compiled", "paretopo graph", "paretopo thread")
# Operations of a few peers, and peers of a few operations.
_PEERS_OF = {"threads": (OURS,), "bounds": (OURS, "moocore", "moocore C")}
_OPERATIONS_OF = {
    "botorch binary": ("boxes",),
    "paretopo ranks": ("filter", "crowding"),
    "paretopo list": ("overhead",),
    "paretopo tensor": ("overhead",),
}
ON_CPU = tuple(name for name in PEERS if name not in _GPU_ONLY)
ON_GPU = (OURS, "botorch", "evotorch", "evox", "torch", *_GPU_ONLY)


def find_version(name: str) -> str | None:
    """Return the version of a peer's library; None if something it needs is not installed."""
    needed, _ = PEERS[name]
    try:
        first, *_ = [metadata.version(library) for library in needed]
    except metadata.PackageNotFoundError:
        return None
    return first


def is_asked(name: str, operation: str) -> bool:
    """Return True if a peer takes part in an operation."""
    peers, operations = _PEERS_OF.get(operation, (name,)), _OPERATIONS_OF.get(name, (operation,))
    return name in peers and operation in operations


def make(name: str) -> Any:
    """Import a peer's library and make the peer.

    Raises:
        KeyError: no such peer.
        ImportError: its library is not installed.
    """
    _, place = PEERS[name]
    module, _, kind = place.partition(":")
    return getattr(importlib.import_module(f"bench.peers.{module}"), kind)()


def prepare(peer: Any, case: Case) -> Work | None:
    """Prepare a case for a peer; None if the peer does not offer it."""
    offer = getattr(peer, case.task, None)
    work = None if offer is None else offer(case)
    work = work if work is None or isinstance(work, Work) else Work(work)
    if work is None or not case.is_on_gpu:
        return work
    torch: Any = importlib.import_module("torch")
    return replace(work, finish=torch.cuda.synchronize)
