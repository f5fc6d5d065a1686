"""The definition of each operation in plain NumPy: slow, short, and never optimised.

The tests compare every backend with these functions; the docs link to them as definitions. They
take float32 or float64 arrays of shape (..., points, objectives) and do not check arguments. A
function of a ``group`` defines the result for one set. It takes batches, and ``mask=``, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import wraps
from inspect import signature
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Maximise = bool | Sequence[bool]
Mask = Array | None


def _batched(
    extent: str, dtype: Any = np.float64, *, vectors: Sequence[str] = (), missing: float = 0
) -> Callable[[Callable[..., Any]], Callable[..., Array]]:
    """Apply a definition to the points of each set of a batch that are no padding.

    Args:
        extent: a value for each "set", "objective" or "point".
        dtype: of the result; None: that of the points.
        vectors: the names of arguments with one row for all sets, or one for each.
        missing: the value of padding, if there is one for each point.
    """

    def of_definition(definition: Callable[..., Any]) -> Callable[..., Array]:
        names = list(signature(definition).parameters)[1:]

        @wraps(definition)
        def of_batch(points: Array, *given: Any, mask: Mask = None, **named: Any) -> Array:
            named |= zip(names, given, strict=False)
            rows = {name: _corners(points, named.pop(name)) for name in vectors}
            end = {"set": (), "objective": points.shape[-1:], "point": points.shape[-2:-1]}[extent]
            sets = _sets(points, mask)
            result = np.full((len(sets), *end), missing, dtype=dtype or points.dtype)
            for place, (group, keep) in enumerate(sets):
                own = {name: each[place] for name, each in rows.items()}
                at = (place, keep) if extent == "point" else place
                result[at] = definition(group[keep], **named, **own)
            return result.reshape(points.shape[:-2] + end)

        return of_batch

    return of_definition


def pareto_rank(
    points: Array,
    *,
    maximise: Maximise = True,
    dominance: str = "weak",
    violation: Array | None = None,
    n_below: int | None = None,
    mask: Mask = None,
) -> Array:
    """Peel off the non-dominated points of each set until none is left, or enough have a rank."""

    @_batched("point", np.int32, missing=-1)
    def rank(group: Array) -> Array:
        dominates = _dominates_within(group, maximise, dominance=dominance)
        ranks = np.full(len(group), -1, dtype=np.int32)
        for front in range(len(group)):
            rivals = ranks == -1
            beaten = (dominates & rivals[:, None]).any(axis=0)
            is_enough = n_below is not None and (~rivals).sum() >= n_below
            ranks[rivals if is_enough else rivals & ~beaten] = front
        return ranks

    return rank(_append_violation(points, violation), mask=mask)


def is_nondominated(
    points: Array,
    *,
    maximise: Maximise = True,
    dominance: str = "weak",
    duplicates: str = "all",
    violation: Array | None = None,
    epsilon: float | Sequence[float] | None = None,
    duplicate_tolerance: float | Sequence[float] | None = None,
    mask: Mask = None,
) -> Array:
    """Keep the points that no other dominates; of equal points all, the first, or none.

    With boxes, keep the best point by ``_key_in_box`` in each non-dominated box. With a tolerance,
    visit the kept points in their order, and drop each that is near one kept before.
    """

    @_batched("point", np.bool_)
    def filtered(group: Array) -> Array:
        kept = np.asarray(~_dominates_within(group, maximise, dominance=dominance).any(axis=0))
        feasible = _is_feasible(group[:, -1])
        equal = _are_equal(group[:, :-1], maximise)
        as_bad = _are_equal(group[:, -1:], False) & ~feasible[:, None] & ~feasible
        repeats = (equal & feasible[:, None] & feasible) | as_bad
        first = ~(repeats & np.tri(len(group), k=-1, dtype=bool)).any(axis=1)
        if epsilon is not None:
            values = _turned(group[:, :-1], maximise)
            boxes = _boxes(values, epsilon)
            bounded = np.where(feasible[:, None], boxes, np.nan)
            beaten = np.asarray(_dominates(bounded, False).any(axis=0))
            keys = [_key_in_box(value, epsilon) for value in values]
            for i in np.flatnonzero(feasible):
                rivals = [j for j in np.flatnonzero(feasible) if _is_same(boxes[i], boxes[j])]
                best = min(rivals, key=lambda j: (keys[j], j))
                kept[i] = not beaten[i] and best == i
        if duplicates == "none":
            kept &= ~(repeats & ~np.eye(len(group), dtype=bool)).any(axis=1)
        elif duplicates == "first" or epsilon is not None:
            kept &= first
        if duplicate_tolerance is not None:
            for i in np.flatnonzero(kept):
                earlier = group[:i][kept[:i]][:, :-1]
                kept[i] = not _are_near(earlier, group[i, :-1], duplicate_tolerance).any()
        return kept

    return filtered(_append_violation(points, violation), mask=mask)


@_batched("objective", None)
def ideal_point(group: Array, *, maximise: Maximise = True) -> Array:
    """Take the best number of each objective, if there is one."""
    largest, smallest = (ufunc.reduce(group, initial=np.nan) for ufunc in (np.fmax, np.fmin))
    return np.where(maximise, largest, smallest)


@_batched("objective", None)
def nadir_point(group: Array, *, maximise: Maximise = True) -> Array:
    """Take the worst value of each objective among the non-dominated points, if there are any."""
    front = group[is_nondominated(group, maximise=maximise)]
    if len(front) == 0:
        return np.full(group.shape[1], np.nan)
    return np.where(maximise, front.min(axis=0), front.max(axis=0))


def reference_point(
    points: Array, scale: float = 0.1, *, maximise: Maximise = True, mask: Mask = None
) -> Array:
    """Move the nadir point away from the ideal point, by a part of their distance.

    The result is at least the next number, and the last finite one at most.
    """
    nadir = nadir_point(points, maximise=maximise, mask=mask)
    if scale == 0:
        return nadir
    ideal = ideal_point(points, maximise=maximise, mask=mask)
    span = np.abs(ideal - nadir)
    span[span == 0] = np.abs(nadir[span == 0])
    span[span == 0] = 1.0
    beyond = np.where(np.isinf(span), np.abs(scale * ideal - scale * nadir), scale * span)
    sign = np.where(maximise, 1, -1).astype(nadir.dtype)
    nearest = sign * np.nextafter(nadir, -sign * np.inf)
    corner = np.minimum(sign * nadir - beyond, nearest)
    last = np.where(np.isinf(nearest), corner, np.finfo(nadir.dtype).min)
    return sign * np.where(np.isinf(corner), last, corner)


def normalise(
    points: Array,
    *,
    ideal: Array | None = None,
    nadir: Array | None = None,
    maximise: Maximise = True,
    mask: Mask = None,
) -> Array:
    """Subtract the smaller of ideal and nadir point, and divide by their distance."""
    one = ideal_point(points, maximise=maximise, mask=mask) if ideal is None else ideal
    other = nadir_point(points, maximise=maximise, mask=mask) if nadir is None else nadir
    least, most = np.minimum(one, other)[..., None, :], np.maximum(one, other)[..., None, :]
    return np.asarray((points - least) / np.where(most == least, 1.0, most - least))


@_batched("point", np.bool_)
def knee_points(group: Array, *, maximise: Maximise = True) -> Array:
    """Sum each non-dominated point's distances from the ideal point, relative to the range."""
    kept = np.asarray(np.isfinite(group).all(axis=1))
    kept[kept] = is_nondominated(group[kept], maximise=maximise)
    front = group[kept]
    ideal = ideal_point(front, maximise=maximise)
    span = np.abs(nadir_point(front, maximise=maximise) - ideal)
    total = np.zeros(len(front), dtype=group.dtype)
    for m in range(group.shape[1]):
        total = total + np.abs(front[:, m] - ideal[m]) / (span[m] if span[m] > 0 else 1)
    kept[kept] = total == total.min(initial=np.inf)
    return kept


