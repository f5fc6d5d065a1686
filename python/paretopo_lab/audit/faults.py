"""Faults that a dump shows, each with a group and its effect on training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from paretopo_lab.audit.match import TOLERANCE, Match, centre, mean_by, spread
from paretopo_lab.audit.read import Dump, Floats

_FLAT = 1e-9  # of a reward's size: smaller differences are rounding
_MINOR = 0.01  # share of the variance of the advantages
_MAJOR = 0.95  # of the pairs agree on the sign
_LEAST_PAIRS = 3
# Estimators that give every reward a scale of its own.
_NORMALISED = ("gdpo", "mo_grpo", "d3po")


class Fault(NamedTuple):
    """A fault.

    Attributes:
        name: In a word or two.
        group: The group that shows it; "" for all groups.
        shows: The evidence, a sentence.
        effect: On training, a sentence.
        groups: The number of groups that show it.
    """

    name: str
    group: str
    shows: str
    effect: str
    groups: int


def find_faults(dump: Dump, match: Match | None) -> list[Fault]:
    """Return the faults of a dump.

    Args:
        dump: The rollouts.
        match: The nearest estimator; None without advantages. Faults of the rewards need none.
    """
    found = [*_find_still_rewards(dump)]
    if dump.advantages is not None:
        found += _find_nan(dump)
    if match is not None:
        for look in _LOOKS:
            found += look(dump, match)
        found += _find_strangers(dump, match, {one.group for one in found})
    return found


def _find_strangers(dump: Dump, match: Match, named: set[str]) -> Iterator[Fault]:
    """Find a group that does not follow the estimator, if no fault names such a group."""
    groups = np.flatnonzero(match.informative & ~match.agrees & match.follows)
    if len(groups) and not named & {dump.labels[one] for one in groups}:
        rows = np.flatnonzero(dump.groups == groups[0])
        row = rows[np.nanargmax(np.abs(match.expected[rows] - _advantages(dump)[rows]))]
        yield Fault(
            "other advantages",
            dump.labels[groups[0]],
            f"The estimator gives {match.expected[row]:.6g} to a rollout with "
            f"{_show(dump, row)}, and the dump has {_advantages(dump)[row]:.6g}.",
            "Something else than the rewards of the group decides its step.",
            len(groups),
        )


def _find_still_rewards(dump: Dump) -> Iterator[Fault]:
    for name, column in zip(dump.names, dump.rewards.T, strict=True):
        known = np.isfinite(column)
        if known.sum() and not _varies(column, dump)[known].any():
            alike = "has one value" if np.ptp(column[known]) == 0.0 else "differs between groups"
            yield Fault(
                "reward without differences",
                "",
                f"In every group, {name!r} is equal for all rollouts; over the dump it {alike}.",
                "Every estimator compares the rollouts of a group, so this reward teaches nothing.",
                len(dump.labels),
            )


def _varies(column: Floats, dump: Dump) -> np.ndarray:
    """Return (rows,) bool, does the reward differ in the row's group?"""
    known = np.isfinite(column)
    low = np.full(len(dump.labels), np.inf)
    high = np.full(len(dump.labels), -np.inf)
    np.minimum.at(low, dump.groups[known], column[known])
    np.maximum.at(high, dump.groups[known], column[known])
    size = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(invalid="ignore"):
        differs: np.ndarray = high - low > _FLAT * size
    return differs[dump.groups]


def _differs(dump: Dump) -> np.ndarray:
    """Return (rows,) bool, does any reward differ in the row's group?"""
    differs: np.ndarray = np.any([_varies(one, dump) for one in dump.rewards.T], axis=0)
    return differs


def _find_nan(dump: Dump) -> Iterator[Fault]:
    broken = ~np.isfinite(_advantages(dump))
    groups = np.unique(dump.groups[broken])
    if not len(groups):
        return
    missing = ~np.isfinite(dump.rewards)
    causes = np.argwhere(missing & broken[:, None])
    group, because = groups[0], "although all rewards are numbers"
    if len(causes):
        row, at = causes[0]
        group, because = dump.groups[row], f"and a reward {dump.names[at]!r} is missing or NaN"
    rows = np.flatnonzero(dump.groups == group)
    yield Fault(
        "NaN",
        dump.labels[group],
        f"{broken[rows].sum()} of {len(rows)} advantages are missing, NaN or infinite, {because}.",
        "One NaN in the loss makes the gradient NaN, and with it every weight of the policy.",
        len(groups),
    )


