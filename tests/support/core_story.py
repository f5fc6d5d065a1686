"""One story of inputs through every operation of the core, and a digest of each answer.

Whatever system, processor, instruction set or compiler the core was built for: the bits are the
same. `python tests/support/core_story.py` writes the digests of the core that is installed, as
`tests/paretopo_core/story.json` has them. Inputs are uniform numbers and integers, which NumPy
draws alike everywhere. `stochastic_dominance`, `stochastic_pareto_rank` and
`weighted_hypervolume` are left out: NumPy computes parts of them, and the last digits of its `exp`
and of its sums depend on the processor.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import paretopo_core as pp
from paretopo_core import _core

_REF = -0.25


def digests() -> dict[str, str]:
    """Return the digest of every operation's answers by name."""
    found: dict[str, Any] = {}
    for name, answer in _answers():
        parts = answer if isinstance(answer, tuple) else (answer,)
        digest = found.setdefault(name, hashlib.sha256())
        for part in parts:
            digest.update(bytes_of(np.asarray(part)))
    return {name: digest.hexdigest()[:16] for name, digest in sorted(found.items())}


def bytes_of(part: np.ndarray) -> bytes:
    """The bytes of an array, its dtype and its shape."""
    if part.dtype.kind == "f":
        part = np.where(np.isnan(part), np.array(np.nan, part.dtype), part)  # a NaN has many forms
    part = np.ascontiguousarray(part, part.dtype.newbyteorder("<"))
    return f"{part.dtype.str} {part.shape}".encode() + part.tobytes()


def _answers() -> Iterator[tuple[str, Any]]:
    for seed, (groups, points, objectives) in enumerate(_SHAPES):
        rng = np.random.default_rng(seed)
        uniform = rng.random((groups, points, objectives))
        coarse = rng.integers(0, 4, uniform.shape) / 4.0
        mask = rng.random((groups, points)) < 0.8
        for values in (uniform, coarse, coarse.astype(np.float32)):
            yield from _of_batches(values, mask, rng.random(objectives) + 0.1)
        if objectives <= 5 and points <= 40:
            yield from _of_fronts(uniform, mask)
            yield from _of_fronts(coarse, mask)
    yield from _of_single_sets()


# Sizes around the widths of vectors and on both sides of each switch of algorithm.
_SHAPES = [
    *((37, points, 2) for points in (1, 2, 3, 7, 8, 9, 16, 31, 40, 100)),
    *((19, points, 3) for points in (2, 5, 8, 16, 33, 64, 90)),
    *((5, points, objectives) for points in (6, 16, 40) for objectives in (1, 4, 5, 7)),
]


def _of_batches(values: np.ndarray, mask: np.ndarray, weights: np.ndarray) -> Iterator[Any]:
    points, objectives = values.shape[1:]
    broken = values.copy()
    broken[::3, 0, 0] = np.nan
    broken[::4, -1, -1] = -np.inf
    for given in (values, broken):
        for kept in (None, mask):
            yield "pareto_rank", pp.pareto_rank(given, mask=kept)
            yield "is_nondominated", pp.is_nondominated(given, mask=kept, duplicates="first")
            for centre in ("mean", "none", "std", "loo"):
                advantages = pp.pareto_advantage(given, weights=weights, centre=centre, mask=kept)
                yield "pareto_advantage", advantages
    violation = np.maximum(values[..., 0] - 0.5, 0)
    yield "pareto_rank violation", pp.pareto_rank(values, violation=violation, n_below=2)
    yield "is_nondominated epsilon", pp.is_nondominated(values, epsilon=0.1)
    yield "crowding_distance", pp.crowding_distance(values, mask=mask)
    yield "normalise", pp.normalise(values, mask=mask)
    yield "ideal_point", pp.ideal_point(values, mask=mask)
    yield "nadir_point", pp.nadir_point(values, mask=mask)
    yield "reference_point", pp.reference_point(values, mask=mask)
    yield "knee_points", pp.knee_points(values, mask=mask)
    if points <= 40 and objectives <= 5:
        yield "hypervolume", pp.hypervolume(values, _REF, mask=mask)
        yield "hypervolume_contributions", pp.hypervolume_contributions(values, _REF, mask=mask)
        yield "hypervolume_gradient", pp.hypervolume_gradient(values, _REF, mask=mask)
    if points <= 16 and objectives <= 3:
        for k in {1, min(4, points)}:
            yield "expected_hypervolume", pp.expected_hypervolume(values, _REF, k=k, mask=mask)
            yield "hypervolume_advantage", pp.hypervolume_advantage(values, _REF, k=k, mask=mask)