def archive(
    points: Array,
    ref: Array,
    *,
    maximise: Maximise = True,
    capacity: int | None = None,
    keep: str = "contribution",
    epsilon: float | Sequence[float] | None = None,
) -> Array:
    """Add the points one after another, and return the indices of the members."""
    members: list[int] = []
    for i in range(len(points)):
        rivals = [*members, i]
        kept = is_nondominated(
            points[rivals], maximise=maximise, duplicates="first", epsilon=epsilon
        )
        rivals = [j for j, is_kept in zip(rivals, kept, strict=True) if is_kept]
        if capacity is not None and len(rivals) > capacity:
            if keep == "contribution":
                worth = hypervolume_contributions(points[rivals], ref, maximise=maximise)
            else:
                worth = crowding_distance(-_turned(points[rivals], maximise))
            del rivals[max(np.flatnonzero(worth == worth.min()))]
        members = rivals
    return np.array(members, dtype=np.int64)


@_batched("set", vectors=["ref"])
def hypervolume(group: Array, ref: Array, *, maximise: Maximise = True) -> float:
    """Sum the cells of the grid through all coordinates that some point covers."""
    sides = _sides(group, ref, maximise)
    grid = [np.unique(np.append(column, 0.0)) for column in sides.T]
    total = 0.0
    for cell in product(*(pairwise(edges) for edges in grid)):
        upper = np.array([high for _, high in cell])
        if (sides >= upper).all(axis=1).any():
            total += float(np.prod([high - low for low, high in cell]))
    return total


@_batched("point", vectors=["ref"])
def hypervolume_contributions(
    group: Array, ref: Array, *, maximise: Maximise = True, ignore_dominated: bool = True
) -> Array:
    """Take away one point at a time; dominated ones first and for good, if they are ignored."""
    counts = np.ones(len(group), dtype=bool)
    if ignore_dominated:
        counts = is_nondominated(group, maximise=maximise)
    whole = hypervolume(group[counts], ref, maximise=maximise)
    result = np.zeros(len(group))
    for i in np.flatnonzero(counts):
        others = counts & (np.arange(len(group)) != i)
        result[i] = whole - hypervolume(group[others], ref, maximise=maximise)
    return result


