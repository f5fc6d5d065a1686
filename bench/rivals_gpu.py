"""Contenders that exist on a GPU only: this package in a CUDA graph, and compiled torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from bench.case import Case
from bench.rivals_ours import Paretopo
from bench.rivals_torch import PlainTorch


class Graph:
    """Every call is captured once and replayed: what is left without Python and launches."""

    def __init__(self) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._ours = Paretopo()

    def __getattr__(self, task: str) -> Callable[[Case], Callable[[], Any] | None]:
        """Offer every task on a GPU that the package has."""
        if task.startswith("_") or task == "archive_add":
            raise AttributeError(task)
        prepare = getattr(self._ours, task)
        return lambda case: self._captured(prepare(case)) if case.is_on_gpu else None

    def _captured(self, run: Callable[[], Any]) -> Callable[[], Any]:
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


class Compiled(PlainTorch):
    """What one would write in a training script, through torch.compile."""

    def hypervolume(self, case: Case) -> Callable[[], Any] | None:
        """2 objectives only, as one graph."""
        run = super().hypervolume(case)
        return None if run is None else self._torch.compile(run)

    def is_nondominated(self, case: Case) -> Callable[[], Any] | None:
        """All pairs of all groups at once, as one graph."""
        run = super().is_nondominated(case)
        return None if run is None else self._torch.compile(run)

    def _ranks(self, points: Any) -> Any:
        """The pairs as one graph; how many fronts follow, the host has to ask."""
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
