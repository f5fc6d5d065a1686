"""Compute the correct answer to a case, and compare an answer with it.

The definitions of the package judge small sets. For other sets and for volumes, the judge is a peer
that shares no code with the package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from bench import peers
from bench.cases import BETA, BOXED, REFERENCE_INDICATORS, SELECTIONS, SUBSETS, VALID, Case
from bench.workloads import Array
from paretopo_core import definitions

_SMALL = 300  # points of a set that a definition judges,
_FEW = 10_000  # the number of these sets,
_PAIRS = 5_000_000  # and the pairs of points in all of them
_PLACES = 500  # where boxes are looked at
_EXACT = (  # whatever is a choice
    "is_nondominated",
    "is_nondominated_strict",
    "epsilon_boxes",
    "knee_points",
    "archive_bounded",
    "archive_members",
    *SELECTIONS,
)
# The tasks that a definition judges where sets are small.
_DEFINITIONS: dict[str, Callable[[Case], Any]] = {
    "pareto_rank": lambda case: definitions.pareto_rank(
        case.doubles, maximise=False, mask=case.mask
    ),
    "is_nondominated": lambda case: definitions.is_nondominated(case.doubles, maximise=False),
    "crowding_distance": lambda case: definitions.crowding_distance(-case.doubles),
    "pareto_advantage": lambda case: definitions.pareto_advantage(
        -case.data, case.weights, beta=BETA
    ),
}
# The peers that judge a task, in order; moocore and torch if not named here.
_JUDGES: dict[str, tuple[str, ...]] = {
    "crowding_distance": ("pygmo", "numpy"),
    "hypervolume_gradient": ("numpy", "moocore"),
    "hypervolume_advantage": ("numpy",),
    "is_nondominated_strict": ("numpy",),
    "nondominated_boxes": ("optuna", "botorch"),
    "dominated_boxes": ("botorch",),
    "hypervolume_improvement": ("botorch",),
    "expected_hypervolume_improvement": ("botorch",),
    "greedy_subset": ("optuna",),
    "exact_subset": ("numpy",),
    **dict.fromkeys(SELECTIONS, ("pymoo",)),
}
_JUDGED_AS = {
    "archive_members": "is_nondominated",
    "hypervolume_approx": "hypervolume",
    "hypervolume_gradient_of_few": "hypervolume_gradient",
}


class NoJudge(Exception):
    """Nothing installed can tell the right answer."""


def solve(case: Case) -> Array:
    """Compute the right answer to a case.

    Raises:
        NoJudge: it takes a peer that is not installed.
    """
    if case.task in _JUDGED_AS:
        found = solve(replace(case, task=_JUDGED_AS[case.task]))
        return found * case.wanted[:, None] if case.task.endswith("_of_few") else found
    if case.task in REFERENCE_INDICATORS:
        name = REFERENCE_INDICATORS[case.task]
        return definitions.indicator(name, case.front, case.reference_set, maximise=False)
    if case.task in _DEFINITIONS and _is_small(case):
        return np.asarray(_DEFINITIONS[case.task](case))
    names = _name_judges(case)
    case = replace(case, threads=1)  # on the CPU
    for name in names:
        work = _make(name) and peers.prepare(_make(name), case)
        if work is not None:
            if work.fresh is not None:
                work.fresh()
            return _observe(case, np.asarray(work.run()))
    raise NoJudge(f"the right answer takes {' or '.join(names)}; run: pip install '.[bench]'")


def _is_small(case: Case) -> bool:
    groups, points = max(case.groups, 1), VALID if case.workload == "padded" else case.points
    return points <= _SMALL and groups <= _FEW and groups * points**2 <= _PAIRS


def _name_judges(case: Case) -> tuple[str, ...]:
    if case.task == "hypervolume" and case.objectives > 5:  # WFG's authors are fast there
        return "hvwfg", "pygmo", "moocore"
    if case.task == "hv_contributions" and case.objectives > 3:
        return "pygmo", "moocore"
    return _JUDGES.get(case.task, ("moocore", "moocore C", "torch"))


@cache
def _make(name: str) -> Any:
    """Make a peer once; None if it is not installed."""
    return None if peers.find_version(name) is None else peers.make(name)


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
    if case.task in BOXED and (got.ndim != 3 or got.shape[::2] != (2, case.objectives)):
        return f"shape {got.shape} instead of (2, boxes, {case.objectives})"
    if case.task not in SUBSETS or got.shape == (case.kept,):
        got = _observe(case, got)
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


def _observe(case: Case, answer: Array) -> Array:
    """Take the part of an answer that all right answers share: boxes and subsets may differ."""
    if case.task in BOXED:
        return _look_at(case, answer)
    if case.task in SUBSETS:
        return _measure_subset(case, answer)
    return np.sort(answer, axis=0) if case.task in SELECTIONS else answer


def _look_at(case: Case, boxes: Array) -> Array:
    """Their volume above 0, where all data are, then how many of them hold each place."""
    lower, upper = np.maximum(boxes, 0.0)
    places = _places(case)[:, None]
    held = ((lower < places) & (places < upper)).all(axis=-1).sum(axis=-1)
    return np.concatenate([[(upper - lower).prod(axis=-1).sum()], held])


def _places(case: Case) -> Array:
    rng = np.random.default_rng((case.points, case.objectives))
    return np.asarray(rng.random((_PLACES, case.objectives)) * case.ref)


def _measure_subset(case: Case, chosen: Array) -> Array:
    """Measure the volume of a subset, given by indices; NaN if the indices are invalid."""
    is_subset = chosen.dtype.kind in "iu" and len(set(chosen.tolist()) & set(range(case.points)))
    if is_subset != len(chosen):
        return np.array([np.nan])
    moocore = importlib.import_module("moocore")
    return np.array([moocore.hypervolume(case.doubles[chosen], ref=case.ref)])