def hypervolume_gradient(
    points: Array, ref: Array, *, maximise: Maximise = True, mask: Mask = None, wanted: Mask = None
) -> Array:
    """Compute, without one objective, the contribution to the points before it in that objective.

    Among equal values the earlier point is before. Points that are not wanted get 0.
    """
    signs = np.where(np.broadcast_to(np.asarray(maximise), points.shape[-1]), 1.0, -1.0)

    def facet(sides: Array, i: int, m: int) -> float:
        inside = np.asarray((sides > 0).all(axis=1))
        if not inside[i]:
            return 0.0
        earlier = np.arange(len(sides)) < i
        is_before = np.asarray(
            (sides[:, m] > sides[i, m]) | ((sides[:, m] == sides[i, m]) & earlier)
        )
        rest = np.delete(sides, m, axis=1)
        before = rest[inside & is_before]
        grown = np.concatenate([before, rest[i : i + 1]])
        corner = np.zeros(rest.shape[1])
        return float(hypervolume(grown, corner)) - float(hypervolume(before, corner))

    gradient = np.zeros(points.shape, dtype=np.float64)
    flat = gradient.reshape(math.prod(points.shape[:-2]), *points.shape[-2:])
    for out, (group, keep) in zip(flat, _sets(points, mask), strict=True):
        sides = group[keep].astype(np.float64) * signs - np.asarray(ref, dtype=np.float64) * signs
        for row, i in enumerate(np.flatnonzero(keep)):
            out[i] = [signs[m] * facet(sides, row, m) for m in range(points.shape[-1])]
    return gradient if wanted is None else np.where(np.asarray(wanted)[..., None], gradient, 0.0)


@_batched("set", vectors=["ref"])
def expected_hypervolume(group: Array, ref: Array, k: int, *, maximise: Maximise = True) -> float:
    """Take the mean hypervolume of all subsets of k points."""
    volume = _volumes_of_subsets(group, ref, maximise)
    everyone = range(len(group))
    return _mean([volume(s) for s in combinations(everyone, min(k, len(group)))])


@_batched("point", None, vectors=["ref"])
def hypervolume_advantage(group: Array, ref: Array, *, k: int = 1, centre: str = "exact") -> Array:
    """Average over subsets: a point's contribution to k - 1 others, less that of another point."""
    n, drawn = len(group), min(k, len(group))
    volume = _volumes_of_subsets(group.astype(np.float64), ref, True)
    marginal, baseline = np.zeros(n), np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        fewer = list(combinations(others, drawn - 1))
        marginal[i] = _mean([volume((*s, i)) - volume(s) for s in fewer])
        if drawn < n:
            as_many = _mean([volume(s) for s in combinations(others, drawn)])
            baseline[i] = as_many - _mean([volume(s) for s in fewer])
    if centre in ("exact", "std"):
        marginal -= baseline
    return marginal if centre in ("exact", "none") else _centred(marginal, centre)


def nondominated_boxes(
    points: Array, ref: Array, *, maximise: Maximise = True, mask: Mask = None
) -> tuple[Array, Array, Array]:
    """Take the cells of the grid through all coordinates, and beyond, that no point covers."""
    return _cells(points, ref, maximise, mask, dominated=False)


def dominated_boxes(
    points: Array, ref: Array, *, maximise: Maximise = True, mask: Mask = None
) -> tuple[Array, Array, Array]:
    """Take the cells of the grid through all coordinates that some point covers."""
    return _cells(points, ref, maximise, mask, dominated=True)


def hypervolume_improvement(
    candidates: Array, *, boxes: tuple[Array, ...], maximise: Maximise = True, mask: Mask = None
) -> Array:
    """Add up the hypervolumes of the candidates in each box, cut off at its better corner."""
    leading = np.broadcast_shapes(boxes[0].shape[:-2], candidates.shape[:-2])
    lower, upper = (np.broadcast_to(each, leading + each.shape[-2:]) for each in boxes[:2])
    points = np.broadcast_to(candidates, leading + candidates.shape[-2:]).astype(np.float64)
    keep = np.broadcast_to(True if mask is None else mask, points.shape[:-1])
    result = np.zeros(leading)
    for at in np.ndindex(leading):
        for low, high in zip(lower[at], upper[at], strict=True):
            if (low < high).all():
                cut = np.where(maximise, np.minimum(points[at], high), np.maximum(points[at], low))
                worse = np.where(maximise, low, high)
                result[at] += hypervolume(cut[keep[at]], worse, maximise=maximise)
    return result


