"""Peers that take NumPy arrays: C, C++, Cython, numba and Python, one set per call."""

from __future__ import annotations

import ctypes
import importlib
import math
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from bench.cases import BETA, DRAWN, EPSILON, SAMPLES, Case
from bench.timing import Work
from bench.workloads import FRONTS, Array

_MOST_SETS = 10_000  # sets of a batch that a loop in Python may go through
_DENSE = 10_000  # points whose pairs fit in memory as a list
_MOST_PAIRED = 10_000  # points whose pairs fit in memory as a table of bools
_MOST_AT_ONCE = 30_000_000  # booleans, one for each point and cell


def answer_each(case: Case, answer: Callable[[Array], Any]) -> Callable[[], Any] | None:
    """Call a function for the one set, or for set after set of a batch that is not too large.

    Masked sets are supported only for tasks that return one number per set.
    """
    if not case.groups:
        return partial(answer, case.doubles)
    if case.groups > _MOST_SETS or (case.mask is not None and case.task != "hypervolume"):
        return None
    sets = case.sets
    return lambda: np.array([answer(points) for points in sets])


def _compare_by(name: str) -> Callable[[Any, Case], Callable[[], Any]]:
    """Make the method of a peer for an indicator of its library."""

    def offer(self: Any, case: Case) -> Callable[[], Any]:
        return partial(getattr(self._library, name), case.front, case.reference_set)

    return offer