def _of_fronts(values: np.ndarray, mask: np.ndarray) -> Iterator[Any]:
    """Yield the answers of operations that run only on the CPU."""
    points, objectives = values.shape[1:]
    reference, k = values[:1] + 0.125, max(points // 3, 1)
    for name in _core.INDICATORS[:5]:
        for p in (1.0, 2.0):
            yield name, getattr(pp, name)(values + 1.0, reference + 1.0, p=p, mask=mask)
    for name in ("epsilon_additive", "epsilon_multiplicative"):
        yield name, getattr(pp, name)(values + 1.0, reference + 1.0, mask=mask)
    yield "hypervolume_approx", pp.hypervolume_approx(values, _REF, samples=256, mask=mask, rng=0)
    if objectives in (2, 3):
        yield "hypervolume_hessian", tuple(pp.hypervolume_hessian(values, _REF, mask=mask))
    yield "uncrowded_contributions", pp.uncrowded_contributions(values, _REF, mask=mask)
    for method in ("greedy", "greedy_removal", *(["exact"] if objectives == 2 else [])):
        subset = pp.hypervolume_subset(values, _REF, k=k, method=method)
        yield f"hypervolume_subset {method}", subset
    yield "select crowding", pp.select(values, k=k)
    yield "select hypervolume", pp.select(values, k=k, method="hypervolume", ref=_REF)
    if objectives == 2:
        yield "r2_indicator", pp.r2_indicator(values, 1.5, mask=mask)
    if points <= 16 and objectives <= 4:
        boxes = pp.nondominated_boxes(values, _REF, mask=mask)
        yield "nondominated_boxes", tuple(boxes)
        yield "dominated_boxes", tuple(pp.dominated_boxes(values, _REF, mask=mask))
        candidates = values[:, :2] + 0.25
        yield "hypervolume_improvement", pp.hypervolume_improvement(candidates, boxes=boxes)


def _of_single_sets() -> Iterator[Any]:
    """Yield the answers of algorithms for large sets and of objects with a state."""
    rng = np.random.default_rng(99)
    for objectives in (2, 3, 4):
        cloud = rng.random((3000, objectives))
        yield "pareto_rank large", pp.pareto_rank(cloud)
        yield "is_nondominated large", pp.is_nondominated(cloud)
        front = cloud[pp.is_nondominated(cloud)]
        yield "hypervolume large", pp.hypervolume(front, 0.0)
        yield "hypervolume_contributions large", pp.hypervolume_contributions(front, 0.0)
    directions = pp.reference_directions(3, 6)
    yield "reference_directions", directions
    crowd = rng.random((80, 3))
    yield (
        "select reference_directions",
        pp.select(crowd, k=30, method="reference_directions", directions=directions, rng=3),
    )
    for objectives in (2, 3):
        runs = rng.integers(0, 12, (60, objectives)).astype(float)
        yield "attainment_surfaces", tuple(pp.attainment_surfaces(runs, np.arange(60) % 6))
    archive = pp.ParetoArchive([0.0, 0.0, 0.0])
    for point in rng.random((200, 3)):
        yield "ParetoArchive gains", archive.add(point)
    yield "ParetoArchive points", archive.points


if __name__ == "__main__":
    print(json.dumps(digests(), indent=1))
