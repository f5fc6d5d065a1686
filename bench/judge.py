"""What the right answer is, and how close to it an answer has to be.

Small sets are judged by their definition in NumPy. Large ones by a peer that has nothing in common
with this package: moocore, and from 6 objectives the WFG authors' code, which is quick there. What
no peer has, the advantages of HV@k, by the integrals of their definition in NumPy.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.case import BETA, DRAWN, NEWCOMERS, Case
from bench.rivals_numpy import advantages_in_chunks, exact_advantages
from bench.workloads import Array
from paretopo_core import reference

_SMALL = 300  # points whose pairs the definition may compare
_CHUNK = 20_000  # groups compared at a time


class NoJudge(Exception):
    """Nothing installed can tell the right answer."""


def truth(case: Case) -> Array:
    """The right answer to a case.

    Raises:
        NoJudge: it takes a peer that is not installed.
    """
    return np.asarray(_JUDGES[case.task](case))


def complaint(case: Case, answer: Any, right: Array) -> str | None:
    """What is wrong with an answer; None if nothing is.

    Ranks and filters must agree exactly, hypervolumes to 1e-9 of their size. Contributions may be
    off by 1e-6 of their own and 2e-8 of the largest possible one, as several peers take them as
    differences or cut them off there; advantages by what float32 rounding allows.
    """
    got = np.asarray(answer)
    if got.shape != right.shape:
        return f"shape {got.shape} instead of {right.shape}"
    if case.task in ("pareto_rank", "is_nondominated"):
        differs = got != right
    elif case.task == "hypervolume":
        differs = ~(np.abs(got - right) <= 1e-9 * np.abs(right))
    elif case.task == "pareto_advantage":
        differs = ~(np.abs(got - right) <= 2e-4)
    else:
        scale = float(np.prod(case.ref))
        differs = ~(np.abs(got - right) <= 1e-6 * np.abs(right) + 2e-8 * scale)
    if not differs.any():
        return None
    at = tuple(int(i) for i in np.argwhere(differs)[0])
    return f"{int(differs.sum())} of {differs.size} differ, at {list(at)} {got[at]} != {right[at]}"


def ranks_of_groups(groups: Array) -> Array:
    """Peel the fronts of equally large groups, all groups at once; smaller is better."""
    return np.concatenate(
        [_peel(groups[start : start + _CHUNK]) for start in range(0, len(groups), _CHUNK)]
    )


def advantages(ranks: Array, rewards: Array, weights: Array) -> Array:
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


def _peel(groups: Array) -> Array:
    a, b = groups[:, :, None], groups[:, None]
    dominates = (a <= b).all(axis=-1) & (a < b).any(axis=-1)
    ranks = np.full(groups.shape[:2], -1, dtype=np.int32)
    for front in range(groups.shape[1]):
        rivals = ranks == -1
        if not rivals.any():
            break
        beaten = (dominates & rivals[:, :, None]).any(axis=1)
        ranks[rivals & ~beaten] = front
    return ranks


def _ranks(case: Case) -> Any:
    if case.groups and case.mask is None:
        return ranks_of_groups(case.doubles)
    if not case.groups and case.points <= _SMALL:
        return reference.pareto_rank(case.doubles, maximise=False)
    return _each(case, _peer("moocore").pareto_rank)


def _chosen(case: Case) -> Any:
    if case.groups and case.mask is None:
        return ranks_of_groups(case.doubles) == 0
    if not case.groups and case.points <= _SMALL:
        return reference.is_nondominated(case.doubles, maximise=False)
    moocore = _peer("moocore")
    return _each(case, lambda points: moocore.is_nondominated(points, keep_weakly=True))


def _volumes(case: Case) -> Any:
    peer = _peer("moocore") if case.objectives < 6 else _peer("hvwfg", "pygmo", "moocore")
    if peer.__name__ == "hvwfg":
        return _each(case, lambda points: peer.wfg(points, case.ref))
    if peer.__name__ == "pygmo":
        return _each(case, lambda points: peer.hypervolume(points).compute(case.ref))
    return _each(case, lambda points: peer.hypervolume(points, ref=case.ref))


def _contributions(case: Case) -> Any:
    peer = _peer("moocore") if case.objectives < 4 else _peer("pygmo", "moocore")
    if peer.__name__ == "pygmo":
        return _each(case, lambda points: peer.hypervolume(points).contributions(case.ref))
    return _each(case, lambda points: peer.hv_contributions(points, ref=case.ref))


def _advantages(case: Case) -> Any:
    groups = case.doubles if case.groups else case.doubles[None]
    found = advantages(ranks_of_groups(groups), -groups, case.weights)
    return found if case.groups else found[0]


def _expected(case: Case) -> Any:
    if case.mask is None:
        sides = (case.ref - case.doubles).reshape(-1, case.points, case.objectives)
        return advantages_in_chunks(sides).reshape(case.data.shape[:-1])
    found = np.zeros(case.mask.shape)
    for g, points in enumerate(case.sets):
        found[g, : len(points)] = exact_advantages((case.ref - points)[None], DRAWN)[0]
    return found


def _gains(case: Case) -> Any:
    """What each newcomer of an archive adds, as a difference of two hypervolumes."""
    moocore = _peer("moocore")
    volumes = [
        moocore.hypervolume(case.doubles[: case.points + i], ref=case.ref)
        for i in range(NEWCOMERS + 1)
    ]
    return np.diff(volumes)


def _each(case: Case, answer: Callable[[Array], Any]) -> Any:
    answers = [answer(points) for points in case.sets]
    return np.array(answers) if case.groups else answers[0]


def _peer(*names: str) -> Any:
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise NoJudge(f"the right answer takes {names[0]}; run: pip install 'paretopo[bench]'")


_JUDGES: dict[str, Callable[[Case], Any]] = {
    "pareto_rank": _ranks,
    "is_nondominated": _chosen,
    "hypervolume": _volumes,
    "hv_contributions": _contributions,
    "pareto_advantage": _advantages,
    "hypervolume_advantage": _expected,
    "archive_add": _gains,
}
