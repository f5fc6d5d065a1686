"""The formulas of docs/estimators.md, as plain loops over fractions.

Computes with 60 digits after a square root, an exponential or a logarithm. It imports nothing of
this project, so that a fault of the estimators cannot enter the test vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

_DIGITS = 60  # of roots, exponentials and logarithms

Group = list[list[Fraction]]  # rewards of each rollout
Batch = list[Group]
Values = list[list[Fraction]]  # a number for each rollout of each group

# ---- numbers -------------------------------------------------------------------------------------


def exact(number: Any) -> Fraction:
    """Return the decimal that a literal shows: 0.1 is one tenth."""
    return Fraction(str(number))


def to_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def root(value: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction(to_decimal(value).sqrt())


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def deviation(values: Sequence[Fraction], divisor: str = "n-1") -> Fraction:
    """Return the standard deviation; 0 of a single value."""
    middle, count = mean(values), len(values) - (divisor == "n-1")
    return root(sum((one - middle) ** 2 for one in values) / count) if count else Fraction(0)


def scale(values: Sequence[Fraction], epsilon: Any = "1e-6", divisor: str = "n-1") -> list:
    """Return (value - mean) / (deviation + epsilon); 0 where all are equal."""
    if len(set(values)) == 1:
        return [Fraction(0)] * len(values)
    size = deviation(values, divisor) + exact(epsilon)
    return [(one - mean(values)) / size for one in values]


def against_others(values: Sequence[Fraction]) -> list[Fraction]:
    count = len(values)
    if count == 1:
        return [Fraction(0)]
    return [one - (sum(values) - one) / (count - 1) for one in values]


def dot(weights: Sequence[Fraction], point: Sequence[Fraction]) -> Fraction:
    return sum((w * one for w, one in zip(weights, point, strict=True)), Fraction(0))


def columns_of(points: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    return [list(one) for one in zip(*points, strict=True)]


def flatten(values: Sequence[Sequence[Any]]) -> list[Any]:
    return [one for group in values for one in group]


def whiten(values: Values, stays: list[list[bool]] | None = None) -> Values:
    """Return (value - mean) / sqrt(variance + 1e-8) over the batch; 0 for those left out."""
    stays = stays or [[True] * len(group) for group in values]
    among = [one for one, stay in zip(flatten(values), flatten(stays), strict=True) if stay]
    if not among:
        return [[Fraction(0)] * len(group) for group in values]
    size = root(deviation(among) ** 2 + exact("1e-8"))
    return [
        [(v - mean(among)) / size if s else Fraction(0) for v, s in zip(*pair, strict=True)]
        for pair in zip(values, stays, strict=True)
    ]


def scores(batch: Batch, epsilon: Any = "1e-6", divisor: str = "n-1") -> Batch:
    """Return the z-scores of each objective in its group."""
    return [
        columns_of([scale(column, epsilon, divisor) for column in columns_of(group)])
        for group in batch
    ]


def centre_by(values: list[Fraction], centre: str) -> list[Fraction]:
    if centre == "none":
        return values
    if centre == "loo":
        return against_others(values)
    if centre == "std":
        return scale(values)
    return [one - mean(values) for one in values]


# ---- estimators: f(batch, weights, **settings) ---------------------------------------------------


def sums(batch: Batch, weights: Sequence[Fraction]) -> Values:
    return [[dot(weights, point) for point in group] for group in batch]


def grpo(batch: Batch, weights: list, *, epsilon: Any, divisor: str) -> Values:
    return [scale(group, epsilon, divisor) for group in sums(batch, weights)]


def dr_grpo(batch: Batch, weights: list) -> Values:
    return [[one - mean(group) for one in group] for group in sums(batch, weights)]


def rloo(batch: Batch, weights: list) -> Values:
    return [against_others(group) for group in sums(batch, weights)]


def reinforce_pp(batch: Batch, weights: list) -> Values:
    return whiten(sums(batch, weights))


def reinforce_pp_baseline(batch: Batch, weights: list) -> Values:
    return whiten(dr_grpo(batch, weights))


def worth(batch: Batch, weights: list) -> Values:
    def value(point: list) -> Fraction:
        return point[0] * max(weights[0] + dot(weights[1:], point[1:]), Fraction(0))

    return [against_others([value(point) for point in group]) for group in batch]


def gr3(batch: Batch, weights: list) -> Values:
    def value(point: list) -> Fraction:
        paid = [max(-one, Fraction(0)) for one in point[1:]]
        return point[0] * weights[0] / (weights[0] + dot(weights[1:], paid))

    return [scale([value(point) for point in group]) for group in batch]


def tchebycheff(batch: Batch, weights: list) -> Values:
    def value(point: list) -> Fraction:
        return -max(w * (1 - one) for w, one in zip(weights, point, strict=True))

    return [against_others([value(point) for point in group]) for group in batch]


def mo_grpo(batch: Batch, weights: list) -> Values:
    return sums(scores(batch, 0), [Fraction(1)] * len(weights))


def gdpo(batch: Batch, weights: list) -> Values:
    return whiten(sums(scores(batch), weights))


def d3po(batch: Batch, weights: list) -> Values:
    off = [
        columns_of([[one - mean(column) for one in column] for column in columns_of(group)])
        for group in batch
    ]
    sizes = [deviation(column) + exact("1e-8") for column in columns_of(flatten(off))]
    return sums(off, [w / one for w, one in zip(weights, sizes, strict=True)])


def gd2po(batch: Batch, weights: list, *, conflict: Any = "0.8") -> Values:
    totals, stays = [], []
    for group in scores(batch):
        parts = [[w * one for w, one in zip(weights, point, strict=True)] for point in group]
        agree = [abs(sum(one)) >= exact(conflict) * sum(map(abs, one)) for one in parts]
        share = Fraction(sum(agree), len(agree))
        totals.append([sum(one) * share for one in parts])
        stays.append(agree)
    return whiten(totals, stays)


def dvao(batch: Batch, weights: list) -> Values:
    found = []
    for group, centred in zip(batch, dr_grpo(batch, weights), strict=True):
        size = dot(weights, [deviation(column, "n") for column in columns_of(group)])
        found.append([one / size if size else Fraction(0) for one in centred])
    return found


def saw(batch: Batch, weights: list) -> Values:
    factors = []
    for w, column in zip(weights, columns_of(flatten(batch)), strict=True):
        factors.append(w * deviation(column) / (abs(mean(column)) + exact("1e-8")))
    total = sum(factors) + exact("1e-8")
    return gdpo(batch, [len(factors) * one / total for one in factors])


def dominates(first: Sequence[Fraction], second: Sequence[Fraction]) -> bool:
    return first != second and all(a >= b for a, b in zip(first, second, strict=True))


def place(value: Fraction, among: Sequence[Fraction]) -> Fraction:
    """Return the place of a value from the lowest, 0, to the highest, 1; 1/2 if all are equal."""
    low, high = min(among), max(among)
    return (value - low) / (high - low) if high > low else Fraction(1, 2)


def centre_ranks(values: list[Fraction], centre: str) -> list[Fraction]:
    centred = centre_by(values, centre)
    return [one * 8 / max(max(centred) - min(centred), 8) for one in centred]


def pareto(batch: Batch, weights: list, *, beta: Any = "0.5", centre: str = "mean") -> Values:
    found = []
    for group, total in zip(batch, sums(batch, weights), strict=True):
        ranks: dict[int, int] = {}
        while len(ranks) < len(group):
            left = [at for at in range(len(group)) if at not in ranks]
            best = [a for a in left if not any(dominates(group[b], group[a]) for b in left)]
            ranks |= dict.fromkeys(best, max(ranks.values(), default=-1) + 1)
        fronts = max(ranks.values()) + 1
        values = []
        for at in range(len(group)):
            front = [total[other] for other in ranks if ranks[other] == ranks[at]]
            shift = exact(beta) * (place(total[at], front) - Fraction(1, 2))
            values.append(fronts - ranks[at] + shift)
        found.append(centre_ranks(values, centre))
    return found


def lexicographic(batch: Batch, weights: list, *, centre: str = "mean") -> Values:
    found = []
    for group in batch:
        levels = sorted({tuple(point) for point in group})
        values = [Fraction(levels.index(tuple(point)) + 1) for point in group]
        found.append(centre_ranks(values, centre))
    return found


def volume(points: Sequence[Sequence[Fraction]], corner: Sequence[Fraction]) -> Fraction:
    """Return the volume of a union of boxes, by inclusion and exclusion."""
    total = Fraction(0)
    for size in range(1, len(points) + 1):
        for some in combinations(points, size):
            sides = [max(min(one) - c, 0) for one, c in zip(columns_of(some), corner, strict=True)]
            total -= (-1) ** size * prod(sides)
    return total


def gains(group: Group, corner: Sequence[Fraction], k: int) -> list[Fraction]:
    """Return the mean volume that each rollout adds to k - 1 others."""
    found = []
    for at, point in enumerate(group):
        others = [one for j, one in enumerate(group) if j != at]
        several = [*combinations(others, k - 1)]
        parts = [volume([*some, point], corner) - volume(some, corner) for some in several]
        found.append(mean(parts))
    return found


def exchange(group: Group, corner: Sequence[Fraction], k: int) -> list[Fraction]:
    """Return the mean change of the volume when each rollout takes the place of another one."""
    if k == len(group):
        return gains(group, corner, k)
    found = []
    for at, point in enumerate(group):
        parts = []
        for j, other in enumerate(group):
            if j == at:
                continue
            rest = [one for i, one in enumerate(group) if i not in (at, j)]
            for some in combinations(rest, k - 1):
                parts.append(volume([*some, point], corner) - volume([*some, other], corner))
        found.append(mean(parts))
    return found


def hypervolume(batch: Batch, weights: list, *, k: int = 1, centre: str = "exact") -> Values:
    corner = [Fraction(0), *(-weights[0] / one for one in weights[1:])]
    found = []
    for group in batch:
        if centre in ("exact", "std"):
            values = exchange(group, corner, k)
            found.append(scale(values) if centre == "std" else values)
        else:
            found.append(centre_by(gains(group, corner, k), centre))
    return found


def hypervolume_gd2po(batch: Batch, weights: list, *, k: int = 1, conflict: Any = "0.8") -> Values:
    both = []
    for group in batch:
        columns = columns_of(group)[1:]
        right = [point for point in group if point[0] > 0]
        ends = []
        for at, column in enumerate(columns, start=1):
            ends.append((min(column), max((point[at] for point in right), default=min(column))))
        points = []
        for point in group:
            shares = [
                (one - worst) / (best - worst) if best > worst else Fraction(1)
                for one, (worst, best) in zip(point[1:], ends, strict=True)
            ]
            counts = point[0] > 0 and any(best > worst for worst, best in ends)
            points.append(
                [Fraction(point[0] > 0), *(shares if counts else [Fraction(0)] * len(shares))]
            )
        added = gains(points, [Fraction(0)] * len(weights), k)
        both.append([[point[0], one] for point, one in zip(points, added, strict=True)])
    return gd2po(both, [weights[0], sum(weights[1:])], conflict=conflict)


def pass_at_k(batch: Batch, weights: list, *, k: int) -> Values:
    return hypervolume(batch, weights, k=k)


# ---- the controller: gate, missing values, filter, limits, price ---------------------------------


def fill(group: list, best: Sequence[Any]) -> Group:
    """Return the rewards with the group's mean for a missing one; `best` if all are missing."""
    columns = []
    for column, other in zip(zip(*group, strict=True), best, strict=True):
        known = [one for one in column if one is not None]
        middle = mean(known) if known else exact(other)
        columns.append([middle if one is None else one for one in column])
    return columns_of(columns)


