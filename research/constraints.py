"""The study of limits: costs and values on the tables, next to the best that a limit allows.

The best policy within a limit is the solution of a linear program. A task gets five limits on the
mean, between the cheapest policy and an expensive one, and a value that up to three shares of the
answers must keep. A share is the mean of an indicator, so the same program solves it. All runs of a
task train as one array.

``python -m research.constraints`` prints the tables of docs/constraints.md from the records.
``--train`` first makes the records of methods that have none: it needs SciPy, and minutes.

>>> charge = expected_charges(TASKS["trade_off"], seed=0)
>>> charge.shape  # kinds, ways, costs
(4, 6, 1)
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.estimators import ESTIMATORS
from paretopo.controller.limits import MOST, Multipliers
from paretopo.rewards.economy import pass_rate_economy
from research.agent import QUESTIONS, Adam, softmax
from research.tables import TabularTask
from research.tasks import TASKS

Floats = NDArray[np.float64]
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # from the cheapest policy to an expensive one
SHARES = (0.5, 0.9, 0.95)
PLACES = (1.5, 1.25, 1.0, 0.75, 0.5, 0.25)  # of a share's value, from the lowest cost to the mean
STEPS = 1200
LATE = 100  # steps at the end over which the records average
EARLY = range(101, 201)  # steps over which they average the costs of a short run
RECORDS = Path(__file__).with_suffix("") / "records.jsonl.xz"
BLOCK = 3  # seeds that train as one array
# Method, seeds.
METHODS = {
    "limit": 12,
    "limit with schedule": 12,
    "clipped dual 0.01": 3,
    "clipped dual 0.05": 3,
    "exact penalty": 3,
    "penalty 0.03": 3,
    "penalty 0.1": 3,
    "penalty 0.3": 3,
    "prime_rl 0.1": 3,
    "prime_rl 0.3": 3,
    "prime_rl 1": 3,
    "LACONIC": 3,
    "limit with more answers": 3,
    "limit with schedule and more answers": 3,
    "limit with schedule and more steps": 3,
    "limit with schedule, more answers and steps": 3,
}
SHARE_METHODS = {
    "limit": 12,
    "limit with schedule": 12,
    "limit on the mean": 3,
    "exact penalty": 3,
    "penalty 0.1": 3,
    "penalty 0.3": 3,
    "penalty 1": 3,
    "limit with more answers": 3,
    "limit with schedule and more answers": 3,
}
MORE = 4  # times as many questions of each kind per step, or steps
# The other judged tasks vary starts, group sizes and units.
JUDGED = tuple(TASKS)[:17]


# ---- the best that a limit allows ---------------------------------------------------------------


def expected_charges(task: TabularTask, seed: int) -> Floats:
    """(kinds, ways, costs) expected charge of an answer, in the unit that the seed chooses."""
    unit = task.units[seed % len(task.units)]
    slope = np.array(unit.slope)
    charge: Floats = unit.base + slope * task.costs
    if unit.noise != "normal":
        return charge  # lognormal noise keeps the mean
    # Charges below 0 become 0: the mean of a rectified normal distribution.
    spread = np.broadcast_to(slope * unit.sigma, charge.shape)
    z = charge / spread
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    rectified: Floats = charge * _normal_below(z) + spread * density
    return rectified


def exceeding_shares(task: TabularTask, seed: int, value: Floats) -> Floats:
    """(kinds, ways, costs) share of the answers whose charge exceeds a value above 0."""
    unit = task.units[seed % len(task.units)]
    slope = np.array(unit.slope)
    charge: Floats = unit.base + slope * task.costs
    if unit.noise == "none":
        return (charge > value).astype(np.float64)
    if unit.noise == "normal":
        return _normal_below((charge - value) / (slope * unit.sigma))
    return _normal_below(np.log(charge / value) / unit.sigma - unit.sigma / 2.0)


def _normal_below(z: Floats) -> Floats:
    below: Floats = 0.5 * (1.0 + np.vectorize(math.erf)(z / math.sqrt(2.0)))
    return below


@dataclass(frozen=True)
class Best:
    """The solution of a linear program.

    Attributes:
        policy: (rows, ways).
        value: Its accuracy.
        costs: (costs,) of a question.
        multipliers: (costs,) of the limits, in units of the limit; 0 where a limit has slack.
    """

    policy: Floats
    value: float
    costs: Floats
    multipliers: Floats


def solve(task: TabularTask, charge: Floats, limits: Floats | None, price: float = 0.0) -> Best:
    """Maximise accuracy minus ``price`` times the sum of relative costs, within limits."""
    from scipy.optimize import linprog

    rows, kinds = task.policy_rows, len(task.success)
    last = task.success_at(STEPS)
    shape = (int(rows.max()) + 1, task.ways)
    gain, paid = np.zeros(shape), np.zeros((*shape, charge.shape[-1]))
    np.add.at(gain, rows, last / kinds)
    np.add.at(paid, rows, charge / kinds)
    objective = gain - price * (paid / charge.mean(axis=(0, 1))).sum(axis=-1)
    each = np.kron(np.eye(shape[0]), np.ones(shape[1]))
    bounds: dict[str, Any] = {}
    if limits is not None:
        bounds = {
            "A_ub": (paid.reshape(-1, paid.shape[-1]) / limits).T,
            "b_ub": np.ones(len(limits)),
        }
    found = linprog(-objective.ravel(), A_eq=each, b_eq=np.ones(shape[0]), **bounds)
    policy = found.x.reshape(shape)
    multipliers = np.zeros(paid.shape[-1]) if limits is None else -found.ineqlin.marginals
    costs = np.einsum("rw,rwc->c", policy, paid)
    return Best(policy, float((policy * gain).sum()), costs, multipliers)


def place_limits(task: TabularTask, charge: Floats) -> Floats:
    """(levels, costs) limits that can be kept: the costs of mixtures of two policies.

    One is the cheapest. The other is the most accurate; or, with several costs, it chooses every
    way equally often, because the most accurate one may be the cheapest in one of them.
    """
    cheap = solve(task, charge, None, price=1e3).costs
    several = charge.shape[-1] > 1
    dear = charge.mean(axis=(0, 1)) if several else solve(task, charge, None, price=1e-6).costs
    return np.array([cheap + level * (dear - cheap) for level in LEVELS])


@dataclass(frozen=True)
class Goal:
    """The limits of a run, in the unit of its task.

    Attributes:
        seed: Of the run.
        at: The level of a mean, or the share.
        bound: (costs,) limits on the means, or values that the share of the answers must keep.
        measured: (kinds, ways, costs) expected charges, or shares of answers above the values.
        best: The solution of the linear program.
    """

    seed: int
    at: float
    bound: Floats
    measured: Floats
    best: Best


def place_goals(task: TabularTask, seed: int, shares: bool) -> list[Goal]:
    """Return the goals of a seed: limits on means at all levels, or on the shares that count.

    All shares have one value, between the lowest expected charges and 1.5 times as far as those of
    a policy that chooses every way equally often. It is at the place where most shares count; of
    several, at the highest. A share counts if it lowers the best accuracy by at least a thousandth,
    and if the cheapest policy exceeds the value in at most half of the answers that may exceed it.
    """
    charge = expected_charges(task, seed)
    if not shares:
        limits = place_limits(task, charge)
        return [
            Goal(seed, level, limit, charge, solve(task, charge, limit))
            for level, limit in zip(LEVELS, limits, strict=True)
        ]
    free, least = solve(task, charge, None).value, charge.min(axis=1).mean(axis=0)
    tried = []
    for place in PLACES:
        value = least + place * (charge.mean(axis=(0, 1)) - least)
        above = exceeding_shares(task, seed, value)
        lowest = solve(task, above, None, price=1e3).costs.max()
        goals = [
            Goal(seed, share, value, above, solve(task, above, np.full(len(value), 1.0 - share)))
            for share in SHARES
            if lowest <= (1.0 - share) / 2.0
        ]
        tried.append([goal for goal in goals if goal.best.value <= 0.999 * free])
    return max(tried, key=len)


# ---- the methods --------------------------------------------------------------------------------

_ANSWERS = (1, 2, 3)  # the axes of a step's answers
_LACONIC = (0.002, 0.1, 0.4)  # step, most of the multiplier, most of an answer's penalty

# Maps a step's charges, (runs, kinds, questions, group, costs), to the multipliers of the next
# step, (runs, costs).
Update = Callable[[Floats], Floats]


@dataclass
class Method:
    """How costs enter the reward, and by how much.

    Attributes:
        first: (runs, costs) multipliers of the first step.
        update: Returns those of the next step.
        reward: Maps charges, correctness and units to rewards of the costs.
        units: Returns the units, (runs, costs), of the charges in the reward.
    """

    first: Floats
    update: Update
    reward: Callable[[Floats, Floats, Floats], Floats]
    units: Callable[[], Floats]


def _mean(charges: Floats) -> Floats:
    mean: Floats = charges.mean(axis=_ANSWERS)
    return mean


def _in_units(charges: Floats, right: Floats, units: Floats) -> Floats:
    del right
    paid: Floats = -charges / units[:, None, None, None]
    return paid


def _by_pass_rate(charges: Floats, right: Floats, limits: Floats) -> Floats:
    del limits
    columns = range(charges.shape[-1])
    return np.stack([pass_rate_economy(charges[..., one], right) for one in columns], axis=-1)


def make_method(name: str, limits: Floats, units: Floats, multipliers: Floats) -> Method:
    """Return a method for runs with these limits, (runs, costs).

    Args:
        name: "limit", "limit on the mean", or "limit with" a "schedule" of the learning rate, "more
            answers", "more steps", or several of them; "penalty X", a fixed multiplier X; "exact
            penalty", that of the program; "prime_rl X", prime-rl's penalty with coefficient X;
            "LACONIC", of Liu et al. (2026), arXiv 2602.14468, with the settings of their Qwen3-32B
            but without its penalty for truncated answers; or "clipped dual X", the same with step
            X, a multiplier of up to 10, and any penalty.
        limits: On the mean charges; for a share, the charge is 1 where an answer exceeds the value.
        units: (runs, costs) of the charges in the reward and of the violations; NaN measures them.
        multipliers: (runs, costs) of the linear programs.
    """
    kind, _, number = name.partition(" ")
    if kind == "limit":
        held = Multipliers(-limits, units)

        def update(charges: Floats) -> Floats:
            held.update(-_mean(charges), charges.std(axis=_ANSWERS))
            return held.values

        return Method(np.zeros(limits.shape), update, _in_units, lambda: held.units)
    if kind in ("LACONIC", "clipped"):
        step, most, cap = (
            _LACONIC if kind == "LACONIC" else (float(number.split()[-1]), MOST, math.inf)
        )
        integral = np.zeros(limits.shape)

        def integrate(charges: Floats) -> Floats:
            integral[...] = (integral + step * (_mean(charges) / limits - 1.0)).clip(0.0, most)
            return integral

        def above_limit(charges: Floats, right: Floats, units: Floats) -> Floats:
            paid = _in_units(charges, right, units)
            excess: Floats = np.maximum(-paid - 1.0, 0.0)
            return -np.minimum(excess, (cap / np.maximum(integral, 1e-9))[:, None, None, None])

        return Method(np.zeros(limits.shape), integrate, above_limit, lambda: units)
    fixed = multipliers if name == "exact penalty" else np.full(limits.shape, float(number or 0.0))
    reward = _by_pass_rate if kind == "prime_rl" else _in_units
    return Method(fixed, lambda _: fixed, reward, lambda: units)


# ---- the trainings ------------------------------------------------------------------------------


def train(
    task: TabularTask, name: str, seeds: Sequence[int], shares: bool = False
) -> Iterator[dict[str, Any]]:
    """Train a policy for each seed and level or share, and yield a record for each."""
    goals = [goal for seed in seeds for goal in place_goals(task, seed, shares)]
    if not goals:
        return
    drawn = [np.random.default_rng([goal.seed, 1]).uniform(-3.0, 3.0) for goal in goals]
    scales = np.array([[10.0**one if task.scaled else 1.0] for one in drawn])
    bounds = scales * np.array([goal.bound for goal in goals])
    expected = np.array([goal.measured for goal in goals])
    judged = shares and name != "limit on the mean"
    limits = units = bounds
    if judged:
        asked = np.broadcast_to([[goal.at] for goal in goals], bounds.shape)
        limits, units = 1.0 - asked, np.ones(bounds.shape)
        if name.startswith("limit"):
            units = np.sqrt(asked * (1.0 - asked))
    elif name.startswith("limit"):
        units = np.full(bounds.shape, np.nan)
    exact = np.array([goal.best.multipliers for goal in goals]) * (
        units / limits if judged else 1.0
    )
    method = make_method(name, limits, units, exact)
    estimator = "grpo" if name.startswith(("LACONIC", "clipped")) else "rloo"
    rng = np.random.default_rng([*name.encode(), *task.name.encode(), *seeds])
    rows, kinds, runs = task.policy_rows, len(task.success), len(bounds)
    questions = QUESTIONS * (MORE if "more answers" in name else 1)
    last = STEPS * (MORE if name.endswith("steps") else 1)
    start = np.zeros(task.ways) if task.start is None else task.start
    logits = start + 0.3 * rng.standard_normal((runs, int(rows.max()) + 1, task.ways))
    adam, multipliers = Adam(logits.shape), method.first
    early: list[tuple[Floats, Floats]] = []
    late: list[tuple[Floats, Floats]] = []
    for step in range(1, last + 1):
        policy = softmax(logits)[:, rows]
        draws = rng.random((runs, kinds, questions, task.group, 1))
        chosen = (draws > policy.cumsum(axis=-1)[:, :, None, None, :-1]).sum(axis=-1)
        at = np.arange(kinds)[:, None, None]
        right = (rng.random(chosen.shape) < task.success_at(step)[at, chosen]).astype(np.float64)
        paid = np.array(
            [
                scale * task.units[goal.seed % len(task.units)].draw(cost, rng)
                for goal, scale, cost in zip(goals, scales, task.costs[at, chosen], strict=True)
            ]
        )
        if judged:
            paid = (paid > bounds[:, None, None, None]).astype(np.float64)
        vectors = np.concatenate(
            [right[..., None], method.reward(paid, right, method.units())], axis=-1
        ).reshape(-1, task.group, task.objectives)
        weights = np.concatenate([np.ones((runs, 1)), multipliers], axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        each = np.repeat(weights, kinds * questions, axis=0)
        advantages = ESTIMATORS[estimator](vectors, each).reshape(chosen.shape)
        taken = (advantages[..., None] * np.eye(task.ways)[chosen]).sum(axis=(2, 3))
        moves = (taken - policy * advantages.sum(axis=(2, 3))[..., None]) / (questions * task.group)
        gradient = np.zeros_like(logits)
        for kind, row in enumerate(rows):
            gradient[:, row] += moves[:, kind]
        multipliers = method.update(paid)
        # A schedule keeps the mean learning rate: it falls from twice the constant rate to 0.
        rate = 1.0 + math.cos(math.pi * (step - 1) / last) if "schedule" in name else 1.0
        logits += rate * adam.step(gradient)
        for steps, found in ((EARLY, early), (range(last - LATE + 1, last + 1), late)):
            if step in steps:
                found.append(_measure(task, softmax(logits)[:, rows], expected))
    soon, averages = (
        tuple(np.mean(part, axis=0) for part in zip(*steps, strict=True)) for steps in (early, late)
    )
    reached = multipliers if judged else multipliers * (limits / method.units())
    for run, goal in enumerate(goals):
        record: dict[str, Any] = {"task": task.name, "method": name, "seed": goal.seed}
        record["share" if shares else "level"] = goal.at
        for prefix, (values, costs) in (("early_", soon), ("", late[-1]), ("late_", averages)):
            if shares:
                record[f"{prefix}kept"] = round(float(1.0 - costs[run].max()), 4)
            else:
                cost = (scales[run] * costs[run] / bounds[run]).max()
                record[f"{prefix}cost"] = round(float(cost), 4)
            record[f"{prefix}value"] = round(float(values[run] / goal.best.value), 4)
        both = {"multipliers": reached, "best_multipliers": exact}
        yield record | {key: np.round(part[run], 3).tolist() for key, part in both.items()}


def _measure(task: TabularTask, policy: Floats, charge: Floats) -> tuple[Floats, Floats]:
    """Return the (runs,) accuracies and the (runs, costs) costs of policies, as expectations."""
    value = (policy * task.success_at(STEPS)).sum(axis=-1).mean(axis=-1)
    costs = np.einsum("nkw,nkwc->nc", policy, charge) / policy.shape[1]
    return value, costs


# ---- records and report -------------------------------------------------------------------------


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return numbers on runs: costs over limits, values over the best, and shares, in percent."""
    shares = "share" in rows[0]
    value, last_value = (np.array([row[f"{one}value"] for row in rows]) for one in ("late_", ""))
    over, last, early = (
        np.array(
            [
                row["share"] - row[f"{one}kept"] if shares else row[f"{one}cost"] - 1.0
                for row in rows
            ]
        )
        for one in ("late_", "", "early_")
    )
    (kept, good), (last_kept, last_good) = (
        (excess <= 0.01 + 1e-9, reached >= 0.99)
        for excess, reached in ((over, value), (last, last_value))
    )
    return [
        f"{100.0 * number:.1f}"
        for number in (
            np.median(-over if shares else over + 1.0),
            np.maximum(over, 0.0).mean(),
            (early <= 0.03 + 1e-9).mean(),
            *(kept.mean(), value[kept].mean() if kept.any() else np.nan, (kept & good).mean()),
            *(last_kept.mean(), (last_kept & last_good).mean()),
        )
    ]