def _find_missing_as_zero(dump: Dump, match: Match) -> Iterator[Fault]:
    missing = ~np.isfinite(dump.rewards) & (match.agrees & match.informative)[dump.groups, None]
    if match.missing != "0" or not match.follows or not missing.any():
        return
    label, count = _first_group(dump, missing.any(axis=1))
    yield Fault(
        "missing reward counts as 0",
        label,
        f"{dump.names[np.argwhere(missing)[0, 1]]!r} is missing for a rollout, which gets the "
        "advantage of a reward of 0.",
        "A rollout to which a reward does not apply is compared as if it had earned 0.",
        count,
    )


def _find_dead_rewards(dump: Dump, match: Match) -> Iterator[Fault]:
    for at, name in enumerate(dump.names):
        varies = _varies(dump.rewards[:, at], dump)
        if not varies.any():
            continue
        if match.linear and match.follows:
            parts = _parts(dump, match)
            dead = parts[at] <= 1e-4 * parts.max()
        else:
            same, other = _compare_pairs(dump, at)
            dead = same >= _LEAST_PAIRS and not other
        if dead:
            label, count = _first_group(dump, varies)
            yield Fault(
                "dead reward",
                label,
                f"{name!r} differs in {count} groups, and no advantage changes with it.",
                "The policy is trained as if this reward did not exist: check its name and weight.",
                count,
            )


def _find_negative_weights(dump: Dump, match: Match) -> Iterator[Fault]:
    if not (match.linear and match.follows and match.fitted):
        return
    parts = _parts(dump, match)
    for at in np.flatnonzero((np.array(match.weights) < 0.0) & (parts > 1e-4 * parts.max())):
        label, count = _first_group(dump, _varies(dump.rewards[:, at], dump))
        yield Fault(
            "negative weight",
            label,
            f"{dump.names[at]!r} has the fitted weight {match.weights[at]:.4g}: of two rollouts, "
            "the one with less of it gets more.",
            "The policy learns to earn less of this reward. If it is a cost, pass --weights.",
            count,
        )


def _parts(dump: Dump, match: Match) -> Floats:
    """Return (rewards,) the deviation that each reward gives to the advantages in a group."""
    rewards = np.nan_to_num(dump.rewards, nan=0.0, posinf=0.0, neginf=0.0)
    off = centre(rewards, dump.groups)
    if match.name.startswith(_NORMALISED):  # each reward is scaled by itself
        off = off / np.where(spread(rewards, dump.groups) > 0.0, spread(rewards, dump.groups), 1.0)
    parts: Floats = np.abs(match.weights) * np.sqrt((off**2).mean(axis=0))
    return parts


def _compare_pairs(dump: Dump, at: int) -> tuple[int, int]:
    """Return the pairs that differ only in one reward, with equal and with other advantages."""
    first, second = _list_pairs(dump, np.delete(dump.rewards, at, axis=1))
    changed = dump.rewards[first, at] != dump.rewards[second, at]
    moved = _differ(dump, first, second)
    return int((changed & ~moved).sum()), int((changed & moved).sum())


def _list_pairs(dump: Dump, values: Floats) -> np.ndarray:
    """Return (2, pairs) rows of a group with equal values, each with the one before it."""
    pairs: list[tuple[int, int]] = []
    keys = np.ascontiguousarray(np.nan_to_num(values) + 0.0)
    last: dict[tuple[int, bytes], int] = {}
    for row, (group, key) in enumerate(zip(dump.groups.tolist(), keys, strict=True)):
        before = last.get((group, key.tobytes()))
        if before is not None:
            pairs.append((before, row))
        last[group, key.tobytes()] = row
    return np.array(pairs, np.int64).reshape(-1, 2).T