class Moocore:
    """https://multi-objective.github.io/moocore/python/."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("moocore")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """C: Jensen's sweep in 2-D, a sweep per front in 3-D, Kung per front beyond."""
        return answer_each(case, self._library.pareto_rank)

    def pareto_rank_constrained(self, case: Case) -> Callable[[], Any] | None:
        """Has no constraints: the feasible ranked by it, the others by NumPy."""
        rank, points, violation = self._library.pareto_rank, case.doubles, case.violation

        def run() -> Array:
            is_feasible = violation <= 0
            ranks = np.empty(len(points), dtype=np.int64)
            ranks[is_feasible] = rank(points[is_feasible])
            behind = ranks[is_feasible].max(initial=-1) + 1
            found = np.unique(violation[~is_feasible], return_inverse=True)[1]
            ranks[~is_feasible] = behind + found
            return ranks

        return run

    def pareto_rank_first(self, case: Case) -> Callable[[], Any] | None:
        """Has no such option: ranks all, and cuts."""
        rank, points, first = self._library.pareto_rank, case.doubles, case.first

        def run() -> Array:
            ranks = rank(points)
            return np.asarray(np.minimum(ranks, np.partition(ranks, first - 1)[first - 1] + 1))

        return run

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """C: Kung."""
        return answer_each(case, partial(self._library.is_nondominated, keep_weakly=True))

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """C: HV3D+, HV4D+, from 5 objectives recursive."""
        return answer_each(case, partial(self._library.hypervolume, ref=case.ref))

    def hv_contributions(self, case: Case) -> Callable[[], Any] | None:
        """C: HVC3D in 3-D, leaving one out from 4."""
        return answer_each(case, partial(self._library.hv_contributions, ref=case.ref))

    def hypervolume_gradient(self, case: Case) -> Callable[[], Any] | None:
        """moocore has none: a slope is a contribution without that objective, among earlier points.

        No two points may have the same value.
        """
        if case.objectives == 2 or case.groups:
            return None
        points, contribute = case.doubles, self._library.hv_contributions

        def run() -> Array:
            slopes = np.empty(points.shape)
            for m in range(case.objectives):
                order = np.argsort(points[:, m])
                rest, ref = np.delete(points[order], m, axis=1), np.delete(case.ref, m)
                slopes[order, m] = [
                    -contribute(rest[:count], ref=ref, ignore_dominated=False)[-1]
                    for count in range(1, len(rest) + 1)
                ]
            return slopes

        return run

    # C: pairs, for IGD+ until a point dominates, for epsilons until one is near enough.
    igd, igd_plus, avg_hausdorff_dist, epsilon_additive, epsilon_mult = map(
        _compare_by, ("igd", "igd_plus", "avg_hausdorff_dist", "epsilon_additive", "epsilon_mult")
    )

    def r2(self, case: Case) -> Callable[[], Any] | None:
        """C: a sweep; two objectives."""
        if case.objectives != 2:
            return None
        return partial(self._library.r2_exact, case.doubles, ref=np.zeros(2))

    def hypervolume_approx(self, case: Case) -> Callable[[], Any]:
        """C: its default method, uniform directions of a sequence of low discrepancy."""
        estimate = self._library.hv_approx
        return partial(estimate, case.doubles, ref=case.ref, nsamples=SAMPLES)

    def eaf(self, case: Case) -> Callable[[], Any]:
        """C: sweeps."""
        return partial(self._library.eaf, case.doubles, case.runs)

    def eafdiff(self, case: Case) -> Callable[[], Any]:
        """C: a sweep."""
        return partial(self._library.eafdiff, *case.halves)

    def weighted_hypervolume(self, case: Case) -> Callable[[], Any]:
        """C: a sweep over points and rectangles."""
        return partial(self._library.whv_rect, case.doubles, case.rectangles, ref=case.ref)

    def epsilon_boxes(self, case: Case) -> Callable[[], Any]:
        """Has no boxes: its filter of the boxes, the best point of each first, by NumPy."""
        library, points = self._library, case.doubles

        def run() -> Array:
            places = points / EPSILON
            boxes = np.floor(places)
            order = np.lexsort((*points.T[::-1], np.square(places - boxes).sum(axis=1)))
            chosen = np.empty(len(points), dtype=bool)
            chosen[order] = library.is_nondominated(boxes[order])
            return chosen

        return run

    def normalise(self, case: Case) -> Callable[[], Any]:
        """Its filter, and its scaling by the range that is left."""
        return partial(self._scale, case.doubles)

    def _scale(self, points: Array) -> Any:
        front = self._library.filter_dominated(points)
        return self._library.normalise(points, lower=front.min(axis=0), upper=front.max(axis=0))

    def knee_points(self, case: Case) -> Callable[[], Any]:
        """Has no knees: its filter and its scaling, the sum by NumPy."""
        points = case.doubles

        def run() -> Array:
            kept = self._library.is_nondominated(points, keep_weakly=True)
            total = np.where(kept, self._scale(points).sum(axis=1), np.inf)
            return np.asarray(total == total.min())

        return run

    def removal_subset(self, case: Case) -> Callable[[], Any]:
        """Recompute all contributions after each removal, as pymoo does."""
        contribute = partial(self._library.hv_contributions, ref=case.ref)

        def run() -> Array:
            left = np.arange(case.points)
            while len(left) > case.kept:
                left = np.delete(left, np.argmin(contribute(case.doubles[left])))
            return left

        return run

    def archive_bounded(self, case: Case) -> Callable[[], Any]:
        """Filter and recompute contributions for every point; there is no archive."""
        library, points = self._library, case.doubles

        def run() -> Array:
            left = np.arange(case.points)
            for i in range(case.points, len(points)):
                left = np.append(left, i)
                left = left[library.is_nondominated(points[left])]
                if len(left) > case.points:
                    contributions = library.hv_contributions(points[left], ref=case.ref)
                    left = np.delete(left, np.argmin(contributions))
            return left

        return run

    def archive_add(self, case: Case) -> Work:
        """Filter and recompute the hypervolume for every point; there is no archive."""
        library, ref = self._library, case.ref
        members = case.doubles[: case.points]
        newcomers = list(case.doubles[case.points :])
        before = library.hypervolume(members, ref=ref)

        def run() -> list[float]:
            kept, volume, gains = members, before, []
            for point in newcomers:
                kept = library.filter_dominated(np.vstack([kept, point]))
                now = library.hypervolume(kept, ref=ref)
                gains.append(now - volume)
                volume = now
            return gains

        return Work(run)