_COLUMNS = (
    *("cost, % of the limit, median", "above the limit, mean"),
    *("early: kept within 3 %", "kept within 1 %"),
    *("value in kept runs, % of the best", "kept with a value of at least 99 %"),
    *("last policy: kept within 1 %", "last policy: kept with a value of at least 99 %"),
)
_SHARE_COLUMNS = (
    *("above the share, points, median", "below the share, mean"),
    *("early: kept within 3 points", "kept within 1 point", *_COLUMNS[4:6]),
    *("last policy: kept within 1 point", _COLUMNS[-1]),
)


def tabulate(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Return a Markdown table with a row for each value of a key."""
    names = list(dict.fromkeys(row[key] for row in rows))
    columns = _SHARE_COLUMNS if "share" in rows[0] else _COLUMNS
    lines = [f"| {key} | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name in names:
        cells = summarise([row for row in rows if row[key] == name])
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def make_tables(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the tables of methods, and of a limit's tasks and levels; then those of shares."""
    tables = []
    for key in ("level", "share"):
        both = [row for row in rows if key in row]
        own = [row for row in both if row["method"] == "limit"]
        tables += [tabulate(both, "method"), tabulate(own, "task"), tabulate(own, key)]
    return tables


def read_records() -> list[dict[str, Any]]:
    """Return the records of all trainings."""
    with lzma.open(RECORDS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    """Train, if asked to, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m research.constraints", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--train", action="store_true", help="first train methods without records")
    if parser.parse_args().train:
        RECORDS.parent.mkdir(exist_ok=True)
        rows = read_records() if RECORDS.exists() else []
        done = {("share" in row, row["method"]) for row in rows}
        for shares, methods in ((False, METHODS), (True, SHARE_METHODS)):
            for (name, seeds), task in itertools.product(methods.items(), JUDGED):
                if (shares, name) in done:
                    continue
                for first in range(0, seeds, BLOCK):
                    rows += train(TASKS[task], name, range(first, first + BLOCK), shares)
                print(name, task, flush=True)
        with lzma.open(RECORDS, "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    for table in make_tables(read_records()):
        print("\n".join(table), end="\n\n")


if __name__ == "__main__":
    main()
