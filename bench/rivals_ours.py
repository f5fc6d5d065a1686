"""This package, as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import paretopo_core as pp
from bench.case import BETA, DRAWN, Case
from bench.rivals_torch import tensor_of
from bench.timing import Work


class Paretopo:
    """Its public functions, on the data as they are."""

    def pareto_rank(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _points(case)
        return partial(pp.pareto_rank, points, maximise=False, mask=case.mask)

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """All of several equal points are kept, as the peers are told to."""
        points = _points(case)
        return partial(pp.is_nondominated, points, maximise=False, mask=case.mask)

    def hypervolume(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _points(case)
        return partial(pp.hypervolume, points, case.ref, maximise=False, mask=case.mask)

    def hv_contributions(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        points = _points(case)
        return partial(pp.hv_contributions, points, case.ref, maximise=False, mask=case.mask)

    def pareto_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = _points(case)
        return partial(pp.pareto_advantage, -points, case.weights, beta=BETA)

    def hypervolume_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        points = _points(case)
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


def _points(case: Case) -> Any:
    if case.is_on_gpu:
        return tensor_of(case)
    pp.set_num_threads(case.threads)
    return case.data