class MoocoreC:
    """moocore's C library, set by set in a compiled loop, for batches only.

    The wheel of moocore holds one shared library, whose functions the cffi module
    ``moocore._moocore`` exposes. ``ffi.addressof(lib, "pareto_rank")`` is a plain C function
    pointer; numba compiles a loop that calls it with the address of one set after the other. There
    is no NumPy and no Python between the calls: a call adds only a
    few nanoseconds to moocore's own arithmetic. Memory is allocated before the clock starts.
    """

    def __init__(self) -> None:
        self._rank, self._filter, self._volume = _compile_moocore()

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Equally large groups."""
        if not case.groups or case.mask is not None:
            return None
        sets, ranks = case.doubles, np.empty((case.groups, case.points), np.intc)

        def run() -> Array:
            self._rank(sets, ranks)
            return ranks

        return run

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Equally large groups; all of several equal points are kept."""
        if not case.groups or case.mask is not None:
            return None
        sets, kept = case.doubles, np.empty((case.groups, case.points), np.uint8)
        maximise = np.zeros(case.objectives, np.uint8)

        def run() -> Array:
            self._filter(sets, kept, maximise)
            return kept.view(np.bool_)

        return run

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Ragged groups too: the points that count come first in each."""
        if not case.groups:
            return None
        sets, ref, volumes = case.doubles, case.ref, np.empty(case.groups)
        sizes = np.array([len(points) for points in case.sets])

        def run() -> Array:
            self._volume(sets, sizes, ref, volumes)
            return volumes

        return run

    def pareto_advantage(self, case: Case) -> Callable[[], Any] | None:
        """Its ranks, and the rest in NumPy for all groups at once."""
        rank = self.pareto_rank(case)
        if rank is None:
            return None
        rewards = -case.data
        return lambda: compute_advantages(rank(), rewards, case.weights)


def _compile_moocore() -> tuple[Any, Any, Any]:
    """Compile loops over sets around moocore's ranks, filter and hypervolume."""
    numba: Any = importlib.import_module("numba")
    moocore: Any = importlib.import_module("moocore._moocore")
    ffi, lib = moocore.ffi, moocore.lib
    dimension = getattr(ctypes, f"c_uint{8 * ffi.sizeof('uint_fast8_t')}")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t

    def bind(name: str, result: Any, *arguments: Any) -> Any:
        address = int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    rank = bind("pareto_rank", None, pointer, pointer, size, dimension)
    keep = bind("is_nondominated", None, pointer, pointer, size, dimension, ctypes.c_uint8, pointer)
    measure = bind("fpli_hv", ctypes.c_double, pointer, size, dimension, pointer)

    def rank_each(sets: Array, ranks: Array) -> None:
        for g in range(sets.shape[0]):
            rank(ranks[g].ctypes, sets[g].ctypes, sets.shape[1], sets.shape[2])

    def filter_each(sets: Array, kept: Array, maximise: Array) -> None:
        for g in range(sets.shape[0]):
            points, m = sets.shape[1], sets.shape[2]
            keep(kept[g].ctypes, sets[g].ctypes, points, m, 1, maximise.ctypes)

    def measure_each(sets: Array, sizes: Array, ref: Array, volumes: Array) -> None:
        for g in range(sets.shape[0]):
            volumes[g] = measure(sets[g].ctypes, sizes[g], sets.shape[2], ref.ctypes)

    return numba.njit(rank_each), numba.njit(filter_each), numba.njit(measure_each)


class Pygmo:
    """https://esa.github.io/pygmo2/."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("pygmo")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """C++: Deb's fast sort, which keeps all pairs in memory."""
        if case.points > _DENSE:
            return None
        return answer_each(case, lambda points: self._library.fast_non_dominated_sorting(points)[3])

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """C++, only for 2 objectives."""
        if case.objectives != 2 or case.groups:
            return None

        def run() -> Array:
            chosen = np.zeros(case.points, dtype=bool)
            chosen[self._library.non_dominated_front_2d(case.doubles)] = True
            return chosen

        return run

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """C++: sweeps up to 3 objectives, WFG beyond."""
        return answer_each(case, lambda points: self._library.hypervolume(points).compute(case.ref))

    def hv_contributions(self, case: Case) -> Callable[[], Any] | None:
        """C++: HyCon3D, WFG beyond."""
        return answer_each(
            case, lambda points: self._library.hypervolume(points).contributions(case.ref)
        )

    def crowding_distance(self, case: Case) -> Callable[[], Any] | None:
        """C++, of one front; groups are sorted into fronts first."""
        if not case.groups:
            return partial(self._library.crowding_distance, case.doubles)
        return answer_each(case, self._crowd_fronts)

    def _crowd_fronts(self, points: Array) -> Array:
        distances = np.full(len(points), np.inf)
        for front in self._library.fast_non_dominated_sorting(points)[0]:
            if len(front) > 1:  # the minimum that it accepts
                distances[front] = self._library.crowding_distance(points[front])
        return distances


class Hvwfg:
    """https://pypi.org/project/hvwfg/, the WFG authors' C; wants mutually nondominated points."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("hvwfg")

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Its general code: of its special ones, hv4dr is slower and hv5dr crashes."""
        if case.groups:  # random groups hold dominated points, which it gets wrong
            return None
        return answer_each(case, lambda points: self._library.wfg(points, case.ref))