def gate_group(group: Group, floors: Sequence[Any], threshold: Any) -> Group:
    worst = [min(column) for column in columns_of(group)]
    return [
        point
        if point[0] > exact(threshold)
        else [
            point[0],
            *(
                one if f == "keeps" else worst[at] if f == "worst" else exact(f)
                for at, (one, f) in enumerate(zip(point[1:], floors, strict=True), start=1)
            ),
        ]
        for point in group
    ]


def teaches(group: Group, group_filter: str, threshold: Any) -> bool:
    if group_filter == "off":
        return True
    seen = [point[0] > exact(threshold) for point in group]
    return len({*seen} if group_filter == "accuracy" else {*map(tuple, group)}) > 1


def control(
    steps: list[list], weights: list, *, estimator: Callable[..., Values],
    floors: list | None = None, threshold: Any = 0, group_filter: str = "off",
    limits: list | None = None, economies: str = "each", **settings: Any,
) -> list[Values]:  # fmt: skip
    held = [Multiplier(one) for one in limits or []]
    found = []
    for batch in steps:
        given = [fill(group, [0] * len(weights)) for group in batch]
        gated = [gate_group(one, floors, threshold) if floors else one for one in given]
        judged = [[[*point] for point in group] for group in gated]
        for point in flatten(judged):
            for one in held:
                point[one.objective] = one.judge(point[one.objective])
        factors = [*weights]
        for one in held:
            factors[one.objective] = one.value / one.unit
        factors = [w / (1 + sum(one.value for one in held)) for w in factors]
        if economies == "least":
            judged = [[[first, min(rest)] for first, *rest in group] for group in judged]
            factors = [factors[0], sum(factors[1:])]
        values = estimator(judged, factors, **settings)
        found.append(
            [
                row if teaches(group, group_filter, threshold) else [Fraction(0)] * len(row)
                for row, group in zip(values, judged, strict=True)
            ]
        )
        for one in held:
            column = [point[one.objective] for point in flatten(judged)]
            one.update(mean(column), deviation(column, "n"))
    return found


