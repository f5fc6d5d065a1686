"""This package: as a user calls it, by ranks, from lists and tensors, and in a CUDA graph."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import paretopo_core as pp
from bench import judge
from bench.cases import BETA, DIVISIONS, DRAWN, EPSILON, SAMPLES, Case
from bench.peers.in_torch import to_tensor
from bench.timing import Work
from bench.workloads import FRONTS
from paretopo_core.compat import moocore


class Paretopo:
    """The public functions, on the data as they are."""

    def pareto_rank(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = self._place(case)
        return partial(pp.pareto_rank, points, maximise=False, mask=case.mask)

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """Keep all duplicates, as the peers do with their options."""
        points = self._place(case)
        return partial(pp.is_nondominated, points, maximise=False, mask=case.mask)

    def pareto_rank_constrained(self, case: Case) -> Callable[[], Any]:
        """One set and its violations."""
        points, violation = self._place(case), case.violation
        return partial(pp.pareto_rank, points, maximise=False, violation=violation)

    def pareto_rank_first(self, case: Case) -> Callable[[], Any]:
        """One set."""
        return partial(pp.pareto_rank, self._place(case), maximise=False, n_below=case.first)

    def is_nondominated_strict(self, case: Case) -> Callable[[], Any]:
        """One set."""
        return partial(pp.is_nondominated, self._place(case), maximise=False, strict=True)

    def epsilon_boxes(self, case: Case) -> Callable[[], Any]:
        """One set."""
        return partial(pp.is_nondominated, self._place(case), maximise=False, epsilon=EPSILON)

    def normalise(self, case: Case) -> Callable[[], Any]:
        """One set."""
        return partial(pp.normalise, self._place(case), maximise=False)

    def knee_points(self, case: Case) -> Callable[[], Any]:
        """One set."""
        return partial(pp.knee_points, self._place(case), maximise=False)

    def hypervolume(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = self._place(case)
        return partial(pp.hypervolume, points, case.ref, maximise=False, mask=case.mask)

    def hv_contributions(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = self._place(case)
        return partial(pp.hv_contributions, points, case.ref, maximise=False, mask=case.mask)

    def hypervolume_gradient(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = self._place(case)
        return partial(pp.hypervolume_gradient, points, case.ref, maximise=False, mask=case.mask)

    def hypervolume_gradient_of_few(self, case: Case) -> Callable[[], Any]:
        """Compute only the gradient in the candidates, which come before the front."""
        points, wanted = self._place(case), case.wanted
        return partial(pp.hypervolume_gradient, points, case.ref, maximise=False, wanted=wanted)

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
        return partial(pp.hypervolume_improvement, boxes, candidates, maximise=False)

    def igd(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.igd, case)

    def igd_plus(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.igd_plus, case)

    def gd(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.gd, case)

    def gd_plus(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.gd_plus, case)

    def avg_hausdorff_dist(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.avg_hausdorff_dist, case)

    def epsilon_additive(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.epsilon_additive, case)

    def epsilon_mult(self, case: Case) -> Callable[[], Any]:
        """One front, one reference set."""
        return self._compare(pp.epsilon_mult, case)

    def _compare(self, measure: Callable[..., Any], case: Case) -> Callable[[], Any]:
        points = self._place(case)
        front, others = points[: case.points], points[case.points :]
        return partial(measure, front, others, maximise=False)

    def r2(self, case: Case) -> Callable[[], Any]:
        """Exact for two objectives; beyond, over a lattice of weights."""
        weights = None if case.objectives == 2 else DIVISIONS
        return partial(pp.r2, self._place(case), 0, weights=weights, maximise=False)

    def hypervolume_approx(self, case: Case) -> Callable[[], Any]:
        """Estimate with a standard error, which no peer returns."""
        points, ref = self._place(case), case.ref
        estimate = partial(pp.hypervolume_approx, points, ref, samples=SAMPLES, maximise=False)
        return lambda: estimate().volume

    def eaf(self, case: Case) -> Callable[[], Any]:
        """All surfaces; as one array, as others return them."""
        points, runs = self._place(case), case.runs
        return lambda: np.column_stack(pp.eaf(points, runs, maximise=False))

    def eafdiff(self, case: Case) -> Callable[[], Any]:
        """By moocore's name."""
        return partial(moocore.eafdiff, *judge.halve_runs(case))

    def weighted_hypervolume(self, case: Case) -> Callable[[], Any]:
        """One front, and a grid of boxes."""
        low, high, weights = np.split(case.rectangles, [2, 4], axis=1)
        measure = partial(pp.weighted_hypervolume, self._place(case), (low, high), maximise=False)
        return partial(measure, weights=weights[:, 0], ref=case.ref)

    def greedy_subset(self, case: Case) -> Callable[[], Any]:
        """One front."""
        return self._choose(case, "greedy")

    def removal_subset(self, case: Case) -> Callable[[], Any]:
        """One front."""
        return self._choose(case, "greedy_removal")

    def exact_subset(self, case: Case) -> Callable[[], Any]:
        """One front."""
        return self._choose(case, "exact")

    def _choose(self, case: Case, method: Any) -> Callable[[], Any]:
        points, kept = self._place(case), case.kept
        return partial(pp.hypervolume_subset, points, kept, case.ref, method=method, maximise=False)

    def select_crowding(self, case: Case) -> Callable[[], Any]:
        """Fronts first, as everybody."""
        return partial(pp.select, self._place(case), case.kept, maximise=False)

    def select_crowding_removal(self, case: Case) -> Callable[[], Any]:
        """Fronts first, as everybody."""
        points = self._place(case)
        return partial(pp.select, points, case.kept, "crowding_removal", maximise=False)

    def select_hypervolume(self, case: Case) -> Callable[[], Any]:
        """Fronts first, as everybody."""
        points = self._place(case)
        return partial(pp.select, points, case.kept, "hypervolume", ref=case.ref, maximise=False)

    def crowding_distance(self, case: Case) -> Callable[[], Any]:
        """Finds the fronts first; they are those of maximisation: the data with the sign turned."""
        return partial(pp.crowding_distance, self._place(case, sign=-1), mask=case.mask)

    def pareto_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        return partial(pp.pareto_advantage, self._place(case, sign=-1), case.weights, beta=BETA)

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = self._place(case, sign=-1)
        return partial(pp.hypervolume_advantage, points, -case.ref, k=DRAWN, mask=case.mask)

    def archive_add(self, case: Case) -> Work:
        """The archive with its members is restored before every run."""
        pp.set_num_threads(case.threads)
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
        pp.set_num_threads(case.threads)
        archive = pp.ParetoArchive(case.ref, maximise=False, capacity=case.points)
        archive.extend(case.doubles[: case.points])
        state = archive.state_dict()
        newcomers = list(case.doubles[case.points :])

        def run() -> Any:
            for point in newcomers:
                archive.add(point)
            return archive.indices

        return Work(run=run, fresh=lambda: archive.load_state_dict(state))

    def _place(self, case: Case, sign: int = 1) -> Any:
        """Put the data, or their negative, where they are to be used."""
        if case.is_on_gpu:
            return sign * to_tensor(case)
        pp.set_num_threads(case.threads)
        return case.data if sign == 1 else sign * case.data


class ParetopoRanks:
    """The tasks that ranks can solve, and tasks with given ranks."""

    def __init__(self) -> None:
        self._ours = Paretopo()

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """All ranks, and one comparison: as users filter who know only ranks."""
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
        pp.set_num_threads(case.threads)
        return sign * to_tensor(case)


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
