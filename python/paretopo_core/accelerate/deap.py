"""DEAP's Python loops over individuals, on this core.

``deap.tools`` is looked up by toolboxes that register afterwards, ``deap.tools.emo`` by DEAP's own
selection operators, whenever they were registered. Lists of individuals come back in DEAP's order,
so that a run with a seed is the same run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from deap import tools
from deap.base import Fitness
from deap.tools import emo, indicator

import paretopo_core as pp
from paretopo_core.accelerate import Replacement

_sort_any = emo.sortNondominated
_sort_any_log = emo.sortLogNondominated


def replacements() -> list[Replacement]:
    """Non-dominated sorting (NSGA-II, NSGA-III, MO-CMA-ES) and the least contribution."""
    return [
        Replacement(owner, name, value)
        for owner, name, value in (
            (emo, "sortNondominated", sort_standard),
            (tools, "sortNondominated", sort_standard),
            (emo, "sortLogNondominated", sort_log),
            (tools, "sortLogNondominated", sort_log),
            (indicator, "hypervolume", least_contribution),
            (tools, "hypervolume", least_contribution),
        )
    ]


def sort_standard(
    individuals: Sequence[Any], k: int, first_front_only: bool = False
) -> list[list[Any]]:
    """Sort into fronts until k individuals are in one, as DEAP's ``sortNondominated``.

    DEAP orders individuals of later fronts by their last dominator in the previous front.
    """
    if k == 0:
        return []
    members, values = _distinct(individuals)
    if _is_odd(values) or any(
        type(one.fitness).dominates is not Fitness.dominates for one in individuals
    ):
        return _sort_any(individuals, k, first_front_only)
    ranks = pp.pareto_rank(values)
    fronts: list[list[Any]] = []
    before = np.flatnonzero(ranks == 0)
    while True:
        fronts.append(_joined(members, before))
        if first_front_only or sum(map(len, fronts)) >= min(len(individuals), k):
            return fronts
        front = np.flatnonzero(ranks == len(fronts))
        dominate = np.ones((len(front), len(before)), dtype=bool)
        for objective in values.T:
            dominate &= objective[before] >= objective[front, None]
        last = len(before) - 1 - dominate[:, ::-1].argmax(axis=1)
        before = front[np.argsort(last, kind="stable")]


def sort_log(individuals: Sequence[Any], k: int, first_front_only: bool = False) -> list[Any]:
    """Sort into fronts until k individuals are in one, as DEAP's ``sortLogNondominated``."""
    if k == 0:
        return []
    members, values = _distinct(individuals)
    if _is_odd(values):
        return _sort_any_log(individuals, k, first_front_only)
    ranks = pp.pareto_rank(values)
    descending = np.lexsort(-values.T[::-1])
    fronts: list[list[Any]] = []
    for front in range(int(ranks.max()) + 1):
        fronts.append(_joined(members, descending[ranks[descending] == front]))
        if first_front_only:
            return fronts[0]
        if sum(map(len, fronts)) >= k:
            break
    return fronts


def least_contribution(front: Sequence[Any], **kargs: Any) -> np.intp:
    """Return the index of the individual with the smallest hypervolume contribution."""
    values = np.array([one.fitness.wvalues for one in front])
    ref = kargs.get("ref")
    below = values.min(axis=0) - 1 if ref is None else -np.asarray(ref, dtype=float)
    return pp.hypervolume_contributions(values, ref=below, ignore_dominated=False).argmin()


def _distinct(individuals: Sequence[Any]) -> tuple[list[list[Any]], np.ndarray]:
    """Group individuals by fitness, in their order, and return the weighted values of each group.

    There are no values if numbers of objectives differ, as without a valid fitness.
    """
    members: defaultdict[tuple[float, ...], list[Any]] = defaultdict(list)
    for one in individuals:
        members[one.fitness.wvalues].append(one)
    alike = len({len(values) for values in members}) == 1
    return list(members.values()), np.array(list(members) if alike else [], dtype=float)


def _is_odd(values: np.ndarray) -> bool:
    """Return True for cases that DEAP's own code handles: no individuals, NaN, one objective."""
    return values.ndim != 2 or values.shape[1] < 2 or bool(np.isnan(values).any())


def _joined(members: list[list[Any]], chosen: Iterable[int]) -> list[Any]:
    return [one for which in chosen for one in members[which]]
