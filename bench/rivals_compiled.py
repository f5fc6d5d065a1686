"""Peers in C, C++, Cython, numba or NumPy: one set per call."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.case import Case
from bench.timing import Work
from bench.workloads import Array

_MOST_CALLS = 5_000  # sets of a batch that a loop in Python may go through
_DENSE = 10_000  # points whose pairs fit in memory as a list


def each(case: Case, answer: Callable[[Array], Any]) -> Callable[[], Any] | None:
    """Call a function for the one set, or for set after set of a batch that is not too large."""
    if not case.groups:
        return partial(answer, case.doubles)
    if case.groups > 2 * _MOST_CALLS:
        return None
    sets = case.sets
    return lambda: np.array([answer(points) for points in sets])


class Moocore:
    """https://multi-objective.github.io/moocore/python/."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("moocore")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """C: Jensen's sweep in 2-D, a sweep per front in 3-D, Kung per front beyond."""
        return each(case, self._peer.pareto_rank)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """C: Kung."""
        return each(case, partial(self._peer.is_nondominated, keep_weakly=True))

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """C: HV3D+, HV4D+, from 5 objectives recursive."""
        return each(case, partial(self._peer.hypervolume, ref=case.ref))

    def hv_contributions(self, case: Case) -> Callable[[], Any] | None:
        """C: HVC3D in 3-D, leaving one out from 4."""
        return each(case, partial(self._peer.hv_contributions, ref=case.ref))

    def archive_add(self, case: Case) -> Work:
        """No archive: the filtered set and its hypervolume, anew for every point."""
        peer, ref = self._peer, case.ref
        members = case.doubles[: case.points]
        newcomers = list(case.doubles[case.points :])
        before = peer.hypervolume(members, ref=ref)

        def run() -> list[float]:
            kept, volume, gains = members, before, []
            for point in newcomers:
                kept = peer.filter_dominated(np.vstack([kept, point]))
                now = peer.hypervolume(kept, ref=ref)
                gains.append(now - volume)
                volume = now
            return gains

        return Work(run)


class Pygmo:
    """https://esa.github.io/pygmo2/."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("pygmo")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """C++: Deb's fast sort, which keeps all pairs in memory."""
        if case.points > _DENSE:
            return None
        return each(case, lambda points: self._peer.fast_non_dominated_sorting(points)[3])

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """C++, only for 2 objectives."""
        if case.objectives != 2 or case.groups:
            return None

        def run() -> Array:
            chosen = np.zeros(case.points, dtype=bool)
            chosen[self._peer.non_dominated_front_2d(case.doubles)] = True
            return chosen

        return run

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """C++: sweeps up to 3 objectives, WFG beyond."""
        return each(case, lambda points: self._peer.hypervolume(points).compute(case.ref))

    def hv_contributions(self, case: Case) -> Callable[[], Any] | None:
        """C++: HyCon3D, WFG beyond."""
        return each(case, lambda points: self._peer.hypervolume(points).contributions(case.ref))


class Hvwfg:
    """https://pypi.org/project/hvwfg/, the WFG authors' C; wants mutually nondominated points."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("hvwfg")

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Its general code: of its special ones, hv4dr is slower and hv5dr crashes."""
        if case.groups:  # random groups hold dominated points, which it gets wrong
            return None
        return each(case, lambda points: self._peer.wfg(points, case.ref))


class Pymoo:
    """https://pymoo.org, its own Cython code; its public functions call moocore."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("pymoo.functions.compiled.non_dominated_sorting")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Cython: efficient non-dominated sort with binary search over fronts."""
        if case.groups:
            return None
        points = case.doubles

        def run() -> Array:
            ranks = np.empty(len(points), dtype=np.int32)
            fronts = self._peer.efficient_non_dominated_sort(points, strategy="binary")
            for rank, front in enumerate(fronts):
                ranks[front] = rank
            return ranks

        return run

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Cython: all pairs."""
        if case.groups or case.points > _DENSE:
            return None
        points = case.doubles

        def run() -> Array:
            chosen = np.zeros(len(points), dtype=bool)
            chosen[self._peer.find_non_dominated(points)] = True
            return chosen

        return run


class Paretoset:
    """https://github.com/tommyod/paretoset, numba."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("paretoset")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """One filter per front; its ranks start at 1."""
        return each(case, lambda points: self._peer.paretorank(points, distinct=False) - 1)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Block nested loops."""
        return each(case, partial(self._peer.paretoset, distinct=False))


class Optuna:
    """https://optuna.org, what its samplers use inside; NumPy."""

    def __init__(self) -> None:
        self._sort: Any = importlib.import_module("optuna.study._multi_objective")
        self._volume: Any = importlib.import_module("optuna._hypervolume")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Peels front after front."""
        return each(case, self._sort._fast_non_domination_rank)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Sort, then peel by the first point left."""
        return each(case, partial(self._sort._is_pareto_front, assume_unique_lexsorted=False))

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """All pairs in 3-D, WFG beyond."""
        if case.points > 3_000 and case.objectives > 2:
            return None
        is_front = not case.groups and case.workload != "uniform"
        compute = self._volume.compute_hypervolume
        return each(case, lambda points: compute(points, case.ref, assume_pareto=is_front))


class Moarchiving:
    """https://github.com/CMA-ES/moarchiving, archives of 2 to 4 objectives in Python."""

    def __init__(self) -> None:
        self._peer: Any = importlib.import_module("moarchiving")

    def archive_add(self, case: Case) -> Work | None:
        """Keeps its hypervolume up to date while it adds."""
        if case.objectives > 4:
            return None
        points, ref = case.doubles.tolist(), case.ref.tolist()
        full = self._peer.get_mo_archive([], reference_point=ref, n_obj=case.objectives)
        kind = type(full)  # computes in fractions by default, which takes many times longer
        kind.hypervolume_final_float_type = kind.hypervolume_computation_float_type = float
        full = self._peer.get_mo_archive(points[: case.points], reference_point=ref)
        newcomers = points[case.points :]
        archive: Any = None

        def fresh() -> None:
            nonlocal archive
            archive = full.copy()

        def run() -> list[float]:
            gains, volume = [], float(archive.hypervolume)
            for point in newcomers:
                archive.add(point)
                now = float(archive.hypervolume)
                gains.append(now - volume)
                volume = now
            return gains

        return Work(run, fresh)