class Multiplier:
    """The multiplier of one limit: see docs/constraints.md."""

    def __init__(self, limit: dict[str, Any]) -> None:
        self.objective, self.bound = limit["objective"], exact(limit["bound"])
        self.share = exact(limit["share"]) if "share" in limit else None
        self.aim = self.bound if self.share is None else self.share
        self.unit = abs(self.bound)
        if self.share is not None:
            self.unit = root(self.share * (1 - self.share))
        self.value = self.integral = self.gap = self.variance = Fraction(0)
        self.updates = 0

    def judge(self, value: Fraction) -> Fraction:
        return value if self.share is None else Fraction(value >= self.bound)

    def update(self, middle: Fraction, width: Fraction) -> None:
        self.updates += 1
        first, before = 1 - Fraction(1, self.updates), self.unit
        gap = self.aim - middle
        kept = min(first, Fraction(4, 5))
        self.gap = kept * self.gap + (1 - kept) * gap
        if self.share is None:
            kept = min(first, Fraction(19, 20))
            self.variance = kept * self.variance + (1 - kept) * width**2
            size = abs(self.bound)
            self.unit = min(max(root(self.variance), size / 100), size)
        low, high = Fraction(-1), Fraction(2, 5)
        average, last = (min(max(one / self.unit, low), high) for one in (self.gap, gap))
        integral = self.integral * self.unit / before
        aim = integral + 6 * average
        if not (aim >= 10 and average > 0) and not (aim <= 0 and last < 0):
            integral += average / 20
        self.integral = min(max(integral, Fraction(0)), Fraction(10))
        value = self.integral + 6 * min(average, last)
        self.value = min(max(value, Fraction(0)), Fraction(10))


