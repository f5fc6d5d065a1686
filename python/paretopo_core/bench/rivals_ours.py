"""This package, as a user calls it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import paretopo_core as pp
from paretopo_core.bench.case import BETA, Case
from paretopo_core.bench.timing import Work


class Paretopo:
    """Its public functions, on the data as they are."""

    def pareto_rank(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        pp.set_num_threads(case.threads)
        return partial(pp.pareto_rank, case.data, maximise=False, mask=case.mask)

    def is_nondominated(self, case: Case) -> Callable[[], Any]:
        """All of several equal points are kept, as the peers are told to."""
        pp.set_num_threads(case.threads)
        return partial(pp.is_nondominated, case.data, maximise=False, mask=case.mask)

    def hypervolume(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        pp.set_num_threads(case.threads)
        return partial(pp.hypervolume, case.data, case.ref, maximise=False, mask=case.mask)

    def hv_contributions(self, case: Case) -> Callable[[], Any]:
        """Batches and masks in one call."""
        pp.set_num_threads(case.threads)
        return partial(pp.hv_contributions, case.data, case.ref, maximise=False, mask=case.mask)

    def pareto_advantage(self, case: Case) -> Callable[[], Any]:
        """Rewards are maximised: the data with the sign turned."""
        pp.set_num_threads(case.threads)
        return partial(pp.pareto_advantage, -case.data, case.weights, beta=BETA)

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