def _compare_by_pymoo(place: str) -> Callable[[Any, Case], Callable[[], Any]]:
    """Make the method for one of pymoo's indicators, "module.class"."""
    module, _, kind = place.partition(".")

    def offer(_: Any, case: Case) -> Callable[[], Any]:
        library: Any = importlib.import_module(f"pymoo.indicators.{module}")
        return partial(getattr(library, kind)(case.reference_set), case.front)

    return offer


class Pymoo:
    """https://pymoo.org, its own Cython code; its public functions call moocore."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module(
            "pymoo.functions.compiled.non_dominated_sorting"
        )
        self._crowding: Any = importlib.import_module("pymoo.operators.survival.rank_and_crowding")
        self._populations: Any = importlib.import_module("pymoo.core.population")
        self._sms: Any = importlib.import_module("pymoo.algorithms.moo.sms")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Cython: efficient non-dominated sort with binary search over fronts."""
        if case.groups:
            return None
        points = case.doubles

        def run() -> Array:
            ranks = np.empty(len(points), dtype=np.int32)
            fronts = self._library.efficient_non_dominated_sort(points, strategy="binary")
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
            chosen[self._library.find_non_dominated(points)] = True
            return chosen

        return run

    # NumPy: all pairs at once, for the plus with the distance in the worse objectives.
    igd, igd_plus, gd, gd_plus = map(
        _compare_by_pymoo, ("igd.IGD", "igd_plus.IGDPlus", "gd.GD", "gd_plus.GDPlus")
    )

    def select_crowding(self, case: Case) -> Callable[[], Any]:
        """NSGA-II: fronts by moocore."""
        return self._select(case, self._crowding.RankAndCrowding())

    def select_crowding_removal(self, case: Case) -> Callable[[], Any]:
        """Call its pruning, in Cython."""
        return self._select(case, self._crowding.RankAndCrowding(crowding_func="pcd"))

    def select_hypervolume(self, case: Case) -> Callable[[], Any]:
        """SMS-EMOA: fronts and contributions by moocore."""
        survival = self._sms.LeastHypervolumeContributionSurvival(eps=0.0)
        bounds = {"ideal": np.zeros(case.objectives), "nadir": case.ref}
        return self._select(case, survival, **bounds)

    def _select(self, case: Case, survival: Any, **keywords: Any) -> Callable[[], Any]:
        problem = SimpleNamespace(n_obj=case.objectives)
        everybody = self._populations.Population.new(F=case.doubles, index=np.arange(case.points))

        def run() -> Array:
            survivors = survival._do(problem, everybody, n_survive=case.kept, **keywords)
            return np.asarray(survivors.get("index"), dtype=np.int64)

        return run


class Paretoset:
    """https://github.com/tommyod/paretoset, numba."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("paretoset")
        few = np.random.default_rng(0).random((8, 2))
        self._library.paretorank(few, distinct=False)  # numba compiles, which takes seconds

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """One filter per front; its ranks start at 1."""
        return answer_each(
            case, lambda points: self._library.paretorank(points, distinct=False) - 1
        )

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Block nested loops."""
        return answer_each(case, partial(self._library.paretoset, distinct=False))


class Optuna:
    """https://optuna.org, the functions inside its samplers; NumPy."""

    def __init__(self) -> None:
        self._sort: Any = importlib.import_module("optuna.study._multi_objective")
        self._volume: Any = importlib.import_module("optuna._hypervolume")
        self._boxes: Any = importlib.import_module("optuna._hypervolume.box_decomposition")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Peels front after front."""
        return answer_each(case, self._sort._fast_non_domination_rank)

    def pareto_rank_constrained(self, case: Case) -> Callable[[], Any] | None:
        """The same, the feasible first."""
        rank = self._sort._fast_non_domination_rank
        return partial(rank, case.doubles, penalty=case.violation)

    def pareto_rank_first(self, case: Case) -> Callable[[], Any] | None:
        """Peels no more fronts than it takes."""
        return partial(self._sort._fast_non_domination_rank, case.doubles, n_below=case.first)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Sort, then peel by the first point left."""
        return answer_each(
            case, partial(self._sort._is_pareto_front, assume_unique_lexsorted=False)
        )

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """All pairs in 3-D, WFG beyond."""
        if case.points > 3_000 and case.objectives > 2:
            return None
        is_front = not case.groups and case.workload != "uniform"
        compute = self._volume.compute_hypervolume
        return answer_each(case, lambda points: compute(points, case.ref, assume_pareto=is_front))

    def nondominated_boxes(self, case: Case) -> Callable[[], Any] | None:
        """By local upper bounds twice, as botorch does it."""
        return answer_each(
            case, lambda points: self._boxes.get_non_dominated_box_bounds(points, case.ref)
        )

    def greedy_subset(self, case: Case) -> Callable[[], Any] | None:
        """As its sampler cuts a front: lazily, in NumPy."""
        solve = importlib.import_module("optuna._hypervolume.hssp")._solve_hssp
        places = np.arange(case.points)
        return answer_each(case, lambda points: solve(points, places, case.kept, case.ref))