def expected_hypervolume_improvement(
    means: Array,
    deviations: Array,
    *,
    boxes: tuple[Array, ...],
    maximise: Maximise = True,
    mask: Mask = None,
) -> Array:
    """Integrate the probability that a candidate dominates a place, over the boxes."""
    leading = np.broadcast_shapes(boxes[0].shape[:-2], means.shape[:-2])
    lower, upper = (np.broadcast_to(each, leading + each.shape[-2:]) for each in boxes[:2])
    own = np.broadcast_to(means, leading + means.shape[-2:]).astype(np.float64)
    spread = np.broadcast_to(deviations, own.shape)
    keep = np.broadcast_to(True if mask is None else mask, own.shape[:-1])
    turns = ~np.broadcast_to(maximise, own.shape[-1:])
    result = np.zeros(own.shape[:-1])
    for at in np.ndindex(result.shape):
        candidate = np.where(turns, -own[at], own[at])
        for low, high in zip(lower[at[:-1]], upper[at[:-1]], strict=True):
            worse, better = np.where(turns, -high, low), np.where(turns, -low, high)
            sides = map(_exceeded, worse, better, candidate, spread[at])
            result[at] += math.prod(sides) if keep[at] else 0.0
    return result


def _exceeded(worse: float, better: float, mean: float, deviation: float) -> float:
    """Integrate the probability that a Gaussian variable exceeds t, over t, by quadrature."""
    if not (worse < better and mean > -math.inf):
        return 0.0
    sure = min(max(mean - 10.0 * deviation, worse), better)  # it is 1 up to there
    if deviation == 0.0:
        return float(sure - worse)
    end = min(better, max(sure, mean) + 10.0 * deviation)  # and almost 0 from there on
    edges = np.linspace(sure, end, 81)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(edges)[:, None] / 2.0
    places = edges[:-1, None] + half * (1.0 + nodes)
    above = [math.erfc((t - mean) / (deviation * math.sqrt(2.0))) / 2.0 for t in places.flat]
    return float(sure - worse + (half * weights).ravel() @ above)


@_batched("point", vectors=["ref"])
def uncrowded_contributions(group: Array, ref: Array, *, maximise: Maximise = True) -> Array:
    """Take a point's contribution, or minus its distance from the nearest undominated cell."""
    lower, upper, _ = nondominated_boxes(group, ref, maximise=maximise)
    away = np.clip(group[:, None], lower, upper) - group[:, None]
    distances = np.sqrt(np.square(away).sum(axis=-1)).min(axis=1)
    contributions = hypervolume_contributions(group, ref, maximise=maximise)
    return np.where(distances > 0, -distances, contributions)


def hypervolume_subset(
    points: Array,
    ref: Array,
    *,
    k: int,
    method: str = "greedy",
    maximise: Maximise = True,
    mask: Mask = None,
) -> Array:
    """Add by largest gain, remove by smallest loss, or try all subsets; on ties the first stays.

    Each -1 stands for a point that a set does not have.
    """

    def subset(group: Array, corner: Array) -> list[int]:
        volume = _volumes_of_subsets(group, corner, maximise)
        left = list(range(len(group)))
        size = min(k, len(left))
        if method == "exact":
            best: tuple[int, ...] = max(combinations(left, size), key=volume)
            return list(best)
        if method == "greedy_removal":
            while len(left) > size:
                rest = [volume(tuple(i for i in left if i != j)) for j in left]
                left.pop(max(range(len(left)), key=lambda place: (rest[place], place)))
            return left
        chosen: list[int] = []
        while len(chosen) < size:
            others = [i for i in left if i not in chosen]
            chosen.append(max(others, key=lambda i: volume((*chosen, i))))
        return chosen

    return _each_choice(subset, points, k, mask, _corners(points, ref))


def select(
    points: Array,
    *,
    k: int,
    method: str = "crowding",
    ref: Array | float = 0.0,
    directions: Array | None = None,
    rng: int = 0,
    maximise: Maximise = True,
    mask: Mask = None,
) -> Array:
    """Take front after front; the method selects from the one that does not fit.

    Each -1 stands for a point that a set does not have.
    """
    signs = np.where(maximise, 1.0, -1.0)

    def survivors(group: Array, corner: Array) -> list[int]:
        ranks = pareto_rank(group, maximise=maximise)
        values = group.astype(np.float64) * signs
        fits = [front for front in range(len(group)) if (ranks <= front).sum() <= k]
        kept = np.flatnonzero(ranks < len(fits))
        last = np.flatnonzero(ranks == len(fits))
        wanted = min(k, len(group)) - len(kept)
        if wanted == 0:
            rows: list[int] = []
        elif method == "crowding":
            rows = np.argsort(-crowding_distance(values[last]), kind="stable")[:wanted].tolist()
        elif method == "crowding_removal":
            rows = list(range(len(last)))
            while len(rows) > wanted:
                crowds = crowding_distance(values[last[rows]])
                rows.pop(min(range(len(rows)), key=lambda place: (crowds[place], -place)))
        elif method == "hypervolume":
            chosen = hypervolume_subset(
                group[last], corner, k=wanted, method="greedy_removal", maximise=maximise
            )
            rows = chosen.tolist()
        else:
            by_front = kept[np.argsort(ranks[kept], kind="stable")]
            together = -values[np.concatenate([by_front, last, np.flatnonzero(ranks > len(fits))])]
            ends = int((ranks == 0).sum()), len(kept), len(kept) + len(last)
            rows = _niche(together, ends, wanted, np.asarray(directions), rng)
        return sorted([*kept.tolist(), *last[rows].tolist()])

    return _each_choice(survivors, points, k, mask, _corners(points, np.asarray(ref)))


