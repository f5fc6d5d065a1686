"""This package: as a user calls it, by ranks, from lists and tensors, and in a CUDA graph."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import paretopo_core as pp
from bench.cases import (
    BETA,
    DEVIATION,
    DRAWN,
    EPSILON,
    REFERENCE_INDICATORS,
    SAMPLES,
    Case,
)
from bench.peers.in_torch import to_tensor
from bench.timing import Work
from bench.workloads import FRONTS
from paretopo_core.compat import moocore

_Call = tuple[Callable[..., Any], Callable[[Case], dict[str, Any]]]


def _subset(method: str) -> _Call:
    return pp.hypervolume_subset, lambda case: {"k": case.kept, "ref": case.ref, "method": method}


# The tasks that are one call on the points, which are minimised; the keywords by case.
_CALLS: dict[str, _Call] = {
    "pareto_rank": (pp.pareto_rank, lambda case: {"mask": case.mask}),
    "pareto_rank_constrained": (pp.pareto_rank, lambda case: {"violation": case.violation}),
    "pareto_rank_first": (pp.pareto_rank, lambda case: {"n_below": case.first}),
    "is_nondominated": (pp.is_nondominated, lambda case: {"mask": case.mask}),
    "is_nondominated_strict": (pp.is_nondominated, lambda _: {"dominance": "strict"}),
    "epsilon_boxes": (pp.is_nondominated, lambda _: {"epsilon": EPSILON}),
    "normalise": (pp.normalise, lambda _: {}),
    "knee_points": (pp.knee_points, lambda _: {}),
    "hypervolume": (pp.hypervolume, lambda case: {"ref": case.ref, "mask": case.mask}),
    "hv_contributions": (
        pp.hypervolume_contributions,
        lambda case: {"ref": case.ref, "mask": case.mask},
    ),
    "hypervolume_gradient": (
        pp.hypervolume_gradient,
        lambda case: {"ref": case.ref, "mask": case.mask},
    ),
    "hypervolume_gradient_of_few": (
        pp.hypervolume_gradient,
        lambda case: {"ref": case.ref, "wanted": case.wanted},
    ),
    "r2": (pp.r2_indicator, lambda _: {"ideal": 0}),
    "greedy_subset": _subset("greedy"),
    "removal_subset": _subset("greedy_removal"),
    "exact_subset": _subset("exact"),
    "select_crowding": (pp.select, lambda case: {"k": case.kept}),
    "select_crowding_removal": (
        pp.select,
        lambda case: {"k": case.kept, "method": "crowding_removal"},
    ),
    "select_hypervolume": (
        pp.select,
        lambda case: {"k": case.kept, "method": "hypervolume", "ref": case.ref},
    ),
}


class Paretopo:
    """The public functions, on the data as they are."""

    def __getattr__(self, task: str) -> Callable[[Case], Callable[[], Any]]:
        """Offer the tasks that are one call: on points, or on a front and a reference set."""
        if task in REFERENCE_INDICATORS:
            return partial(self._compare, getattr(pp, REFERENCE_INDICATORS[task]))
        if task not in _CALLS:
            raise AttributeError(task)
        function, keywords = _CALLS[task]
        return lambda case: partial(function, self._place(case), maximise=False, **keywords(case))

    def _compare(self, measure: Callable[..., Any], case: Case) -> Callable[[], Any]:
        points = self._place(case)
        front, others = points[: case.points], points[case.points :]
        return partial(measure, front, others, maximise=False)

    def nondominated_boxes(self, case: Case) -> Callable[[], Any]:
        """One front."""
        points = self._place(case)
        return lambda: pp.nondominated_boxes(points, case.ref, maximise=False)[:2]

    def dominated_boxes(self, case: Case) -> Callable[[], Any]:
        """One front."""
        points = self._place(case)
        return lambda: pp.dominated_boxes(points, case.ref, maximise=False)[:2]

    def hypervolume_improvement(self, case: Case) -> Callable[[], Any]:
        """Compute the improvement of each candidate separately, in the boxes of one front."""
        points = self._place(case)
        boxes = pp.nondominated_boxes(points[: case.points], case.ref, maximise=False)
        candidates = points[case.points :, None]
        return partial(pp.hypervolume_improvement, candidates, boxes=boxes, maximise=False)

    def expected_hypervolume_improvement(self, case: Case) -> Callable[[], Any]:
        """Take the points after the front as means of independent Gaussian objectives."""
        points = self._place(case)
        boxes = pp.nondominated_boxes(points[: case.points], case.ref, maximise=False)
        means = points[case.points :]
        measure = partial(pp.expected_hypervolume_improvement, means, DEVIATION)
        return partial(measure, boxes=boxes, maximise=False)

    def hypervolume_approx(self, case: Case) -> Callable[[], Any]:
        """Estimate with a standard error, which no peer returns."""
        points, ref = self._place(case), case.ref
        estimate = partial(pp.hypervolume_approx, points, ref, samples=SAMPLES, maximise=False)
        return lambda: estimate().value

    def eaf(self, case: Case) -> Callable[[], Any]:
        """All surfaces; as one array, as others return them."""
        points, runs = self._place(case), case.runs
        return lambda: np.column_stack(pp.attainment_surfaces(points, runs, maximise=False))

    def eafdiff(self, case: Case) -> Callable[[], Any]:
        """By moocore's name."""
        return partial(moocore.eafdiff, *case.halves)

    def weighted_hypervolume(self, case: Case) -> Callable[[], Any]:
        """One front, and a grid of boxes."""
        low, high, weights = np.split(case.rectangles, [2, 4], axis=1)
        measure = partial(pp.weighted_hypervolume, self._place(case), case.ref, maximise=False)
        return partial(measure, boxes=(low, high), weights=weights[:, 0])

    def crowding_distance(self, case: Case) -> Callable[[], Any]:
        """Finds the fronts first; they are those of maximisation: the data with the sign turned."""
        return partial(pp.crowding_distance, self._place(case, sign=-1), mask=case.mask)

    def pareto_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        return partial(
            pp.pareto_advantage, self._place(case, sign=-1), weights=case.weights, beta=BETA
        )

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = self._place(case, sign=-1)
        return partial(pp.hypervolume_advantage, points, -case.ref, k=DRAWN, mask=case.mask)

    def archive_add(self, case: Case) -> Work:
        """The archive with its members is restored before every run."""
        pp.threads(case.threads)
        full = pp.ParetoArchive(case.ref, maximise=False)
        for point in case.doubles[: case.points]:
            full.add(point)
        state = full.state_dict()
        archive = pp.ParetoArchive(case.ref, maximise=False)
        newcomers = list(case.doubles[case.points :])
        return Work(
            run=lambda: [archive.add(point) for point in newcomers],
            fresh=lambda: archive.load_state_dict(state),
        )

    def archive_bounded(self, case: Case) -> Work:
        """A full archive; every newcomer, or a member, leaves."""
        pp.threads(case.threads)
        archive = pp.ParetoArchive(case.ref, maximise=False, capacity=case.points)
        archive.extend(case.doubles[: case.points])
        state = archive.state_dict()
        newcomers = list(case.doubles[case.points :])

        def run() -> Any:
            for point in newcomers:
                archive.add(point)
            return archive.indices

        return Work(run=run, fresh=lambda: archive.load_state_dict(state))

    def archive_members(self, case: Case) -> Callable[[], Any]:
        """One call for all points; they are added one after another."""
        points = case.doubles

        def run() -> Any:
            archive = pp.ParetoArchive(objectives=case.objectives, maximise=False)
            archive.extend(points)
            is_member = np.zeros(len(points), dtype=bool)
            is_member[archive.indices] = True
            return is_member

        return run

    def _place(self, case: Case, sign: int = 1) -> Any:
        """Put the data, or their negative, where they are to be used."""
        if case.is_on_gpu:
            return sign * to_tensor(case)
        pp.threads(case.threads)
        return case.data if sign == 1 else sign * case.data