class Moarchiving:
    """https://github.com/CMA-ES/moarchiving, archives of 2 to 4 objectives in Python."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("moarchiving")

    def archive_add(self, case: Case) -> Work | None:
        """Keeps its hypervolume up to date while it adds."""
        if case.objectives > 4:
            return None
        points, ref = case.doubles.tolist(), case.ref.tolist()
        full = self._library.get_mo_archive([], reference_point=ref, n_obj=case.objectives)
        kind = type(full)  # computes in fractions by default, which takes many times longer
        kind.hypervolume_final_float_type = kind.hypervolume_computation_float_type = float
        full = self._library.get_mo_archive(points[: case.points], reference_point=ref)
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

    def archive_members(self, case: Case) -> Callable[[], Any] | None:
        """Without a reference point, it measures no volumes."""
        if case.objectives > 4:
            return None
        rows = [tuple(row) for row in case.doubles.tolist()]

        def run() -> Array:
            archive = self._library.get_mo_archive([], n_obj=case.objectives)
            for row in rows:
                archive.add(list(row))
            members = {tuple(member) for member in archive}
            return np.array([row in members for row in rows])

        return run


class Numpy:
    """The lines that one writes in NumPy: a sweep along one sorted front, formulas of batches."""

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """Two objectives, no ties: in the order of the first, the second is the least so far."""
        if case.objectives != 2 or case.groups:
            return None
        points = case.doubles

        def run() -> Array:
            order = np.argsort(points[:, 0])
            second = points[order, 1]
            chosen = np.empty(len(points), dtype=bool)
            chosen[order] = second <= np.minimum.accumulate(second)
            return chosen

        return run

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Two objectives, a front: stripes along the first."""
        if not _is_sweep(case):
            return None
        points, ref = case.doubles, case.ref

        def run() -> Any:
            front = points[np.argsort(points[:, 0])]
            return -(ref[0] - front[:, 0]) @ np.diff(front[:, 1], prepend=ref[1])

        return run

    def hv_contributions(self, case: Case) -> Callable[[], Any] | None:
        """Two objectives, a front: the rectangles between neighbours."""
        if not _is_sweep(case):
            return None
        points, ref = case.doubles, case.ref

        def run() -> Array:
            order = np.argsort(points[:, 0])
            front = points[order]
            widths = np.diff(front[:, 0], append=ref[0])
            contributions = np.empty(len(points))
            contributions[order] = -widths * np.diff(front[:, 1], prepend=ref[1])
            return contributions

        return run

    def hypervolume_gradient(self, case: Case) -> Callable[[], Any] | None:
        """Two objectives, a front: the distances to the neighbours."""
        if not _is_sweep(case):
            return None
        points, ref = case.doubles, case.ref

        def run() -> Array:
            order = np.argsort(points[:, 0])
            front = points[order]
            slopes = np.empty_like(points)
            slopes[order, 0] = np.diff(front[:, 1], prepend=ref[1])
            slopes[order, 1] = -np.diff(front[:, 0], append=ref[0])
            return slopes

        return run

    def crowding_distance(self, case: Case) -> Callable[[], Any] | None:
        """One front: the neighbours in the order of each objective."""
        if case.groups:
            return None
        points = case.doubles

        def run() -> Array:
            distances = np.zeros(len(points))
            for column in points.T:
                order = np.argsort(column)
                column = column[order]
                distances[order[1:-1]] += (column[2:] - column[:-2]) / (column[-1] - column[0])
                distances[order[[0, -1]]] = np.inf
            return distances

        return run

    def is_nondominated_strict(self, case: Case) -> Callable[[], Any] | None:
        """All pairs, objective by objective."""
        if case.points > _MOST_PAIRED:
            return None
        points = case.doubles

        def run() -> Array:
            better = points[:, None, 0] < points[:, 0]
            for column in points.T[1:]:
                better &= column[:, None] < column
            return np.asarray(~better.any(axis=0))

        return run

    def exact_subset(self, case: Case) -> Callable[[], Any] | None:
        """Combine every last point of a subset with every one before it."""
        return partial(_find_best_subset, case.doubles, case.ref, case.kept)

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any] | None:
        """Every cell of every grid against every point."""
        if not case.groups:
            return None
        sides, mask = case.ref - case.doubles, case.mask
        if mask is None:
            return partial(_compute_hypervolume_advantages, sides, DRAWN)

        def run() -> Array:
            advantages = np.zeros(mask.shape)
            for g, keep in enumerate(mask):
                advantages[g, keep] = _compute_hypervolume_advantages(sides[g][None, keep], DRAWN)
            return advantages

        return run