def _differ(dump: Dump, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return (pairs,) bool, are both advantages numbers that differ?"""
    one, other = _advantages(dump)[first], _advantages(dump)[second]
    usual = np.nanmedian(np.abs(_advantages(dump)))
    with np.errstate(invalid="ignore"):
        differs: np.ndarray = np.abs(one - other) > TOLERANCE * (np.abs(one) + usual)
    return differs


def _find_taken_scale(dump: Dump, match: Match) -> Iterator[Fault]:
    if not (match.linear and match.follows) or match.name.startswith(_NORMALISED):
        return
    parts, sizes = _parts(dump, match), np.abs(match.weights)
    shares = parts**2 / max(float((parts**2).sum()), 1e-300)
    most = int(shares.argmax())
    for at, (name, share) in enumerate(zip(dump.names, shares, strict=True)):
        # The weights must explain less of the ratio than the units do.
        if 1e-8 < share < _MINOR and (sizes[most] / sizes[at]) ** 2 < parts[most] / parts[at]:
            label, count = _first_group(dump, _varies(dump.rewards[:, at], dump))
            yield Fault(
                "scale taken by another reward",
                label,
                f"Weighted, {dump.names[most]!r} differs {parts[most] / parts[at]:.3g} times as "
                f"much as {name!r}, which has {100 * share:.2g} % of the variance.",
                f"The policy learns {dump.names[most]!r} and hardly sees {name!r}: scale each "
                "reward, or change the weights.",
                count,
            )


def _find_lost_groups(dump: Dump, match: Match) -> Iterator[Fault]:
    advantages = _advantages(dump)
    zero = np.bincount(dump.groups, advantages != 0.0, len(dump.labels)) == 0
    lost = zero & (np.bincount(dump.groups, _differs(dump), len(dump.labels)) > 0)
    for tied in (False, True):
        expected = np.abs(match.expected) > 1e-9 * np.nanmax(np.abs(match.expected))
        moved = np.bincount(dump.groups, expected, len(dump.labels)) > 0
        groups = np.flatnonzero(lost & (moved != tied))
        if not len(groups) or not match.follows:
            continue
        rows = np.flatnonzero(dump.groups == groups[0])
        vectors = len(np.unique(dump.rewards[rows], axis=0))
        why = "their weighted sums are equal" if tied else "the estimator would give it advantages"
        yield Fault(
            "group without advantages",
            dump.labels[groups[0]],
            f"All advantages are 0, although the group has {vectors} different vectors; {why}.",
            "A filter or a sum hides the trade-off between the rewards: the group costs time and "
            "teaches nothing.",
            len(groups),
        )


def _find_large(dump: Dump, match: Match) -> Iterator[Fault]:
    advantages, size = _advantages(dump), np.bincount(dump.groups)[dump.groups]
    given = np.nan_to_num(advantages)
    off, means = spread(given, dump.groups), mean_by(given, dump.groups)
    apart = off > 0.0
    # Standardised values have the mean 0 and a deviation near 1.
    scaled = not apart.any() or (
        0.5 < float(np.median(off[apart])) < 1.5
        and float(np.median(np.abs(means[apart]) / off[apart])) < 0.1
    )
    grouped = match.name.startswith("grpo") and match.follows
    unknown = scaled and not match.follows and not dump.is_partial
    if not (grouped or unknown) or match.name.endswith("deviation"):
        return
    most = np.sqrt(size - 1.0) * (1 + TOLERANCE) + TOLERANCE
    # Without the rollout itself, the deviation is smaller, and a few advantages exceed the bound.
    large = np.abs(advantages) > most * (10.0 if match.name.endswith("the others") else 1.0)
    large &= _differs(dump)
    groups = np.unique(dump.groups[large])
    if len(groups):
        worst = dump.groups[np.nanargmax(np.where(large, np.abs(advantages), np.nan))]
        rows = np.flatnonzero(dump.groups == worst)
        most = np.nanmax(np.abs(advantages[rows]))
        yield Fault(
            "advantage beyond sqrt(n - 1)",
            dump.labels[worst],
            f"The largest advantage is {most:.6g}; standardised values of {len(rows)} rollouts "
            f"are at most {np.sqrt(len(rows) - 1):.4g}.",
            "One rollout takes the whole step: the divisor is rounding, or that of other rollouts.",
            len(groups),
        )


def _find_noise(dump: Dump, match: Match) -> Iterator[Fault]:
    advantages = np.nan_to_num(_advantages(dump))
    flat = ~_differs(dump)
    count = np.bincount(dump.groups)[dump.groups]
    usual = np.median(np.abs(advantages[~flat])) if (~flat).any() else 1.0
    loud = flat & (np.abs(advantages) > TOLERANCE * usual)
    batch_wide = match.follows and bool((np.abs(match.expected[loud]) > TOLERANCE * usual).all())
    for alone in (True, False):
        groups = np.unique(dump.groups[loud & ((count == 1) == alone)])
        if not len(groups) or batch_wide:
            continue
        rows = np.flatnonzero(dump.groups == groups[0])
        most = np.abs(advantages[rows]).max()
        yield Fault(
            "advantage of a single rollout" if alone else "advantage without a difference",
            dump.labels[groups[0]],
            f"All {len(rows)} rollouts have equal rewards, and the largest advantage is {most:.6g}."
            if not alone
            else f"The group has one rollout, and its advantage is {most:.6g}.",
            "The step follows the raw reward, for there is nothing to compare it with."
            if alone
            else "Rounding, or another quantity than the rewards, is amplified into a direction.",
            len(groups),
        )


def _find_wrong_order(dump: Dump, match: Match) -> Iterator[Fault]:
    """Find rollouts that are at least as good in every reward, and get less."""
    if match.blocks:
        return
    # A reward with a negative weight is a cost.
    senses = np.sign(match.weights) if match.linear and match.follows else np.ones(len(dump.names))
    rewards, advantages = dump.rewards * senses, _advantages(dump)
    usual = np.nanmedian(np.abs(advantages))
    wrong, pairs = [], 0
    for rows in dump.list_groups():
        points, given = rewards[rows], advantages[rows]
        above = (points[:, None] >= points).all(-1) & (points[:, None] > points).any(-1)
        pairs += int(above.sum())
        less = above & (given[:, None] < given - TOLERANCE * usual)
        wrong += [(rows[i], rows[j]) for i, j in np.argwhere(less)]
    if not wrong or len(wrong) > pairs / 2:  # a reward may be a cost
        return
    better, worse = wrong[0]
    yield Fault(
        "better rollout gets less",
        dump.labels[dump.groups[better]],
        f"A rollout with {_show(dump, better)} gets {advantages[better]:.6g}, "
        f"and one with {_show(dump, worse)} gets {advantages[worse]:.6g}.",
        "The policy moves towards the worse of the two rollouts.",
        len(np.unique([dump.groups[one] for one, _ in wrong])),
    )


def _show(dump: Dump, row: int) -> str:
    """Return the rewards of a row by name."""
    return ", ".join(
        f"{name} {one:g}" for name, one in zip(dump.names, dump.rewards[row], strict=True)
    )


def _find_other_causes(dump: Dump, match: Match) -> Iterator[Fault]:
    """Compare rollouts of a group with equal rewards and different advantages."""
    advantages, lengths = _advantages(dump), dump.lengths
    first, second = _list_pairs(dump, dump.rewards)
    first, second = (rows[_differ(dump, first, second)] for rows in (first, second))
    if not len(first) or match.blocks:
        return
    apart = advantages[first] - advantages[second]
    group = dump.labels[dump.groups[first[0]]]
    shown = (
        f"Two rollouts with equal rewards have the advantages {advantages[first[0]]:.6g} and "
        f"{advantages[second[0]]:.6g}"
    )
    count = len(np.unique(dump.groups[first]))
    longer = np.zeros(len(apart)) if lengths is None else lengths[first] - lengths[second]
    if np.isfinite(longer).all() and len(first) >= _LEAST_PAIRS and longer.any():
        sides = float((np.sign(apart) * np.sign(longer)).mean())
        sizes = np.abs(advantages[first]) - np.abs(advantages[second])
        grows = float((np.sign(sizes) * np.sign(longer)).mean())
        if max(abs(sides), abs(grows)) >= _MAJOR:
            assert lengths is not None
            effect = (
                "A baseline that follows a rollout's own length or number of turns is biased: it "
                f"pays for {'longer' if sides > 0 else 'shorter'} rollouts."
                if abs(sides) >= _MAJOR
                else "The length scales the advantage, as a division by it does: "
                f"{'short' if grows > 0 else 'long'} rollouts move the policy less, right or wrong."
            )
            yield Fault(
                "depends on the rollout's own length",
                group,
                f"{shown}, and lengths of {lengths[first[0]]:g} and {lengths[second[0]]:g}; so it "
                f"is with {len(first)} pairs.",
                effect,
                count,
            )
            return
    yield Fault(
        "depends on the order of the rows",
        group,
        f"{shown}.",
        "The place of a rollout in its batch, or a quantity that the dump lacks, decides its step.",
        count,
    )


def _find_wrong_groups(dump: Dump, match: Match) -> Iterator[Fault]:
    if match.blocks:
        wrong = np.flatnonzero(~match.agrees | match.informative)
        yield Fault(
            "consecutive rows as groups",
            dump.labels[wrong[0]],
            "The advantages compare consecutive rows, and the groups of the dump are interleaved.",
            "Rollouts of different prompts are compared, so easy prompts win against hard ones.",
            len(dump.labels),
        )
    if match.name == "reward minus that of the first rollout" and match.follows:
        yield Fault(
            "only the first rollout is the baseline",
            dump.labels[0],
            "Each advantage is the reward minus that of the first rollout, which gets 0.",
            "The first rollout never teaches, and its luck moves all others in one direction.",
            len(dump.labels),
        )


def _advantages(dump: Dump) -> Floats:
    assert dump.advantages is not None
    return dump.advantages


def _first_group(dump: Dump, rows: np.ndarray) -> tuple[str, int]:
    """Return the label of the group of the first marked row, and how many groups have one."""
    groups = dump.groups[rows]
    return dump.labels[groups[0]], len(np.unique(groups))


_LOOKS: tuple[Callable[[Dump, Match], Iterator[Fault]], ...] = (
    *(_find_missing_as_zero, _find_dead_rewards, _find_negative_weights, _find_taken_scale),
    *(_find_lost_groups, _find_large, _find_noise, _find_wrong_order, _find_other_causes),
    _find_wrong_groups,
)
