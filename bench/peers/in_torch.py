"""Peers in torch, on one CPU thread or on a GPU; and plain torch, eager and compiled."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from bench.cases import BETA, DEVIATION, Case
from bench.timing import Skipped

_DENSE = 3_000  # points whose pairs fit in memory as tensors
_DENSE_ON_GPU = 10_000
_LOOPED = 20_000  # points over which a loop takes less than a second or two
_COMPILES = "torch.compile takes seconds for each size"
_PAIRS = 300_000_000  # pairs of points in a batch that fit in memory
_BOXES = "botorch.utils.multi_objective.box_decompositions"
_MOST_BINARY = 3  # objectives
_MOST_FOR_BOXES = {2: 1_000, 3: 300, 4: 100, 5: 30}  # points, by objectives


def to_tensor(case: Case) -> Any:
    """Copy the data to where they are to be used, as a tensor."""
    torch: Any = importlib.import_module("torch")
    if case.is_on_gpu:
        return torch.from_numpy(case.data).cuda()
    torch.set_num_threads(case.threads)
    return torch.from_numpy(case.data)


def skip_beyond(case: Case, most: int, reason: str) -> None:
    """Skip a set on a GPU of more than so many points."""
    if case.is_on_gpu and not case.groups and case.points > most:
        raise Skipped(reason)


def is_dense(case: Case) -> bool:
    """Return True if all pairs of points fit into memory and the batch is not ragged."""
    matrix = case.points**2
    skip_beyond(case, _DENSE_ON_GPU, f"a matrix of all pairs takes {matrix / 1e9:.0f} GB")
    pairs = max(case.groups, 1) * matrix * case.objectives
    most = _DENSE_ON_GPU if case.is_on_gpu else _DENSE
    return case.points <= most and pairs <= _PAIRS and case.mask is None


class Botorch:
    """https://botorch.org."""

    def __init__(self) -> None:
        self._pareto: Any = importlib.import_module("botorch.utils.multi_objective.pareto")
        self._boxes: Any = importlib.import_module(_BOXES)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """All pairs up to 1,000 points, a loop over points beyond; batches too."""
        skip_beyond(case, _LOOPED, "a loop over the points takes seconds")
        if case.points > _LOOPED or (case.groups and not is_dense(case)):
            return None
        points = to_tensor(case)
        return partial(self._pareto.is_non_dominated, points, maximize=False, deduplicate=False)

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """Volumes of a box decomposition; maximises."""
        most = _MOST_FOR_BOXES.get(case.objectives, 0)
        skip_beyond(case, most, "a box decomposition takes minutes")
        if case.groups or case.points > most:
            return None
        points, ref = -to_tensor(case), -to_tensor(case).new_tensor(case.ref)
        decompose = self._boxes.DominatedPartitioning
        return lambda: decompose(ref_point=ref, Y=points).compute_hypervolume().item()

    def nondominated_boxes(self, case: Case) -> Callable[[], Any]:
        """By local upper bounds twice; maximises."""
        return _decompose(case, self._boxes.FastNondominatedPartitioning)

    def dominated_boxes(self, case: Case) -> Callable[[], Any]:
        """By local upper bounds; maximises."""
        return _decompose(case, self._boxes.DominatedPartitioning)

    def hypervolume_improvement(self, case: Case) -> Callable[[], Any]:
        """Compute qEHVI for one sample of the model, which is the candidates themselves."""
        points, ref = -to_tensor(case), -to_tensor(case).new_tensor(case.ref)
        front, candidates = points[: case.points], points[None, case.points :, None]
        acquisition = importlib.import_module("botorch.acquisition.multi_objective")
        models = importlib.import_module("botorch.models.deterministic")
        expected = acquisition.qExpectedHypervolumeImprovement(
            model=models.GenericDeterministicModel(lambda x: x, num_outputs=case.objectives),
            ref_point=ref,
            partitioning=self._boxes.FastNondominatedPartitioning(ref_point=ref, Y=front),
        )
        return lambda: expected._compute_qehvi(candidates)

    def expected_hypervolume_improvement(self, case: Case) -> Callable[[], Any]:
        """Compute the analytic EHVI of a model that returns its inputs as means."""
        points, ref = -to_tensor(case), -to_tensor(case).new_tensor(case.ref)
        front, means = points[: case.points], points[case.points :, None]
        variance = points.new_full((1,), DEVIATION**2)
        acquisition = importlib.import_module("botorch.acquisition.multi_objective.analytic")
        model = SimpleNamespace(
            num_outputs=case.objectives,
            posterior=lambda x, **_: SimpleNamespace(mean=x, variance=variance.expand_as(x)),
        )
        expected = acquisition.ExpectedHypervolumeImprovement(
            model=model,
            ref_point=ref,
            partitioning=self._boxes.FastNondominatedPartitioning(ref_point=ref, Y=front),
        )
        return lambda: expected(means)


class BotorchBinary:
    """https://botorch.org, its older decomposition, still the default of some acquisitions."""

    def __init__(self) -> None:
        self._boxes: Any = importlib.import_module(_BOXES)

    def nondominated_boxes(self, case: Case) -> Callable[[], Any] | None:
        """Binary partitioning of the cells of the grid; maximises. Minutes from 4 objectives."""
        if case.objectives > _MOST_BINARY:
            return None
        return _decompose(case, self._boxes.NondominatedPartitioning)


def _decompose(case: Case, partitioning: Any) -> Callable[[], Any]:
    """Corners as they are where smaller is better, from a partitioning that maximises."""
    points, ref = -to_tensor(case), -to_tensor(case).new_tensor(case.ref)
    return lambda: -partitioning(ref_point=ref, Y=points).get_hypercell_bounds().flip(0)


