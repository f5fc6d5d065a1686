"""One row of the benchmark before it has a time: which task, on which data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bench import workloads
from bench.workloads import Array

NEWCOMERS = 50  # points that one run adds to an archive
ON_GPU = 0  # threads of a case that runs on a GPU
DRAWN = 4  # k of hypervolume_advantage
BETA = 0.5  # how much the weights count beside the ranks, in pareto_advantage
TASKS = (
    "pareto_rank",
    "is_nondominated",
    "hypervolume",
    "hv_contributions",
    "pareto_advantage",
    "hypervolume_advantage",
    "archive_add",
)


@dataclass(frozen=True)
class Case:
    """A task and its data.

    Attributes:
        operation: the CSV the row belongs to.
        task: what is computed, a name of ``TASKS``.
        workload: the shape of the data, a name of ``workloads.SHAPES``; batches are "uniform", or
            "ragged" where the groups differ in size.
        points: points of the set, or of the largest group.
        objectives: values of each point.
        groups: groups of a batch; 0 for one set.
        dtype: of the data; peers that know only float64 get it converted, outside the clock.
        threads: how many threads a call may use; ``ON_GPU``: none, it runs on a GPU.
    """

    operation: str
    task: str
    workload: str
    points: int
    objectives: int
    groups: int = 0
    dtype: str = "float64"
    threads: int = 1

    def as_dict(self) -> dict[str, Any]:
        """The fields, for a CSV row or a message to another process."""
        return asdict(self)

    def __str__(self) -> str:
        size = f"{self.points} x {self.objectives}"
        if self.groups:
            size = f"{self.groups} x {size}"
        kind = "" if self.dtype == "float64" else " float32"
        many = "" if self.threads == 1 else f", {self.threads} threads"
        many = " on the GPU" if self.is_on_gpu else many
        return f"{self.task} {self.workload} {size}{kind}{many}"

    @property
    def is_on_gpu(self) -> bool:
        """Whether the data are to be put on a GPU first."""
        return self.threads == ON_GPU

    @cached_property
    def data(self) -> Array:
        """Shape (points, objectives) or (groups, points, objectives); smaller is better."""
        if self.groups:
            return workloads.groups_of(self.groups, self.points, self.objectives, self.dtype)
        count = self.points + (NEWCOMERS if self.task == "archive_add" else 0)
        return workloads.points_of(self.workload, count, self.objectives).astype(self.dtype)

    @cached_property
    def doubles(self) -> Array:
        """The data in float64."""
        return self.data.astype(np.float64)

    @cached_property
    def mask(self) -> Array | None:
        """Which points of ragged groups count, shape (groups, points); None: all of them."""
        return workloads.ragged(self.groups, self.points) if self.workload == "ragged" else None

    @cached_property
    def sets(self) -> list[Array]:
        """Every set as its own contiguous float64 array, for peers without batches."""
        if not self.groups:
            return [self.doubles]
        if self.mask is None:
            return list(self.doubles)
        return [
            group[: int(keep.sum())] for group, keep in zip(self.doubles, self.mask, strict=False)
        ]

    @cached_property
    def ref(self) -> Array:
        """The reference point, shape (objectives,)."""
        return np.full(self.objectives, workloads.REFERENCE)

    @cached_property
    def weights(self) -> Array:
        """The weights of pareto_advantage, shape (objectives,)."""
        return np.full(self.objectives, 1.0 / self.objectives)
