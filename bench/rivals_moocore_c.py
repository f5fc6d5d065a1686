"""moocore's C library, set by set in a compiled loop: no NumPy and no Python between the calls.

The wheel of moocore holds one shared library whose functions the cffi module ``moocore._moocore``
exposes. ``ffi.addressof(lib, "pareto_rank")`` is a plain C function pointer; numba compiles a loop
that calls it with the address of one set after the other. What is left beside moocore's own
arithmetic is a call through a pointer, a few nanoseconds.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from bench import judge
from bench.case import Case
from bench.workloads import Array

_numba: Any = importlib.import_module("numba")
_moocore: Any = importlib.import_module("moocore._moocore")
ffi, lib = _moocore.ffi, _moocore.lib

_SMALL = getattr(ctypes, f"c_uint{8 * ffi.sizeof('uint_fast8_t')}")
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_size_t


def _function(name: str, result: Any, *arguments: Any) -> Any:
    address = int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))
    return ctypes.CFUNCTYPE(result, *arguments)(address)


_rank = _function("pareto_rank", None, _POINTER, _POINTER, _SIZE, _SMALL)
_volume = _function("fpli_hv", ctypes.c_double, _POINTER, _SIZE, _SMALL, _POINTER)
_filter = _function(
    "is_nondominated", None, _POINTER, _POINTER, _SIZE, _SMALL, ctypes.c_uint8, _POINTER
)


def _rank_each(sets: Array, ranks: Array) -> None:
    for group in range(sets.shape[0]):
        _rank(ranks[group].ctypes, sets[group].ctypes, sets.shape[1], sets.shape[2])


def _filter_each(sets: Array, chosen: Array, maximise: Array) -> None:
    for group in range(sets.shape[0]):
        _filter(
            chosen[group].ctypes,
            sets[group].ctypes,
            sets.shape[1],
            sets.shape[2],
            1,
            maximise.ctypes,
        )


def _volume_each(sets: Array, sizes: Array, ref: Array, volumes: Array) -> None:
    for group in range(sets.shape[0]):
        volumes[group] = _volume(sets[group].ctypes, sizes[group], sets.shape[2], ref.ctypes)


_rank_loop = _numba.njit(_rank_each)
_filter_loop = _numba.njit(_filter_each)
_volume_loop = _numba.njit(_volume_each)


class MoocoreC:
    """Batches only; everything is allocated before the clock starts."""

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Equally large groups."""
        if not case.groups or case.mask is not None:
            return None
        sets, ranks = case.doubles, np.empty((case.groups, case.points), np.intc)

        def run() -> Array:
            _rank_loop(sets, ranks)
            return ranks

        return run

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Equally large groups; all of several equal points are kept."""
        if not case.groups or case.mask is not None:
            return None
        sets, chosen = case.doubles, np.empty((case.groups, case.points), np.uint8)
        maximise = np.zeros(case.objectives, np.uint8)

        def run() -> Array:
            _filter_loop(sets, chosen, maximise)
            return chosen.view(np.bool_)

        return run

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Ragged groups too: the points that count come first in each."""
        if not case.groups:
            return None
        sets, ref, volumes = case.doubles, case.ref, np.empty(case.groups)
        sizes = np.array([len(points) for points in case.sets])

        def run() -> Array:
            _volume_loop(sets, sizes, ref, volumes)
            return volumes

        return run

    def pareto_advantage(self, case: Case) -> Callable[[], Any] | None:
        """Its ranks, and the rest in NumPy for all groups at once."""
        rank = self.pareto_rank(case)
        if rank is None:
            return None
        rewards = -case.data
        return lambda: judge.advantages(rank(), rewards, case.weights)