class Evotorch:
    """https://evotorch.ai."""

    def __init__(self) -> None:
        self._core: Any = importlib.import_module("evotorch.core")
        self._functional: Any = importlib.import_module("evotorch.operators.functional")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """Call the function of SolutionBatch.compute_pareto_ranks; larger is better there."""
        if case.groups or not is_dense(case):
            return None
        points = -to_tensor(case)
        return lambda: self._core._compute_pareto_ranks(points, False)[0]

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """The points with no dominator; batches too."""
        if not is_dense(case):
            return None
        points, sense = to_tensor(case), ["min"] * case.objectives
        count = self._functional.domination_counts
        return lambda: count(points, objective_sense=sense) == 0


class Evox:
    """https://evox.group."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        module: Any = importlib.import_module("evox.operators.selection.non_dominate")
        self._rank = module.non_dominate_rank
        self._metrics: Any = importlib.import_module("evox.metrics")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """All pairs, then front after front; batches through torch.vmap."""
        if not is_dense(case):
            return None
        rank = self._torch.vmap(self._rank) if case.groups else self._rank
        return partial(rank, to_tensor(case))

    def igd(self, case: Case) -> Callable[[], Any]:
        """All pairs at once, by torch.cdist; its gd is of another definition."""
        points = to_tensor(case)
        return partial(self._metrics.igd, points[: case.points], points[case.points :])


class Torch:
    """The lines a training script would have without a library."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """All pairs of all groups at once, then front after front."""
        return partial(self._ranks, to_tensor(case)) if is_dense(case) else None

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """All pairs of all groups at once."""
        if not is_dense(case):
            return None
        points = to_tensor(case)
        return lambda: ~self._dominates(points).any(-2)

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """2 objectives only: sort, running minimum, sum, in float64; batches and masks too."""
        if case.objectives != 2:
            return None
        torch = self._torch
        points = to_tensor(case)
        ref = torch.from_numpy(case.ref).to(points.device)
        mask = None if case.mask is None else torch.from_numpy(case.mask)[..., None]

        def run() -> Any:
            kept = points if mask is None else torch.where(mask, points, ref)
            kept = kept.double()
            x, order = kept[..., 0].sort(-1)
            y = kept[..., 1].gather(-1, order).cummin(-1).values
            right = torch.cat([x[..., 1:], ref[0].expand_as(x[..., :1])], -1)
            return ((right - x) * (ref[1] - y)).sum(-1)

        return run

    def pareto_advantage(self, case: Case) -> Callable[[], Any] | None:
        """The formula, batched, in eager mode."""
        if not is_dense(case) or not case.groups:
            return None
        torch = self._torch
        points = to_tensor(case)
        weights = torch.from_numpy(case.weights).to(points)

        def run() -> Any:
            ranks = self._ranks(points)
            score = -points @ weights
            low = torch.full_like(score, torch.inf).scatter_reduce(-1, ranks, score, "amin")
            high = torch.full_like(score, -torch.inf).scatter_reduce(-1, ranks, score, "amax")
            low, high = low.gather(-1, ranks), high.gather(-1, ranks)
            inside = torch.where(high > low, (score - low) / (high - low), 0.5)
            raw = ranks.amax(-1, keepdim=True) + 1 - ranks + BETA * (inside - 0.5)
            return raw - raw.mean(-1, keepdim=True)

        return run

    def _dominates(self, points: Any) -> Any:
        """[..., i, j]: i dominates j, that is, never worse, but not the other way round too."""
        a, b = points[..., :, None, :], points[..., None, :, :]
        never_worse = a[..., 0] <= b[..., 0]
        for m in range(1, points.shape[-1]):
            never_worse &= a[..., m] <= b[..., m]
        return never_worse & ~never_worse.transpose(-1, -2)

    def _ranks(self, points: Any) -> Any:
        dominates = self._dominates(points)
        ranks = self._unranked(points)
        front = 0
        while bool((ranks < 0).any()):
            ranks = self._next_front(dominates, ranks, front)
            front += 1
        return ranks

    def _unranked(self, points: Any) -> Any:
        torch = self._torch
        return torch.full(points.shape[:-1], -1, dtype=torch.int64, device=points.device)

    def _next_front(self, dominates: Any, ranks: Any, front: int) -> Any:
        left = ranks < 0
        on_front = left & ~(dominates & left[..., None]).any(-2)
        return ranks.masked_fill(on_front, front)


class TorchCompiled(Torch):
    """The same lines through torch.compile: batches only, as it compiles each size for seconds."""

    def pareto_rank(self, case: Case) -> Callable[[], Any] | None:
        """The pairs as one graph; how many fronts follow, the host has to ask."""
        skip_beyond(case, _DENSE, _COMPILES)
        return super().pareto_rank(case)

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """2 objectives only, as one graph."""
        skip_beyond(case, _DENSE, _COMPILES)
        run = super().hypervolume(case)
        return None if run is None else self._torch.compile(run)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """All pairs of all groups at once, as one graph."""
        skip_beyond(case, _DENSE, _COMPILES)
        run = super().is_nondominated(case)
        return None if run is None else self._torch.compile(run)

    def _ranks(self, points: Any) -> Any:
        if not hasattr(self, "_pairs"):
            self._pairs = self._torch.compile(self._dominates)
            self._step = self._torch.compile(self._next_front)
        dominates = self._pairs(points)
        ranks = self._unranked(points)
        front = 0
        while bool((ranks < 0).any()):
            ranks = self._step(dominates, ranks, front)
            front += 1
        return ranks