@_batched("point")
def crowding_distance(group: Array) -> Array:
    """Add up, objective by objective, the gaps between the neighbours on the same front."""
    ranks = pareto_rank(group)
    result = np.zeros(len(group))
    for front in range(ranks.max(initial=-1) + 1):
        members = np.flatnonzero(ranks == front)
        for column in group[members].astype(np.float64).T:
            order = np.lexsort((members, column, ~np.isnan(column)))
            column, index = column[order], members[order]
            if len(column) > 1 and (column[0] == column[-1] or np.isnan(column[-1])):
                continue  # constant
            with np.errstate(invalid="ignore", over="ignore"):
                span = column[-1] - column[0]
            if np.isfinite(span) and span > 0:
                result[index[1:-1]] += (column[2:] - column[:-2]) / span
            result[index[[0, -1]]] = np.inf
    return result


@_batched("point", None, vectors=["weights"])
def pareto_advantage(
    group: Array, weights: Array, *, beta: float = 0.5, centre: str = "mean"
) -> Array:
    """Turn ranks and weighted rewards into advantages, each step in the rewards' own dtype."""
    scalar = group.dtype.type
    heaviest = np.abs(weights).max()
    if heaviest > 2.0**32 or 0 < heaviest < 2.0**-32:  # only proportions matter
        weights = np.ldexp(weights, -np.frexp(heaviest)[1])
    largest = scalar(
        np.finfo(scalar).max / (4.0 * len(weights) * max(1.0, float(np.abs(weights).max())))
    )
    ranks = pareto_rank(group)
    bounded = np.where(np.isnan(group), -largest, np.clip(group, -largest, largest))
    score = np.zeros(len(group), dtype=scalar)
    for weight, column in zip(weights.astype(scalar), bounded.T, strict=True):
        score = score + weight * column
    result = np.zeros(len(group), dtype=scalar)
    for front in range(ranks.max(initial=-1) + 1):
        members = ranks == front
        low, high = score[members].min(), score[members].max()
        q = (score[members] - low) / (high - low) if high > low else scalar(0.5)
        base = scalar(ranks.max() + 1 - front)
        result[members] = base + scalar(beta) * (q - scalar(0.5))
    return _centred(result, centre)


def stochastic_dominance(points: Array, sigma: float, draws: int, seed: int) -> Array:
    """Count how often one point of a set beats another everywhere under Gumbel noise."""
    rng = np.random.default_rng(seed)
    count = len(points)
    wins = np.zeros((count, count))
    for _ in range(draws):
        noisy = points + rng.gumbel(scale=sigma, size=points.shape)
        wins += (noisy[:, None] > noisy[None]).all(axis=-1)
    return wins / draws


def _centred(advantages: Array, centre: str) -> Array:
    """Statistics in double, summed in index order (np.sum adds pairwise)."""
    count = len(advantages)
    scalar = advantages.dtype.type
    if centre == "none" or count == 0:
        return advantages
    total = 0.0
    for advantage in advantages.tolist():
        total += advantage
    mean = total / count
    gaps = np.asarray(advantages - scalar(mean))
    if centre == "mean":
        return gaps
    if count == 1:
        return np.zeros_like(gaps)
    if centre == "loo":
        return np.asarray(gaps.astype(np.float64) * (count / (count - 1))).astype(scalar)
    squares = 0.0
    for advantage in advantages.tolist():
        squares += (advantage - mean) * (advantage - mean)
    deviation = np.sqrt(squares / (count - 1)) + 1e-6
    return np.asarray(gaps.astype(np.float64) / deviation).astype(scalar)


def _append_violation(points: Array, violation: Array | None) -> Array:
    """Append the total violation to the points as a last column; 0 without violations."""
    shape = points.shape[:-1]
    if violation is not None and violation.ndim == points.ndim:
        with np.errstate(over="ignore"):
            violation = sum(np.maximum(column, 0.0) for column in np.moveaxis(violation, -1, 0))
    column = np.broadcast_to(0.0 if violation is None else violation, shape)[..., None]
    return np.concatenate([points.astype(np.float64), column], axis=-1)