def recipe(steps: list[list], weights: list) -> list[Values]:
    """Return `rloo` on right answers and shares of a price that they teach, gated by the worst."""
    dearest: list[Fraction] = []
    price, full, found = Fraction(0), False, []
    for batch in steps:
        most = []
        for group in batch:
            paid = [cost for right, cost in group if right > 0]
            most.append(max(paid) if len(paid) > 1 else Fraction(0))
            dearest = [*dearest, *[one for one in [max(paid, default=0)] if one > 0]][-128:]
            if dearest:
                now = quartile(dearest)
                price, full = max(now, price) if full else now, full or len(dearest) == 128
        shares = [
            [[right, save(cost, max(price, own))] for right, cost in group]
            for group, own in zip(batch, most, strict=True)
        ]
        worst = [min(share for _, share in group) for group in shares]
        gated = [
            [[right, share if right > 0 else least] for right, share in group]
            for group, least in zip(shares, worst, strict=True)
        ]
        found.append(rloo(gated, weights))
    return found


def quartile(values: Sequence[Fraction]) -> Fraction:
    ordered, at = sorted(values), Fraction(len(values) - 1, 4)
    low = ordered[int(at)]
    return low + (ordered[min(int(at) + 1, len(ordered) - 1)] - low) * (at - int(at))


def save(cost: Fraction, price: Fraction) -> Fraction:
    if cost <= price:
        return 1 - cost / price if price else Fraction(1)
    return price / cost - 1