def _is_sweep(case: Case) -> bool:
    return case.objectives == 2 and not case.groups and case.workload in FRONTS


def compute_advantages(ranks: Array, rewards: Array, weights: Array) -> Array:
    """Turn ranks into centred advantages, by the formula, for all groups at once."""
    score = rewards @ weights.astype(rewards.dtype)
    inside = np.full_like(score, 0.5)
    for front in range(int(ranks.max()) + 1):
        members = ranks == front
        low = np.where(members, score, np.inf).min(axis=1, keepdims=True)
        high = np.where(members, score, -np.inf).max(axis=1, keepdims=True)
        spread = members & (high > low)
        span = np.where(high > low, high - low, 1)
        low = np.where(np.isfinite(low), low, 0)
        inside = np.where(spread, (score - low) / span, inside)
    raw = ranks.max(axis=1, keepdims=True) + 1 - ranks + BETA * (inside - 0.5)
    return np.asarray(raw - raw.mean(axis=1, keepdims=True))


def _compute_hypervolume_advantages(sides: Array, k: int) -> Array:
    """Compute the advantages of HV@k, shape (groups, points), some groups at a time.

    Args:
        sides: shape (groups, points, objectives), distances from the reference, none negative.
        k: how many are drawn; all points, if these are fewer.

    By the two integrals of the marginal and of its baseline: every cell of the grid through all
    points against every point.
    """
    _, points, objectives = sides.shape
    many = max(1, _MOST_AT_ONCE // points ** (objectives + 1))
    return np.concatenate(
        [_integrate(sides[start : start + many], k) for start in range(0, len(sides), many)]
    )


def _integrate(sides: Array, k: int) -> Array:
    groups, n, objectives = sides.shape
    grid = np.sort(sides, axis=1)
    edges = np.concatenate([np.zeros_like(grid[:, :1]), grid], axis=1)
    volume = np.ones((groups, 1))
    attained = np.ones((groups, n, 1), dtype=bool)  # does point i attain the cell?
    for m in range(objectives):
        width = np.diff(edges[..., m], axis=1)
        volume = (volume[:, :, None] * width[:, None]).reshape(groups, -1)
        reaches = sides[:, :, None, m] >= grid[:, None, :, m]
        attained = (attained[..., None] & reaches[:, :, None]).reshape(groups, n, -1)
    others = attained.sum(axis=1, keepdims=True, dtype=np.int8) - attained
    density = _chances_to_miss(n - 1, min(k, n) - 1)[others]
    density = density * (attained if k >= n else attained - 1.0)
    if k < n:  # minus the gain of one more draw
        density += _chances_to_miss(n - 1, k)[others]
    return np.asarray(np.einsum("gic,gc->gi", density, volume))


def _chances_to_miss(n: int, k: int) -> Array:
    """Return, for c from 0 to n, the chance that k draws from n points miss c of them."""
    return np.array([math.comb(n - c, k) / math.comb(n, k) for c in range(n + 1)])


def _find_best_subset(front: Array, ref: Array, k: int) -> Array:
    """Find the subset of a front of two objectives with the largest hypervolume.

    Dynamic programming over the size of the subset and its last point: O(k · n²).
    """
    order = np.argsort(-front[:, 0])
    x, y = (ref - front[order]).T
    more = np.where(np.tri(len(x), k=-1, dtype=bool), (x[:, None] - x) * y[:, None], -np.inf)
    best, choices = x * y, []
    for _ in range(k - 1):
        volumes = best + more
        choices.append(volumes.argmax(axis=1))
        best = volumes.max(axis=1)
    chosen = [int(best.argmax())]
    for choice in reversed(choices):
        chosen.append(int(choice[chosen[-1]]))
    return np.asarray(order[chosen])
