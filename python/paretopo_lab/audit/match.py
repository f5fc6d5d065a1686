"""The estimator that advantages follow: each one with likely settings, and with fitted weights.

A *rule* is an estimator that is linear in the rewards up to a divisor: `X w / D(w)`, where X are
features of the rewards. Its weights are fitted by least squares, in turn with the divisor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.estimators.groups import ROUNDING, WHITENING_EPSILON
from paretopo.controller.reward_vectors import fill_missing
from paretopo.records.schema import DataError
from paretopo_lab.audit.read import Dump, Floats, Ints, split_groups

TOLERANCE = 2.5e-3  # of an advantage, and of the median one: bfloat16 rounds by 2e-3
_FOLLOWS = 0.75  # of the groups must agree
_ROUNDS = 500  # of a fit, at most
_ALIKE = 1e-6  # errors below it are rounding in float32
_EXACT = 1e-10  # in float64


class Layout(NamedTuple):
    """Where each rollout stands.

    Attributes:
        groups: (rows,) the number of the group.
        batches: (rows,) the number of the training step.
    """

    groups: Ints
    batches: Ints

    @property
    def counts(self) -> Floats:
        """Return (rows,) the size of the group."""
        counts: Floats = np.bincount(self.groups)[self.groups].astype(np.float64)
        return counts


def mean_by(values: Floats, by: Ints) -> Floats:
    """Return the mean of each row's group, in the shape of ``values``, (rows, ...)."""
    columns = values.reshape(len(values), -1).T
    sums = np.stack([np.bincount(by, one) for one in columns], axis=-1)
    means = sums / np.maximum(np.bincount(by), 1)[:, None]
    found: Floats = means[by].reshape(values.shape)
    return found


def centre(values: Floats, by: Ints) -> Floats:
    """Return the values minus their group's mean; 0 where it is rounding."""
    off = values - mean_by(values, by)
    size = np.zeros((by.max() + 1, *values.shape[1:]))
    np.maximum.at(size, by, np.abs(values))
    found: Floats = np.where(np.abs(off) <= ROUNDING * size[by], 0.0, off)
    return found


def spread(values: Floats, by: Ints, divisor: str = "n-1") -> Floats:
    """Return the standard deviation of each row's group, in the shape of ``values``."""
    count = np.bincount(by)[by].astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
    squares = mean_by(centre(values, by) ** 2, by) * count
    found: Floats = np.sqrt(squares / np.maximum(count - (divisor == "n-1"), 1.0))
    return found


def _spread_of_others(values: Floats, by: Ints) -> Floats:
    """Return the standard deviation of the other rollouts of each row's group."""
    count = np.bincount(by)[by].astype(np.float64).reshape(-1, *[1] * (values.ndim - 1))
    off = centre(values, by)
    left = mean_by(off**2, by) * count - off**2 * count / np.maximum(count - 1, 1.0)
    left = np.where(left > 1e-9 * mean_by(off**2, by), left, 0.0)  # else it is rounding
    found: Floats = np.sqrt(left / np.maximum(count - 2, 1.0))
    return found


def _divide(values: Floats, by: Floats, epsilon: float) -> Floats:
    found: Floats = np.where(by > 0.0, values / np.where(by > 0.0, by + epsilon, 1.0), 0.0)
    return found


# ---- rules ---------------------------------------------------------------------------------------


def _others(rewards: Floats, at: Layout) -> Floats:
    count = at.counts[:, None]
    found: Floats = centre(rewards, at.groups) * count / np.maximum(count - 1, 1.0)
    return found


def _first(rewards: Floats, at: Layout) -> Floats:
    _, first = np.unique(at.groups, return_index=True)
    found: Floats = rewards - rewards[first[at.groups]]
    return found


