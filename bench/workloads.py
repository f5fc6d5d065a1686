"""The data of the benchmark: fronts of every shape, inputs that hurt, batches of groups.

Everything is *minimised*, as most peers want it, and lies in 0..1, so that 1.1 in every objective
is a reference point worse than all of it. The seed is made of the sizes: a workload is the same
in every process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCE = 1.1
FRONTS = ("linear", "inverted", "concave", "convex", "degenerate")
_LAYERS = 20
_LEVELS = 8


def make_points(workload: str, points: int, objectives: int, draw: int = 0) -> Array:
    """Make one set of points, shape (points, objectives), float64: ``draw`` says which of many.

    Raises:
        ValueError: ``workload`` is no name of ``SHAPES``.
    """
    if workload not in SHAPES:
        raise ValueError(f"workload must be one of {', '.join(SHAPES)}, got {workload!r}")
    rng = np.random.default_rng([points, objectives, draw])
    return np.ascontiguousarray(SHAPES[workload](rng, points, objectives))


def make_groups(groups: int, points: int, objectives: int, dtype: str) -> Array:
    """Make groups of uniform points, shape (groups, points, objectives)."""
    rng = np.random.default_rng([groups, points, objectives])
    return rng.random((groups, points, objectives), dtype=np.dtype(dtype).type)


def make_mask(groups: int, points: int) -> Array:
    """Mark the points of each group that count, a quarter to all; shape (groups, points)."""
    rng = np.random.default_rng([groups, points])
    sizes = rng.integers(points // 4, points + 1, size=groups)
    return np.asarray(np.arange(points) < sizes[:, None])


def _uniform(rng: np.random.Generator, points: int, objectives: int) -> Array:
    return rng.random((points, objectives))


def _linear(rng: np.random.Generator, points: int, objectives: int) -> Array:
    shares = rng.exponential(size=(points, objectives))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def _inverted(rng: np.random.Generator, points: int, objectives: int) -> Array:
    return np.asarray(1 - _linear(rng, points, objectives))


def _concave(rng: np.random.Generator, points: int, objectives: int) -> Array:
    directions = np.abs(rng.standard_normal((points, objectives)))
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


def _convex(rng: np.random.Generator, points: int, objectives: int) -> Array:
    return np.asarray(1 - _concave(rng, points, objectives))


def _degenerate(rng: np.random.Generator, points: int, objectives: int) -> Array:
    """A narrow band on the sphere, as in DTLZ5: nearly a curve, whatever the objectives."""
    angles = np.full((points, objectives - 1), np.pi / 4)
    angles[:, 0] = rng.random(points) * np.pi / 2
    angles[:, 1:] += (rng.random((points, objectives - 2)) - 0.5) * 0.02
    front = np.ones((points, objectives))
    for m in range(objectives):
        front[:, m] = np.cos(angles[:, : objectives - 1 - m]).prod(axis=1)
        if m > 0:
            front[:, m] *= np.sin(angles[:, objectives - 1 - m])
    return front


def _discrete(rng: np.random.Generator, points: int, objectives: int) -> Array:
    return np.asarray(rng.integers(0, _LEVELS, (points, objectives)) / _LEVELS)


def _chain(rng: np.random.Generator, points: int, objectives: int) -> Array:
    """Every point dominates the next: as many fronts as points."""
    steps = (np.arange(points)[:, None] + rng.random((points, objectives))) / points
    return np.asarray(rng.permutation(steps))


def _parallel(rng: np.random.Generator, points: int, objectives: int) -> Array:
    """Concave fronts inside each other."""
    radii = rng.integers(1, _LAYERS + 1, (points, 1)) / _LAYERS
    return np.asarray(_concave(rng, points, objectives) * radii)


def _equal(_: np.random.Generator, points: int, objectives: int) -> Array:
    return np.full((points, objectives), 0.5)


SHAPES: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    "uniform": _uniform,
    "linear": _linear,
    "inverted": _inverted,
    "concave": _concave,
    "convex": _convex,
    "degenerate": _degenerate,
    "discrete": _discrete,
    "chain": _chain,
    "parallel": _parallel,
    "equal": _equal,
}