def _are_near(points: Array, point: Array, tolerance: float | Sequence[float]) -> Array:
    """Return which points differ by at most the tolerance in every objective; NaN is one value."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = np.abs(points - point) <= tolerance
    return np.asarray((near | (points == point) | (np.isnan(points) & np.isnan(point))).all(axis=1))


def _is_feasible(violation: Array) -> Array:
    return np.asarray(violation <= 0)


def _dominates_within(group: Array, maximise: Maximise, *, dominance: str = "weak") -> Array:
    """Return [a, b]: a dominates b under constraints, whose violations are the last column."""
    feasible = _is_feasible(group[:, -1])
    points = group[:, :-1]
    better = (
        _better(points, maximise).all(axis=-1)
        if dominance == "strict"
        else _dominates(points, maximise)
    )
    by_points = better & feasible[:, None] & feasible
    by_violation = _dominates(group[:, -1:], False) & ~feasible[:, None] & ~feasible
    return np.asarray(by_points | by_violation | (feasible[:, None] & ~feasible))


def _turned(group: Array, maximise: Maximise) -> Array:
    """Smaller is better; one zero."""
    return np.asarray(np.where(maximise, -1.0, 1.0) * group + 0.0)


def _in_box(value: float, side: float) -> tuple[float, float, float]:
    """The number of the box, the value where it is a box of its own, and the part of a side.

    A value has a box of its own if the gap between neighbouring floats exceeds the side.
    """
    place = value / side
    if abs(place) >= 2.0**53:
        return math.copysign(2.0**53, value), value, 0.0
    if math.isnan(place):
        return place, 0.0, place
    box = -1 if value < 0 and place == 0 else math.floor(place)
    return float(box), 0.0, place - box


def _places(value: Array, epsilon: float | Sequence[float]) -> list[tuple[float, float, float]]:
    sides = np.broadcast_to(np.asarray(epsilon, dtype=np.float64), value.shape)
    return [_in_box(each, side) for each, side in zip(value.tolist(), sides.tolist(), strict=True)]


def _boxes(values: Array, epsilon: float | Sequence[float]) -> Array:
    """Return two numbers for each objective. Neither decreases as the value grows."""
    width = 2 * values.shape[-1]
    boxes = [
        [each for box, own, _ in _places(row, epsilon) for each in (box, own)] for row in values
    ]
    return np.array(boxes, dtype=np.float64).reshape(-1, width)


def _key_in_box(value: Array, epsilon: float | Sequence[float]) -> tuple[float, ...]:
    """Return the distance from the best corner, then the values; NaN is worse than every number."""
    distance = 0.0
    for _, _, part in _places(value, epsilon):
        distance += part * part
    numbers = (distance, *value.tolist())
    return tuple(
        part
        for number in numbers
        for part in (float(math.isnan(number)), 0.0 if math.isnan(number) else number)
    )


def _is_same(a: Array, b: Array) -> bool:
    return bool(np.array_equal(a, b, equal_nan=True))


def _are_equal(group: Array, maximise: Maximise) -> Array:
    """Return [a, b]: neither is better than the other in any objective."""
    better = _better(group, maximise).any(axis=-1)
    return np.asarray(~better & ~better.T)


def _better(group: Array, maximise: Maximise) -> Array:
    """Return [a, b, m]: a is better than b in objective m. NaN is worse than every number."""
    a, b = group[:, None], group[None]
    return np.asarray(np.where(maximise, a > b, a < b) | (~np.isnan(a) & np.isnan(b)))


def _dominates(group: Array, maximise: Maximise) -> Array:
    """Return [a, b]: a is at least as good as b in every objective, and better in one."""
    better = _better(group, maximise).any(axis=-1)
    return np.asarray(better & ~better.T)


def _sides(group: Array, ref: Array, maximise: Maximise) -> Array:
    """Return the distances from the reference of the points that are better in every objective."""
    signs = np.where(maximise, 1.0, -1.0)
    sides = group.astype(np.float64) * signs - np.asarray(ref, dtype=np.float64) * signs
    return np.asarray(sides[(sides > 0).all(axis=1)])


def _cells(
    points: Array, ref: Array, maximise: Maximise, mask: Mask, *, dominated: bool
) -> tuple[Array, Array, Array]:
    """Corners of cells of each set, padded by boxes of no volume at the reference, and counts."""
    objectives = points.shape[-1]
    signs = np.where(maximise, 1.0, -1.0)
    found: list[list[tuple[Array, Array]]] = []
    corners = _corners(points, ref)
    for (group, keep), corner in zip(_sets(points, mask), corners, strict=True):
        values, worst = group[keep].astype(np.float64) * signs, corner * signs
        values = values[(values > worst).all(axis=1)]
        grid = [
            np.unique([*column, low, np.inf]) for column, low in zip(values.T, worst, strict=True)
        ]
        boxes = []
        for cell in product(*(pairwise(edges) for edges in grid)):
            low, high = np.array(cell).T
            if (values >= high).all(axis=1).any() == dominated:
                ends = low * signs, high * signs
                boxes.append((np.minimum(*ends), np.maximum(*ends)))
        found.append(boxes)
    padded = max((len(cells) for cells in found), default=0)
    both = np.empty((2, len(found), padded, objectives))
    for out, cells, corner in zip(both.swapaxes(0, 1), found, corners, strict=True):
        out[:] = corner
        for b, box in enumerate(cells):
            out[:, b] = box
    leading = points.shape[:-2]
    shape = (*leading, padded, objectives)
    counts = np.array([len(cells) for cells in found], dtype=np.int64).reshape(leading)
    return both[0].reshape(shape), both[1].reshape(shape), counts


def indicator(
    name: str,
    points: Array,
    others: Array,
    *,
    p: float = 1.0,
    maximise: Maximise = True,
    mask: Mask = None,
    target_mask: Mask = None,
) -> Array:
    """Compare every point with every target point, by the indicator of this name."""
    signs = np.where(maximise, -1.0, 1.0)

    def gaps(rows: Array, references: Array) -> Array:
        """Compute the gap between each row (first axis) and each target point."""
        a, r = rows[:, None].astype(np.float64), references[None].astype(np.float64)
        if name == "epsilon_multiplicative":
            return np.asarray(np.where(signs > 0, a / r, r / a).max(axis=-1))
        worse = signs * a - signs * r
        if name == "epsilon_additive":
            return np.asarray(worse.max(axis=-1))
        if name.endswith("_plus"):
            worse = np.maximum(worse, 0.0)
        return np.asarray(np.hypot.reduce(worse, axis=-1))

    def mean(distances: Array) -> float:
        if distances.size == 0:
            return math.nan
        largest = float(distances.max())
        if math.isinf(p) or name.startswith("epsilon") or largest in (0, math.inf):
            return largest
        return float(largest * ((distances / largest) ** p).mean() ** (1 / p))

    leading = np.broadcast_shapes(points.shape[:-2], others.shape[:-2])

    def sets(values: Array, keep: Array | None) -> list[tuple[Array, Array]]:
        keep = np.broadcast_to(True if keep is None else keep, values.shape[:-1])
        shape = (*leading, *values.shape[-2:])
        return _sets(np.broadcast_to(values, shape), np.broadcast_to(keep, shape[:-1]))

    found = []
    for (group, keep), (other, kept) in zip(
        sets(points, mask), sets(others, target_mask), strict=True
    ):
        distances = gaps(group[keep], other[kept])
        forth = mean(distances.min(axis=1))
        back = mean(distances.min(axis=0, initial=math.inf))
        if name == "average_hausdorff_distance":
            found.append(np.fmax(forth, back))
        else:
            found.append(forth if name.startswith("generational_distance") else back)
    return np.array(found, dtype=np.float64).reshape(leading)


@_batched("set", vectors=["ideal"])
def r2_indicator(
    group: Array, ideal: Array, weights: Array | None, *, maximise: Maximise = True
) -> float:
    """Take the mean over weight vectors of the least weighted Tchebycheff distance from ideal.

    None stands for all weights of two objectives, between 0 and 1 for the first.
    """
    signs = np.where(maximise, -1.0, 1.0)
    if weights is None:
        return _mean_over_all_weights((group * signs).tolist(), (ideal * signs).tolist())
    gap = np.maximum(signs * group.astype(np.float64) - signs * ideal, 0.0)
    utilities = (weights[:, None] * gap).max(axis=-1)
    return float(utilities.min(axis=1, initial=math.inf).mean())


def _mean_over_all_weights(values: list[list[float]], ideal: list[float]) -> float:
    """Integrate the least max(w u, (1 - w) v) over w in 0..1, between all crossings of lines."""
    gaps = [
        [max(Fraction(x) - Fraction(i), Fraction(0)) for x, i in zip(row, ideal, strict=True)]
        for row in values
    ]
    if not gaps:
        return math.inf
    lines = [line for u, v in gaps for line in ((u, Fraction(0)), (-v, v))]  # slope, start
    ends = {Fraction(0), Fraction(1)}
    for (slope, start), (other, start_of_other) in combinations(lines, 2):
        if slope != other and 0 < (at := (start_of_other - start) / (slope - other)) < 1:
            ends.add(at)
    least = {w: min(max(w * u, (1 - w) * v) for u, v in gaps) for w in ends}
    return float(sum((b - a) * (least[a] + least[b]) / 2 for a, b in pairwise(sorted(ends))))


def attainment_surfaces(
    points: Array, sets: Array, *, maximise: Maximise = True
) -> list[tuple[int, tuple[float, ...]]]:
    """Find the grid locations with as many attaining runs as no better location.

    Returns pairs of a number of runs and a corner of the surface of that number.
    """
    signs = np.where(maximise, -1.0, 1.0)
    values = points.astype(np.float64) * signs
    places = np.array(list(product(*(np.unique(column) for column in values.T))))
    reaches = (values[:, None] <= places).all(axis=-1)
    runs = np.unique(sets)
    counts = np.sum([reaches[sets == run].any(axis=0) for run in runs], axis=0)
    found = []
    for level in range(1, len(runs) + 1):
        attained = places[counts >= level]
        kept = is_nondominated(attained, maximise=False)
        found += [(level, tuple(float(v) for v in row * signs + 0.0)) for row in attained[kept]]
    return found


def weighted_hypervolume(
    points: Array,
    ref: Array,
    *,
    boxes: tuple[Array, Array],
    weights: Array,
    maximise: Maximise = True,
    mask: Mask = None,
) -> Array:
    """Sum, over boxes, the weighted hypervolume of the points cut off at the box."""
    total = np.zeros(points.shape[:-2])
    for lower, upper, weight in zip(*boxes, weights, strict=True):
        worse = np.where(maximise, np.maximum(lower, ref), np.minimum(upper, ref))
        better = np.where(maximise, upper, lower)
        if ((worse < better) != maximise).any():
            continue  # not better than the reference
        cut = np.where(maximise, np.minimum(points, better), np.maximum(points, better))
        total = total + weight * hypervolume(cut, worse, maximise=maximise, mask=mask)
    return np.asarray(total)


def _niche(
    values: Array, ends: tuple[int, int, int], wanted: int, directions: Array, seed: int
) -> list[int]:
    """Fill the emptiest niches with rows of the front that is cut; smaller is better.

    The first front ends at the first of `ends`, the fronts that fit at the second, the front that
    is cut at the third. Niches are normalised by the extreme points of the first front.
    """
    leading, kept, end = ends
    values = values * 0.5 - (values * 0.5).min(axis=0)
    worst = values.max(axis=0)
    aside = np.where(np.eye(values.shape[1], dtype=bool), 1.0, 1e6)
    extremes = [int((values[:leading] * weights).max(axis=1).argmin()) for weights in aside]
    span = values[:leading].max(axis=0)
    with np.errstate(all="ignore"):
        try:
            if len(np.unique(values[extremes], axis=0)) < len(worst):
                raise np.linalg.LinAlgError  # which the rounding of a solution can hide
            plane = np.linalg.solve(values[extremes], np.ones(len(worst)))
            is_plane = bool((abs(values[extremes] @ plane - 1) <= 1e-5).all())
            if is_plane and (1 / plane > 1e-6 * worst).all():
                span = 1 / plane
        except np.linalg.LinAlgError:
            pass
    span = np.where((span > 1e-6 * worst) & (span <= worst), span, worst)
    values = values[:end] / np.where(span == 0, 1.0, span)

    units = directions / np.sqrt(_squares(directions))[:, None]
    along = np.zeros((len(values), len(units)))
    for m in range(values.shape[1]):
        along += values[:, m, None] * units[:, m]
    distances = _squares(values[:, None] - along[..., None] * units)
    niches = distances.argmin(axis=1)
    members = np.bincount(niches[:kept], minlength=len(units))
    left = list(range(kept, len(values)))
    draws = _draws(seed)
    rows: list[int] = []
    while len(rows) < wanted:
        open_niches = sorted({int(niches[i]) for i in left})
        fewest = min(members[niche] for niche in open_niches)
        emptiest = [niche for niche in open_niches if members[niche] == fewest]
        niche = emptiest[draws(len(emptiest))]
        candidates = [i for i in left if niches[i] == niche]
        if fewest == 0:
            row = min(candidates, key=lambda i: distances[i, niche])
        else:
            row = candidates[draws(len(candidates))]
        members[niche] += 1
        left.remove(row)
        rows.append(row - kept)
    return rows


def _draws(seed: int) -> Callable[[int], int]:
    """Draw one of 0..count-1 by splitmix64; with count 1, draw no number."""
    state, words = seed, 2**64

    def draw(count: int) -> int:
        nonlocal state
        if count == 1:
            return 0
        state = (state + 0x9E3779B97F4A7C15) % words
        bits = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 % words
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % words
        bits ^= bits >> 31
        return ((bits >> 32) * count) >> 32

    return draw


def _squares(rows: Array) -> Array:
    """Sum the squares over the last axis, one after the other."""
    total = np.zeros(rows.shape[:-1])
    for m in range(rows.shape[-1]):
        total += rows[..., m] * rows[..., m]
    return total


def _each_choice(
    choose: Callable[[Array, Array], list[int]], points: Array, k: int, mask: Mask, corners: Array
) -> Array:
    """Choose k points of each set by their indices, padded with -1 if fewer are present."""
    result = np.full((math.prod(points.shape[:-2]), k), -1, dtype=np.int64)
    for out, (group, keep), corner in zip(result, _sets(points, mask), corners, strict=True):
        rows = choose(group[keep], corner)
        out[: len(rows)] = np.flatnonzero(keep)[rows]
    return result.reshape(*points.shape[:-2], k)


def _volumes_of_subsets(
    group: Array, ref: Array, maximise: Maximise
) -> Callable[[tuple[int, ...]], float]:
    """Return a function for the hypervolume of points by index; it computes each subset once."""
    known: dict[tuple[int, ...], float] = {}

    def volume(subset: tuple[int, ...]) -> float:
        key = tuple(sorted(subset))
        if key not in known:
            known[key] = float(hypervolume(group[list(key)], ref, maximise=maximise))
        return known[key]

    return volume


def _mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _corners(points: Array, ref: Array) -> Array:
    """One reference point for each set."""
    shape = (*points.shape[:-2], points.shape[-1])
    corners = np.broadcast_to(np.asarray(ref, dtype=np.float64), shape)
    return corners.reshape(math.prod(points.shape[:-2]), points.shape[-1])


def _sets(points: Array, mask: Mask) -> list[tuple[Array, Array]]:
    """List the points of each set, and the mask of the present ones."""
    count = math.prod(points.shape[:-2])
    masks = np.broadcast_to(True if mask is None else mask, points.shape[:-1])
    groups = points.reshape(count, *points.shape[-2:])
    return list(zip(groups, masks.reshape(count, points.shape[-2]), strict=True))
