"""This package: as a user calls it, and on a GPU captured in a CUDA graph."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import paretopo_core as pp
from bench.cases import BETA, DRAWN, Case
from bench.peers.in_torch import to_tensor
from bench.timing import Work


class Paretopo:
    """The public functions, on the data as they are."""

    def pareto_rank(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _place(case)
        return partial(pp.pareto_rank, points, maximise=False, mask=case.mask)

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """All of several equal points are kept, as the peers are told to."""
        points = _place(case)
        return partial(pp.is_nondominated, points, maximise=False, mask=case.mask)

    def hypervolume(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _place(case)
        return partial(pp.hypervolume, points, case.ref, maximise=False, mask=case.mask)

    def hv_contributions(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _place(case)
        return partial(pp.hv_contributions, points, case.ref, maximise=False, mask=case.mask)

    def pareto_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = _place(case)
        return partial(pp.pareto_advantage, -points, case.weights, beta=BETA)

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = _place(case)
        return partial(pp.hypervolume_advantage, -points, -case.ref, k=DRAWN, mask=case.mask)

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


def _place(case: Case) -> Any:
    if case.is_on_gpu:
        return to_tensor(case)
    pp.set_num_threads(case.threads)
    return case.data