@dataclass(frozen=True)
class Rule:
    """A linear estimator and its divisor.

    Attributes:
        name: The estimator.
        features: "raw", "deviation" from the group's mean, from the "others" or from the "first"
            rollout, "z" scores, z-scores among the "z others", and "unit": deviations in units of
            the batch.
        divisor: "none"; of the weighted sum of the rewards, the standard deviation in the "group",
            of the "others", in the "batch", the "mean" of the group, or the sum of the "spreads" of
            the rewards; "whiten" standardises the result over the batch.
        epsilon: Added to each standard deviation.
        count: "n-1" or "n".
    """

    name: str
    features: str
    divisor: str = "none"
    epsilon: float = 0.0
    count: str = "n-1"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings that a report names."""
        scaled = self.divisor in ("group", "others", "batch", "whiten") or self.features == "z"
        return {"epsilon": self.epsilon, "divisor": self.count} if scaled else {}

    def describe(self, rewards: Floats, at: Layout) -> Floats:
        """Return (rows, rewards) features."""
        by = at.groups
        if self.features == "raw":
            return rewards
        if self.features == "deviation":
            return centre(rewards, by)
        if self.features == "others":
            return _others(rewards, at)
        if self.features == "first":
            return _first(rewards, at)
        if self.features == "z":
            return _divide(centre(rewards, by), spread(rewards, by, self.count), self.epsilon)
        if self.features == "z others":
            own, size = _others(rewards, at), _spread_of_others(rewards, by)
            return np.where(size > 0.0, _divide(own, size, self.epsilon), own)
        off = centre(rewards, by)
        return off / (spread(off, at.batches) + self.epsilon)

    def divide(self, features: Floats, rewards: Floats, weights: Floats, at: Layout) -> Any:
        """Return the subtrahend and the divisor, (rows,) each."""
        total, by = rewards @ weights, at.groups
        nothing = np.zeros(len(total))
        if self.divisor == "none":
            return nothing, np.ones(len(total))
        if self.divisor in ("group", "others"):
            grouped = self.divisor == "group"
            size = spread(total, by, self.count) if grouped else _spread_of_others(total, by)
            return nothing, np.where(size > 0.0, size + self.epsilon, 1.0)
        if self.divisor == "batch":
            return nothing, spread(total, at.batches, self.count) + self.epsilon
        if self.divisor == "mean":
            size = mean_by(total, by)
            return nothing, np.where(size > 0.0, size, np.inf)
        if self.divisor == "spreads":
            size = spread(rewards, by, "n") @ np.abs(weights)
            return nothing, np.where(size > 0.0, size, 1.0)
        values = features @ weights
        size = np.sqrt(spread(values, at.batches, self.count) ** 2 + WHITENING_EPSILON)
        return mean_by(values, at.batches), size

    def compute(self, rewards: Floats, weights: Floats, at: Layout) -> Floats:
        """Return (rows,) advantages."""
        features = self.describe(rewards, at)
        off, size = self.divide(features, rewards, weights, at)
        found: Floats = (features @ weights - off) / size
        return found


_EPSILONS = (1e-6, 1e-4, 1e-8, 1e-9)
RULES = (
    *(Rule("grpo", "deviation", "group", e, n) for n in ("n-1", "n") for e in _EPSILONS),
    Rule("dr_grpo", "deviation"),
    Rule("rloo", "others"),
    Rule("grpo, divided by the batch's deviation", "deviation", "batch", 1e-4),
    Rule("grpo among the others", "others", "others", 1e-6),
    Rule("maxrl", "deviation", "mean"),
    *(Rule("gdpo", "z", "whiten", epsilon) for epsilon in _EPSILONS),
    Rule("gdpo among the others", "z others", "whiten", 1e-6),
    Rule("mo_grpo", "z"),
    *(Rule("reinforce_pp", "raw", "whiten", 0.0, count) for count in ("n-1", "n")),
    *(Rule("reinforce_pp_baseline", "deviation", "whiten", 0.0, c) for c in ("n-1", "n")),
    Rule("dvao", "deviation", "spreads"),
    Rule("d3po", "unit", "none", 1e-8),
    Rule("reward minus that of the first rollout", "first"),
)
# Other estimators, which have a form of their own: with equal or given weights.
_OTHERS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(
        ("pareto", {"centre": c, "beta": b})
        for c in ("mean", "none", "std", "loo")
        for b in (0.5, 0)
    ),
    *((name, {}) for name in ("worth", "gr3", "tchebycheff", "gd2po", "hypervolume_gd2po")),
    *(("hypervolume", {"k": k}) for k in (1, 2, 4)),
)


# ---- the search ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Match:
    """An estimator, compared with a dump.

    Attributes:
        name: The estimator.
        settings: Its settings.
        weights: One for each reward.
        fitted: Are they fitted, not tried?
        missing: The value of a missing reward: "0", "group mean", or "" if none is missing.
        expected: (rows,) its advantages.
        agrees: (groups,) bool, do the rollouts of the group agree?
        informative: (groups,) bool, does the dump or the estimator have an advantage but 0 there?
        error: The largest error in the groups that agree.
        linear: Is the estimator a rule with one weight for each reward?
        blocks: Does it follow consecutive blocks of rows instead of the groups?
        alike: The other estimators that agree as well.
        overruled: Were other weights given, which fit less?
    """

    name: str
    settings: dict[str, Any]
    weights: tuple[float, ...]
    fitted: bool
    missing: str
    expected: Floats
    agrees: Any
    informative: Any
    error: float
    linear: bool
    blocks: bool = False
    alike: tuple[str, ...] = ()
    overruled: bool = False

    @property
    def share(self) -> float:
        """Return the share of the informative groups that agree."""
        count = self.informative.sum()
        return float((self.agrees & self.informative).sum() / count) if count else 0.0

    @property
    def follows(self) -> bool:
        """Return whether the dump follows this estimator."""
        return self.share >= _FOLLOWS


def find_match(dump: Dump, weights: Sequence[float] | None = None) -> Match | None:
    """Return the estimator that agrees with most groups; None without advantages.

    Args:
        dump: The rollouts.
        weights: One for each reward, instead of equal ones. If an estimator follows the dump with
            them, no fitted weights are reported.

    Raises:
        DataError: There is not one weight for each reward.
    """
    count = len(dump.names)
    if weights is not None and len(weights) != count:
        raise DataError(
            f"--weights must have a number for each reward, {', '.join(dump.names)}, got "
            f"{len(weights)}"
        )
    tried = [np.full(count, 1.0 / count) if weights is None else np.array(weights, np.float64)]
    if dump.advantages is None or not np.isfinite(dump.advantages).any():
        return None
    layout = Layout(dump.groups, dump.batches)
    best = _search(dump, layout, tried, weights)
    silent = np.bincount(dump.groups, dump.advantages != 0.0) == 0
    if silent.any() and not silent.all():
        # A filter may have taken these groups out before the batch was whitened.
        apart = np.where(silent[dump.groups], dump.batches.max() + 1, dump.batches)
        other = _search(dump, Layout(dump.groups, apart), tried, weights)
        best = min(best, other, key=lambda one: (-one.share, one.fitted, max(one.error, _ALIKE)))
    if best.follows:
        return best
    blocks = _find_blocks(dump.groups)
    if blocks is not None:
        other = _search(dump, Layout(blocks, dump.batches), tried, weights)
        if other.follows:
            agrees, informative, error = _compare(dump, other.expected, dump.groups)
            return replace(other, agrees=agrees, informative=informative, error=error, blocks=True)
    return best


def _find_blocks(groups: Ints) -> Ints | None:
    """Return consecutive blocks as large as the groups, if the groups are no such blocks."""
    sizes = np.unique(np.bincount(groups))
    if len(sizes) > 1 or sizes[0] < 2:
        return None
    blocks: Ints = np.arange(len(groups)) // sizes[0]
    same = len(np.unique(np.stack([groups, blocks]), axis=1).T) == len(np.bincount(groups))
    return None if same else blocks


def _search(dump: Dump, at: Layout, tried: list[Floats], weights: Sequence[float] | None) -> Match:
    found = list(_list_candidates(dump, at, tried))
    exact = [one for one in found if weights is not None and one.weights == tuple(weights)]
    if any(one.follows for one in exact):
        found = exact
    alike = _ALIKE if min(one.error for one in found) > _EXACT else _EXACT
    # Equal weights first, then weights of two digits: other estimators fit as well with odd ones.
    order = sorted(found, key=lambda one: (-one.share, max(one.error, alike), _oddness(one)))
    least = order[0]
    near = [
        one
        for one in order
        if one.share == least.share and one.error <= max(3.0 * least.error, alike)
    ]
    best = min(near, key=_oddness)
    others = dict.fromkeys(one.name for one in near if one.name != best.name)
    overruled = weights is not None and best.fitted
    return replace(best, alike=tuple(others) if best.follows else (), overruled=overruled)


def _oddness(match: Match) -> int:
    weights = np.array(match.weights)
    shares = weights / max(np.abs(weights).sum(), 1e-300)
    whole = any(np.abs(one * 100 % 1.0 - 0.5).min() > 0.499 for one in (weights, shares))
    sums = min(abs(weights.sum() - 1.0), abs(weights.sum() - len(weights))) < 1e-3
    return int(match.fitted) * (1 + (not sums) + (not whole))


def _list_candidates(dump: Dump, at: Layout, tried: list[Floats]) -> Iterator[Match]:
    smallest = np.bincount(at.groups).min()
    for missing, rewards in _fill(dump, at.groups):
        for rule in RULES:
            for weights, fitted in _list_weights(rule, rewards, dump, at, tried):
                expected = rule.compute(rewards, weights, at)
                yield _make_match(dump, at, rule.name, rule.settings, weights, fitted, missing,
                                  expected, linear=True)  # fmt: skip
        for weights in tried if rewards.shape[1] > 1 else []:
            for name, settings in _OTHERS:
                if settings.get("k", 1) > smallest:
                    continue
                if name != "hypervolume" or weights[1:].all():
                    expected = _estimate(name, settings, rewards, weights, at)
                    yield _make_match(dump, at, name, settings, weights, False, missing, expected)
        for j in range(rewards.shape[1]):
            for k in (size for size in (2, 4, 8) if size <= smallest):
                values = _estimate("hypervolume", {"k": k}, rewards[:, [j]], np.ones(1), at)
                chosen = np.eye(rewards.shape[1])[j]
                yield _make_match(
                    dump, at, "pass_at_k", {"k": k}, chosen, len(chosen) > 1, missing, values
                )


def _fill(dump: Dump, groups: Ints) -> Iterator[tuple[str, Floats]]:
    """Yield the rewards with each value of a missing one."""
    missing = ~np.isfinite(dump.rewards)
    if not missing.any():
        yield "", dump.rewards
        return
    yield "0", np.where(missing, 0.0, dump.rewards)
    filled = np.where(missing, np.nan, dump.rewards)
    for rows in split_groups(groups):
        filled[rows] = fill_missing(filled[rows], np.zeros(filled.shape[1]))
    yield "group mean", filled


def _list_weights(
    rule: Rule, rewards: Floats, dump: Dump, at: Layout, tried: list[Floats]
) -> Iterator[tuple[Floats, bool]]:
    """Yield the given weights, weights of 1 each, and fitted ones."""
    count = rewards.shape[1]
    for weights in [*tried, np.ones(count)]:
        yield weights, False
    totals: list[float | None] = [None] if rule.divisor == "none" else [1.0, float(count)]
    for total in totals:
        found = _fit(rule, rewards, dump, at, total)
        if found is not None:
            yield found, True


def _fit(rule: Rule, rewards: Floats, dump: Dump, at: Layout, total: float | None) -> Floats | None:
    """Return weights whose sizes add up to ``total``; None if the dump does not determine them.

    Groups that do not fit are left out, so that one faulty group does not change the weights.
    """
    assert dump.advantages is not None
    features = rule.describe(rewards, at)
    kept = np.isfinite(dump.advantages)
    given = np.where(kept, dump.advantages, 0.0)
    weights = np.full(rewards.shape[1], 1.0 / rewards.shape[1])
    for _ in range(4):
        if kept.sum() <= 2 * rewards.shape[1]:
            return None
        for _ in range(_ROUNDS):
            off, size = rule.divide(features, rewards, weights, at)
            centred = features
            if rule.divisor == "whiten":
                centred = features - mean_by(features, at.batches)
            scaled = centred / size[:, None]
            new = np.linalg.lstsq(scaled[kept], given[kept], rcond=1e-9)[0]
            sum_of_sizes = np.abs(new).sum()
            if not np.isfinite(sum_of_sizes) or sum_of_sizes == 0.0:
                return None
            new = new if total is None else new * (total / sum_of_sizes)
            settled = np.abs(new - weights).max() <= 1e-13 * np.abs(new).max()
            weights = new
            if settled:
                break
        off, size = rule.divide(features, rewards, weights, at)
        wrong = np.abs((features @ weights - off) / size - given)
        worst = np.zeros(at.groups.max() + 1)
        np.maximum.at(worst, at.groups, np.where(np.isfinite(dump.advantages), wrong, 0.0))
        usual = np.median(worst)
        fits = worst <= max(3.0 * usual, 1e-9 * np.abs(given).max())
        left_in = np.isfinite(dump.advantages) & fits[at.groups]
        if (left_in == kept).all():
            break
        kept = left_in
    return weights


def _estimate(
    name: str, settings: dict[str, Any], rewards: Floats, weights: Floats, at: Layout
) -> Floats:
    """Return (rows,) advantages of one of our estimators, for each batch."""
    values = np.zeros(len(rewards))
    for batch in np.unique(at.batches):
        rows = np.flatnonzero(at.batches == batch)
        names, groups = np.unique(at.groups[rows], return_inverse=True)
        sizes = np.bincount(groups)
        order = np.argsort(groups, kind="stable")
        place = np.empty(len(rows), np.int64)
        place[order] = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        padded = np.zeros((len(names), sizes.max(), rewards.shape[1]))
        padded[groups, place] = rewards[rows]
        mask = np.arange(sizes.max()) < sizes[:, None]
        with np.errstate(all="ignore"):
            found = ESTIMATORS[name](padded, weights, mask=mask, **settings)
        values[rows] = found[groups, place]
    return values


def _make_match(
    dump: Dump, at: Layout, name: str, settings: dict[str, Any], weights: Floats, fitted: bool,
    missing: str, expected: Floats, linear: bool = False,
) -> Match:  # fmt: skip
    agrees, informative, error = _compare(dump, expected, at.groups)
    return Match(name, settings, tuple(weights.tolist()), fitted, missing, expected, agrees,
                 informative, error, linear)  # fmt: skip


def _compare(dump: Dump, expected: Floats, groups: Ints) -> tuple[Any, Any, float]:
    """Return which groups agree, which are informative, and the largest error of the first."""
    assert dump.advantages is not None
    given = dump.advantages
    some = np.isfinite(given) & (given != 0.0)
    usual = np.median(np.abs(given[some])) if some.any() else 1.0
    with np.errstate(invalid="ignore"):
        wrong = np.abs(expected - given)
        fine = wrong <= TOLERANCE * (np.abs(given) + usual)
    count = groups.max() + 1
    agrees = np.bincount(groups, ~fine, count) == 0
    informative = np.bincount(groups, ~(given == 0.0) | ~(np.abs(expected) < 1e-12), count) > 0
    inside = (agrees & informative)[groups]
    return agrees, informative, float(wrong[inside].max()) if inside.any() else np.inf
