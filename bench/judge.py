"""Compute the correct answer to a case, and compare an answer with it.

The definitions in NumPy judge small sets. For large sets, the judge is a peer that shares no code
with this package: moocore, and from 6 objectives the code of WFG's authors, which is fast there.
No peer has advantages, so their formulas in NumPy judge them. Some peers combine these formulas
with their own ranks, as a user would without this package.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import paretopo_core as pp
from bench.cases import (
    BETA,
    BOXED,
    DEVIATION,
    DIVISIONS,
    DRAWN,
    EPSILON,
    NEWCOMERS,
    REFERENCE_INDICATORS,
    SELECTIONS,
    SUBSETS,
    Case,
)
from bench.workloads import FRONTS, Array
from paretopo_core import definitions

_SMALL = 300  # points whose pairs the definition may compare
_CHUNK = 20_000  # groups compared at a time
_MOST_AT_ONCE = 30_000_000  # booleans: who attains which cell
_PLACES = 500  # where boxes are looked at
_RUNS_EACH = 2  # algorithms whose attainment is compared: the runs are halved
_EXACT = (  # whatever is a choice
    "is_nondominated",
    "is_nondominated_strict",
    "epsilon_boxes",
    "knee_points",
    "archive_bounded",
    "archive_members",
    *SELECTIONS,
)
_SWEPT = 3  # objectives up to which contributions are no differences


class NoJudge(Exception):
    """Nothing installed can tell the right answer."""


def solve(case: Case) -> Array:
    """Compute the right answer to a case.

    Raises:
        NoJudge: it takes a peer that is not installed.
    """
    return np.asarray(_SOLVERS[case.task](case))


def find_error(case: Case, answer: Any, right: Array) -> str | None:
    """Compare an answer with the right one; return how they differ, or None.

    Ranks and filters must agree exactly. Hypervolumes may differ by 1e-9 of their size, gradients,
    crowding distances and expected improvements by 1e-9 of their largest possible value.
    Contributions may differ by 1e-6 of their own size and by 2e-8 of the largest possible
    contribution, because several peers compute them as differences or truncate them there. Gains of
    an archive may differ by 1e-12 of the largest possible gain, advantages by float32 rounding.
    Boxes must have the correct volume to 1e-9 and contain each of some test points the correct
    number of times. Subsets must have the correct volume to 1e-9, and survivors must be the correct
    ones. Indicators may differ by 1e-6, the error of distances by scalar products; attainment
    surfaces by rounding; estimated hypervolumes by 1 in 50.
    """
    got = np.asarray(answer)
    if case.task in BOXED:
        if got.ndim != 3 or (len(got), got.shape[-1]) != (2, case.objectives):
            return f"shape {got.shape} instead of (2, boxes, {case.objectives})"
        got = _look_at(case, got)
    if case.task in SUBSETS and got.shape == (case.kept,):
        got = _measure_subset(case, got)
    if case.task in SELECTIONS:
        got = np.sort(got, axis=0)
    if got.shape != right.shape:
        return f"shape {got.shape} instead of {right.shape}"
    if case.task in _EXACT or case.task.startswith("pareto_rank"):
        differs = got != right
    elif case.task in ("hypervolume", "weighted_hypervolume", *SUBSETS):
        differs = ~(np.abs(got - right) <= 1e-9 * np.abs(right))
    elif case.task.startswith("hypervolume_gradient") or case.task in (
        *BOXED,
        "crowding_distance",
        "expected_hypervolume_improvement",
        "normalise",
    ):
        with np.errstate(invalid="ignore"):  # the ends of a front are infinitely far apart
            is_close = np.abs(got - right) <= 1e-9 * (1 + np.abs(right))
        differs = ~((got == right) | is_close)
    elif case.task in (*REFERENCE_INDICATORS, "r2"):
        differs = ~(np.abs(got - right) <= 1e-6 * np.abs(right))
    elif case.task == "hypervolume_approx":
        differs = ~(np.abs(got - right) <= 0.02 * right)
    elif case.task in ("eaf", "eafdiff"):
        got, right = (rows[np.lexsort(rows.T[::-1].round(9))] for rows in (got, right))
        differs = ~(np.abs(got - right) <= 1e-12)
    elif case.task == "pareto_advantage":
        differs = ~(np.abs(got - right) <= 2e-4)
    else:
        part = 1e-12 if case.task == "archive_add" else 2e-8
        scale = float(np.prod(case.ref))
        differs = ~(np.abs(got - right) <= 1e-6 * np.abs(right) + part * scale)
    if not differs.any():
        return None
    at = tuple(int(i) for i in np.argwhere(differs)[0])
    return f"{int(differs.sum())} of {differs.size} differ, at {list(at)} {got[at]} != {right[at]}"


def rank_groups(groups: Array) -> Array:
    """Peel the fronts of equally large groups, all groups at once; smaller is better."""
    return np.concatenate(
        [_peel(groups[start : start + _CHUNK]) for start in range(0, len(groups), _CHUNK)]
    )


def compute_advantages(ranks: Array, rewards: Array, weights: Array) -> Array:
    """Turn ranks into centred advantages, by the formula, for all groups at once."""
    score = rewards @ weights.astype(rewards.dtype)
    inside = np.full_like(score, 0.5)
    for front in range(int(ranks.max()) + 1):
        members = ranks == front
        low = np.where(members, score, np.inf).min(axis=1, keepdims=True)
        high = np.where(members, score, -np.inf).max(axis=1, keepdims=True)
        spread = members & (high > low)
        span = np.where(high > low, high - low, 1)
        low = np.where(np.isfinite(low), low, 0)
        inside = np.where(spread, (score - low) / span, inside)
    raw = ranks.max(axis=1, keepdims=True) + 1 - ranks + BETA * (inside - 0.5)
    return np.asarray(raw - raw.mean(axis=1, keepdims=True))


def compute_hypervolume_advantages(sides: Array, k: int) -> Array:
    """Compute the advantages of HV@k, shape (groups, points), some groups at a time.

    Args:
        sides: shape (groups, points, objectives), distances from the reference, none negative.
        k: how many are drawn; all points, if these are fewer.

    By the two integrals of the marginal and of its baseline: every cell of the grid through all
    points against every point.
    """
    _, points, objectives = sides.shape
    many = max(1, _MOST_AT_ONCE // points ** (objectives + 1))
    return np.concatenate(
        [_integrate(sides[start : start + many], k) for start in range(0, len(sides), many)]
    )


def _integrate(sides: Array, k: int) -> Array:
    groups, n, objectives = sides.shape
    grid = np.sort(sides, axis=1)
    edges = np.concatenate([np.zeros_like(grid[:, :1]), grid], axis=1)
    volume = np.ones((groups, 1))
    attained = np.ones((groups, n, 1), dtype=bool)  # does point i attain the cell?
    for m in range(objectives):
        width = np.diff(edges[..., m], axis=1)
        volume = (volume[:, :, None] * width[:, None]).reshape(groups, -1)
        reaches = sides[:, :, None, m] >= grid[:, None, :, m]
        attained = (attained[..., None] & reaches[:, :, None]).reshape(groups, n, -1)
    others = attained.sum(axis=1, keepdims=True, dtype=np.int8) - attained
    density = _chances_to_miss(n - 1, min(k, n) - 1)[others]
    density = density * (attained if k >= n else attained - 1.0)
    if k < n:  # minus the gain of one more draw
        density += _chances_to_miss(n - 1, k)[others]
    return np.asarray(np.einsum("gic,gc->gi", density, volume))


def _chances_to_miss(n: int, k: int) -> Array:
    """For c from 0 to n, the chance that k draws of n miss all of c."""
    return np.array([math.comb(n - c, k) / math.comb(n, k) for c in range(n + 1)])


def _peel(groups: Array) -> Array:
    a, b = groups[:, :, None], groups[:, None]
    dominates = (a <= b).all(axis=-1) & (a < b).any(axis=-1)
    ranks = np.full(groups.shape[:2], -1, dtype=np.int32)
    for front in range(groups.shape[1]):
        left = ranks == -1
        if not left.any():
            break
        dominated = (dominates & left[:, :, None]).any(axis=1)
        ranks[left & ~dominated] = front
    return ranks


def _solve_ranks(case: Case) -> Any:
    if case.groups and case.mask is None:
        return rank_groups(case.doubles)
    if not case.groups and case.points <= _SMALL:
        return definitions.pareto_rank(case.doubles, maximise=False)
    found = _solve_each(case, _import_first("moocore").pareto_rank)
    if case.mask is None:
        return found
    ranks = np.full(case.mask.shape, -1)
    ranks[case.mask] = np.concatenate(list(found))
    return ranks


def _solve_constrained_ranks(case: Case) -> Any:
    is_feasible = case.violation <= 0
    ranks = np.empty(case.points, dtype=np.int64)
    ranks[is_feasible] = _import_first("moocore").pareto_rank(case.doubles[is_feasible])
    others = np.unique(case.violation[~is_feasible], return_inverse=True)[1]
    ranks[~is_feasible] = ranks[is_feasible].max(initial=-1) + 1 + others
    return ranks


def _solve_first_ranks(case: Case) -> Any:
    ranks = _import_first("moocore").pareto_rank(case.doubles)
    return np.minimum(ranks, np.sort(ranks)[case.first - 1] + 1)


def _solve_filter(case: Case) -> Any:
    if case.groups and case.mask is None:
        return rank_groups(case.doubles) == 0
    if not case.groups and case.points <= _SMALL:
        return definitions.is_nondominated(case.doubles, maximise=False)
    moocore = _import_first("moocore")
    return _solve_each(case, lambda points: moocore.is_nondominated(points, keep_weakly=True))


def _solve_hypervolume(case: Case) -> Any:
    few = case.objectives < 6
    peer = _import_first("moocore") if few else _import_first("hvwfg", "pygmo", "moocore")
    if peer.__name__ == "hvwfg":
        return _solve_each(case, lambda points: peer.wfg(points, case.ref))
    if peer.__name__ == "pygmo":
        return _solve_each(case, lambda points: peer.hypervolume(points).compute(case.ref))
    return _solve_each(case, lambda points: peer.hypervolume(points, ref=case.ref))


def _solve_contributions(case: Case) -> Any:
    few = case.objectives < 4
    peer = _import_first("moocore") if few else _import_first("pygmo", "moocore")
    if peer.__name__ == "pygmo":
        return _solve_each(case, lambda points: peer.hypervolume(points).contributions(case.ref))
    return _solve_each(case, lambda points: peer.hv_contributions(points, ref=case.ref))


def _solve_advantage(case: Case) -> Any:
    groups = case.doubles if case.groups else case.doubles[None]
    found = compute_advantages(rank_groups(groups), -groups, case.weights)
    return found if case.groups else found[0]


def _solve_hypervolume_advantage(case: Case) -> Any:
    if case.mask is None:
        sides = (case.ref - case.doubles).reshape(-1, case.points, case.objectives)
        return compute_hypervolume_advantages(sides, DRAWN).reshape(case.data.shape[:-1])
    found = np.zeros(case.mask.shape)
    for g, points in enumerate(case.sets):
        sides = (case.ref - points)[None]
        found[g, : len(points)] = compute_hypervolume_advantages(sides, DRAWN)[0]
    return found


def _solve_gradient(case: Case) -> Any:
    """Leave out one objective: there a point adds its slope to those that come before it.

    No two points may have the same value.
    """
    contribute = _import_first("moocore").hv_contributions
    slopes = np.empty(case.data.shape)
    for m in range(case.objectives):
        order = np.argsort(case.doubles[:, m])
        rest, ref = np.delete(case.doubles[order], m, axis=1), np.delete(case.ref, m)
        if case.objectives == 2:
            least = np.minimum.accumulate(np.concatenate([ref, rest[:, 0]]))
            slopes[order, m] = np.diff(least)
        else:
            slopes[order, m] = [
                -contribute(rest[:count], ref=ref, ignore_dominated=False)[-1]
                for count in range(1, len(rest) + 1)
            ]
    return slopes


def _solve_gradient_of_few(case: Case) -> Any:
    return _solve_gradient(case) * case.wanted[:, None]


def _look_at(case: Case, boxes: Array) -> Array:
    """Their volume above 0, where all data are, then how many of them hold each place."""
    lower, upper = np.maximum(boxes, 0.0)
    places = _places(case)[:, None]
    held = ((lower < places) & (places < upper)).all(axis=-1).sum(axis=-1)
    return np.concatenate([[(upper - lower).prod(axis=-1).sum()], held])


def _places(case: Case) -> Array:
    rng = np.random.default_rng((case.points, case.objectives))
    return np.asarray(rng.random((_PLACES, case.objectives)) * case.ref)


def _solve_nondominated_boxes(case: Case) -> Any:
    dominated = _solve_dominated_boxes(case)
    return np.concatenate([[case.ref.prod() - dominated[0]], 1.0 - dominated[1:]])


def _solve_dominated_boxes(case: Case) -> Array:
    is_below = (case.doubles[:, None] <= _places(case)).all(axis=-1).any(axis=0)
    volume = _import_first("moocore").hypervolume(case.doubles, ref=case.ref)
    return np.concatenate([[volume], is_below])


def _solve_improvement(case: Case) -> Any:
    measure = partial(_import_first("moocore").hypervolume, ref=case.ref)
    front, candidates = case.doubles[: case.points], case.doubles[case.points :]
    return [measure(np.vstack([front, each])) - measure(front) for each in candidates]


def _solve_expected_improvement(case: Case) -> Any:
    """Add up differences of expectations; the task ``nondominated_boxes`` judges the boxes."""
    front, means = -case.doubles[: case.points], -case.doubles[case.points :, None]
    lower, upper, _ = pp.nondominated_boxes(front, -case.ref)

    def exceed(start: Array) -> Array:
        gap = means - np.where(np.isinf(start), 0.0, start)
        z = gap / DEVIATION
        above = np.vectorize(math.erfc)(-z / math.sqrt(2.0)) / 2.0
        mean = DEVIATION * np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi) + gap * above
        return np.where(np.isinf(start), 0.0, mean)

    return (exceed(lower) - exceed(upper)).prod(axis=-1).sum(axis=-1)


def _solve_indicator(case: Case) -> Any:
    return definitions.indicator(
        REFERENCE_INDICATORS[case.task], case.front, case.reference_set, maximise=False
    )


def _solve_r2(case: Case) -> Any:
    if case.objectives == 2:
        return _import_first("moocore").r2_exact(case.doubles, ref=np.zeros(2))
    steps = range(DIVISIONS + 1)
    lattice = [row for row in product(steps, repeat=case.objectives) if sum(row) == DIVISIONS]
    weights = np.array(lattice) / DIVISIONS
    return definitions.r2_indicator(
        case.doubles, np.zeros(case.objectives), weights, maximise=False
    )


def _solve_attainment(case: Case) -> Any:
    return _import_first("moocore").eaf(case.doubles, case.runs)


def halve_runs(case: Case) -> tuple[Array, Array]:
    """Split the runs between two algorithms; the last column of each result is the run."""
    rows = np.column_stack([case.doubles, case.runs])
    is_first = case.runs < (case.runs.max() + 1) // _RUNS_EACH
    return rows[is_first], rows[~is_first]


def _solve_difference(case: Case) -> Any:
    return _import_first("moocore").eafdiff(*halve_runs(case))


def _solve_weighted(case: Case) -> Any:
    """Add up the weighted volumes in the boxes, with the points clipped to each box."""
    measure = _import_first("moocore").hypervolume
    boxes = np.split(case.rectangles, [2, 4], axis=1)
    return sum(
        weight * measure(np.maximum(case.doubles, low), ref=high)
        for low, high, (weight,) in zip(*boxes, strict=True)
    )


def _solve_strict(case: Case) -> Any:
    points = case.doubles
    return np.array([not (points < each).all(axis=1).any() for each in points])


def _solve_boxes_of_filter(case: Case) -> Any:
    """Keep the best point of each box, then the non-dominated boxes."""
    best: dict[tuple[float, ...], tuple[Any, int]] = {}
    for i, point in enumerate(case.doubles):
        places = point / EPSILON
        box = np.floor(places)
        key = (float(np.square(places - box).sum()), *point.tolist())
        best[tuple(box)] = min(best.get(tuple(box), (key, i)), (key, i))
    kept = _import_first("moocore").is_nondominated(np.array(list(best)))
    chosen = np.zeros(case.points, dtype=bool)
    chosen[[i for (_, i), is_kept in zip(best.values(), kept, strict=True) if is_kept]] = True
    return chosen


def scale_by_front(case: Case) -> Array:
    """Move the range of the non-dominated points to 0..1."""
    moocore = _import_first("moocore")
    front = moocore.filter_dominated(case.doubles)
    low, high = front.min(axis=0), front.max(axis=0)
    return np.asarray(moocore.normalise(case.doubles, lower=low, upper=high))


def find_knee(case: Case) -> Array:
    """Find the non-dominated point with the smallest sum after scaling."""
    kept = _import_first("moocore").is_nondominated(case.doubles, keep_weakly=True)
    total = np.where(kept, scale_by_front(case).sum(axis=1), np.inf)
    return np.asarray(total == total.min())


def bound_archive(case: Case) -> Array:
    """Add the points one by one, dropping the least contributor; return the indices of the rest."""
    moocore = _import_first("moocore")
    left = np.arange(case.points)
    for i in range(case.points, len(case.doubles)):
        left = np.append(left, i)
        left = left[moocore.is_nondominated(case.doubles[left])]
        if len(left) > case.points:
            contributions = moocore.hv_contributions(case.doubles[left], ref=case.ref)
            left = np.delete(left, np.argmin(contributions))
    return left


def _measure_subset(case: Case, chosen: Array) -> Array:
    """Measure the volume of a subset, given by indices; NaN if the indices are invalid."""
    is_subset = chosen.dtype.kind in "iu" and len(set(chosen.tolist()) & set(range(case.points)))
    if is_subset != len(chosen):
        return np.array([np.nan])
    return np.array([_import_first("moocore").hypervolume(case.doubles[chosen], ref=case.ref)])


def _solve_greedy_subset(case: Case) -> Array:
    measure = partial(_import_first("moocore").hypervolume, ref=case.ref)
    chosen: list[int] = []
    left = list(range(case.points))
    while len(chosen) < case.kept:
        volumes = [measure(case.doubles[[*chosen, i]]) for i in left]
        chosen.append(left.pop(int(np.argmax(volumes))))
    return _measure_subset(case, np.array(chosen))


def _solve_removal_subset(case: Case) -> Array:
    return _measure_subset(case, remove_least(case))


def remove_least(case: Case) -> Array:
    """Take the least contributor out of a front, again and again."""
    contribute = partial(_import_first("moocore").hv_contributions, ref=case.ref)
    left = np.arange(case.points)
    while len(left) > case.kept:
        left = np.delete(left, np.argmin(contribute(case.doubles[left])))
    return left


def _solve_exact_subset(case: Case) -> Array:
    return _measure_subset(case, find_best_subset(case.doubles, case.ref, case.kept))


def find_best_subset(front: Array, ref: Array, k: int) -> Array:
    """Find the subset of a front of two objectives with the largest hypervolume.

    Dynamic programming over the size of the subset and its last point: O(k · n²).
    """
    order = np.argsort(-front[:, 0])
    x, y = (ref - front[order]).T
    more = np.where(np.tri(len(x), k=-1, dtype=bool), (x[:, None] - x) * y[:, None], -np.inf)
    best, choices = x * y, []
    for _ in range(k - 1):
        volumes = best + more
        choices.append(volumes.argmax(axis=1))
        best = volumes.max(axis=1)
    chosen = [int(best.argmax())]
    for choice in reversed(choices):
        chosen.append(int(choice[chosen[-1]]))
    return np.asarray(order[chosen])


def _solve_selection(case: Case) -> Array:
    """Keep the points with the largest distances, computed once or after each removal."""
    left = np.arange(case.points)
    while len(left) > case.kept:
        distances = crowd(case.doubles[left], np.zeros(len(left), dtype=int))
        steps = 1 if case.task == "select_crowding_removal" else len(left) - case.kept
        left = np.delete(left, np.argsort(distances)[:steps])
    return left


def _solve_crowding(case: Case) -> Any:
    rank = _import_first("moocore").pareto_rank
    return _solve_each(case, lambda points: crowd(points, rank(points)))


def crowd(points: Array, ranks: Array) -> Array:
    """Compute crowding distances on each front; no two points may share a value."""
    distances = np.zeros(len(points))
    for front in range(int(ranks.max()) + 1):
        members = np.flatnonzero(ranks == front)
        for m in range(points.shape[1]):
            order = members[np.argsort(points[members, m])]
            values = points[order, m]
            distances[order[1:-1]] += (values[2:] - values[:-2]) / (values[-1] - values[0])
            distances[order[[0, -1]]] = np.inf
    return distances


def _solve_archive(case: Case) -> Any:
    """Compute the gain of each added point, which on a front is its contribution.

    From 4 objectives it is a difference of two hypervolumes, which loses digits with many members.
    """
    moocore = _import_first("moocore")
    counts = range(case.points, case.points + NEWCOMERS + 1)
    sets = [case.doubles[:count] for count in counts]
    if case.objectives <= _SWEPT and case.workload in FRONTS:
        return [moocore.hv_contributions(points, ref=case.ref)[-1] for points in sets[1:]]
    return np.diff([moocore.hypervolume(points, ref=case.ref) for points in sets])


def _solve_each(case: Case, solve_one: Callable[[Array], Any]) -> Any:
    answers = [solve_one(points) for points in case.sets]
    return np.array(answers) if case.groups else answers[0]


def _import_first(*names: str) -> Any:
    """Import the first of some packages that is installed."""
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise NoJudge(f"the right answer takes {names[0]}; run: pip install '.[bench]'")


_SOLVERS: dict[str, Callable[[Case], Any]] = {
    "pareto_rank": _solve_ranks,
    "is_nondominated": _solve_filter,
    "hypervolume": _solve_hypervolume,
    "hypervolume_gradient": _solve_gradient,
    "hypervolume_gradient_of_few": _solve_gradient_of_few,
    "hv_contributions": _solve_contributions,
    "crowding_distance": _solve_crowding,
    "pareto_advantage": _solve_advantage,
    "hypervolume_advantage": _solve_hypervolume_advantage,
    "archive_add": _solve_archive,
    "archive_bounded": bound_archive,
    "archive_members": _solve_filter,
    "nondominated_boxes": _solve_nondominated_boxes,
    "dominated_boxes": _solve_dominated_boxes,
    "hypervolume_improvement": _solve_improvement,
    "expected_hypervolume_improvement": _solve_expected_improvement,
    **dict.fromkeys(REFERENCE_INDICATORS, _solve_indicator),
    "r2": _solve_r2,
    "hypervolume_approx": _solve_hypervolume,
    "eaf": _solve_attainment,
    "eafdiff": _solve_difference,
    "weighted_hypervolume": _solve_weighted,
    "greedy_subset": _solve_greedy_subset,
    "removal_subset": _solve_removal_subset,
    "exact_subset": _solve_exact_subset,
    "select_crowding": _solve_selection,
    "select_crowding_removal": _solve_selection,
    "select_hypervolume": remove_least,
    "pareto_rank_constrained": _solve_constrained_ranks,
    "pareto_rank_first": _solve_first_ranks,
    "is_nondominated_strict": _solve_strict,
    "epsilon_boxes": _solve_boxes_of_filter,
    "normalise": scale_by_front,
    "knee_points": find_knee,
}