class ParetopoRanks:
    """The tasks that ranks can solve, and tasks with given ranks."""

    def __init__(self) -> None:
        self._ours = Paretopo()

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """All ranks, and one comparison: as users filter who only have ranks."""
        rank = self._ours.pareto_rank(case)
        return lambda: rank() == 0

    def crowding_distance(self, case: Case) -> Callable[[], Any] | None:
        """Pass the ranks of a single front, which other peers assume."""
        if case.groups or case.workload not in FRONTS:
            return None
        crowd: Callable[..., Any] = self._ours.crowding_distance(case)
        return partial(crowd, ranks=np.zeros(case.points, np.int32))


class ParetopoList(Paretopo):
    """The public functions, called with lists of lists."""

    def _place(self, case: Case, sign: int = 1) -> Any:
        return super()._place(case, sign).tolist()


class ParetopoTensor(Paretopo):
    """The public functions, called with tensors on the CPU."""

    def _place(self, case: Case, sign: int = 1) -> Any:
        pp.threads(case.threads)
        return sign * to_tensor(case)


class ParetopoThread(Paretopo):
    """One thread of the CPU, in a machine with a GPU."""

    def _place(self, case: Case, sign: int = 1) -> Any:
        return super()._place(replace(case, threads=1), sign)


class ParetopoGraph:
    """Every call is captured once and replayed, which leaves out Python and launches."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._ours = Paretopo()

    def __getattr__(self, task: str) -> Callable[[Case], Callable[[], Any] | None]:
        """Offer every task on a GPU that the package has."""
        if task.startswith("_") or task == "archive_add":
            raise AttributeError(task)
        prepare = getattr(self._ours, task)
        return lambda case: self._capture(prepare(case)) if case.is_on_gpu else None

    def _capture(self, run: Callable[[], Any]) -> Callable[[], Any]:
        cuda = self._torch.cuda
        aside = cuda.Stream()
        with cuda.stream(aside):
            run()
        cuda.synchronize()
        graph = cuda.CUDAGraph()
        with cuda.graph(graph):
            answer = run()

        def replay() -> Any:
            graph.replay()
            return answer

        return replay
