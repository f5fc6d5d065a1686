"""Calls that between them launch every kernel, with several jobs for each warp and block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from support import device_arrays

import paretopo_core as pp

_RANKS: dict[str, Callable[..., Any]] = {
    "pareto_rank": pp.pareto_rank,
    "is_nondominated": lambda x, **kw: pp.is_nondominated(x, duplicates="first", **kw),
    "crowding_distance": pp.crowding_distance,
    "pareto_advantage": lambda x, **kw: pp.pareto_advantage(
        x, weights=np.linspace(0.1, 1, x.shape[-1]), centre="std", return_ranks=True, **kw
    ),
}
_VOLUMES: dict[str, Callable[..., Any]] = {
    "hypervolume": lambda x, **kw: pp.hypervolume(x, -0.5, **kw),
    "hypervolume_gradient": lambda x, **kw: pp.hypervolume_gradient(x, -0.5, **kw),
    "hypervolume_contributions": lambda x, **kw: pp.hypervolume_contributions(x, -0.5, **kw),
    "hypervolume_contributions of all": lambda x, **kw: pp.hypervolume_contributions(
        x, -0.5, ignore_dominated=False, **kw
    ),
}
_GRIDS: dict[str, Callable[..., Any]] = {
    "expected_hypervolume": lambda x, **kw: pp.expected_hypervolume(x, -0.5, k=3, **kw),
    "hypervolume_advantage": lambda x, **kw: pp.hypervolume_advantage(x, -0.5, k=3, **kw),
}


@dataclass(frozen=True, eq=False)
class Case:
    """One call: the mapping says who does small sets."""

    mapping: str
    name: str
    operation: Callable[..., Any]
    points: np.ndarray

    def __str__(self) -> str:
        return f"{self.name} of {self.points.shape} {self.points.dtype}, {self.mapping}"

    def on_device(self) -> list[np.ndarray]:
        """Return the answer of the emulated device."""
        with device_arrays.emulate(self.mapping):
            found = self.operation(device_arrays.DeviceArray(self.points))
        return [part.host for part in (found if isinstance(found, tuple) else (found,))]

    @cached_property
    def on_cpu(self) -> list[np.ndarray]:
        """Return the answer of the CPU."""
        found = self.operation(self.points)
        return [np.asarray(part) for part in (found if isinstance(found, tuple) else (found,))]

    def is_right(self, found: list[np.ndarray]) -> bool:
        """Compare an answer with the CPU's: bit by bit for ranks and grids, else closely."""
        rtol = (
            0 if self.operation in _RANKS.values() or self.operation in _GRIDS.values() else 1e-11
        )
        pairs = zip(found, self.on_cpu, strict=True)
        return all(np.allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True) for a, b in pairs)


def _points(kind: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(sum(shape))
    if kind == "ties":  # few values: many fronts, equal points, dominated ones
        return (rng.integers(0, 5, shape) + 0.25).astype(dtype)
    points = rng.random(shape)
    if kind == "front" and shape[-1] > 1:  # no point dominates another
        points[..., -1] = shape[-1] - points[..., :-1].sum(axis=-1)
    if kind == "huge":  # volumes beyond the range of the type
        points *= float(np.finfo(dtype).max) ** 0.9
    return points.astype(dtype)


def cases(dtypes: tuple[str, ...] = ("float32", "float64")) -> Iterator[Case]:
    """Every operation in every mapping, small sets first."""
    for dtype in dtypes:
        for objectives in (2, 3, 4, 5):
            for name, operation in _RANKS.items():
                for mapping, points in (("warp", 40), ("thread", 8), ("block", 130), ("grid", 150)):
                    for kind in ("ties", "front"):
                        shape = (13 if points < 50 else 5, points, objectives)
                        yield Case(mapping, name, operation, _points(kind, shape, dtype))
            for name, operation in _VOLUMES.items():
                points = 13 if objectives < 5 else 9
                for kind in ("ties", "front", "random"):
                    groups = 13 if name == "hypervolume" and objectives < 4 else 2
                    shape = (groups, points, objectives)
                    yield Case("warp", name, operation, _points(kind, shape, dtype))
            yield Case(
                "block",
                "hypervolume",
                _VOLUMES["hypervolume"],
                _points("random", (5, 70, min(objectives, 3)), dtype),
            )
            if objectives > 3:
                continue
            for name, operation in _GRIDS.items():
                for kind in ("ties", "random", "huge"):
                    points = 40 if objectives == 2 else 11
                    shape = (13, points, objectives)
                    yield Case("warp", name, operation, _points(kind, shape, dtype))
                small = _points("random", (5, 8, objectives), dtype)
                yield Case("thread", name, operation, small)
        # A facet has a side less than there are objectives: from 6 on, levels below levels.
        for name in ("hypervolume", "hypervolume_gradient"):
            for kind in ("ties", "front", "random"):
                yield Case("warp", name, _VOLUMES[name], _points(kind, (2, 9, 6), dtype))
