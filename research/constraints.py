"""The study of limits: mean costs and values on the tables, next to the best that a limit allows.

The best policy within a limit is the solution of a linear program. A task gets five limits, between
the cheapest policy and an expensive one; all runs of a task train as one array.

``python -m research.constraints`` prints the tables of docs/constraints.md from the records.
``--train`` makes the records first: it needs SciPy, and a few minutes of one core.

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
from research.agent import QUESTIONS, Adam
from research.tables import TabularTask, Unit
from research.tasks import TASKS

Floats = NDArray[np.float64]
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # from the cheapest policy to an expensive one
STEPS = 1200
LATE = 100  # steps at the end over which the records average
RECORDS = Path(__file__).with_suffix("") / "records.jsonl.xz"
BLOCK = 3  # seeds that train as one array
# Method, seeds.
METHODS = {
    "limit": 12,
    "clipped dual 0.01": 3,
    "clipped dual 0.05": 3,
    "exact penalty": 3,
    "penalty 0.03": 3,
    "penalty 0.1": 3,
    "penalty 0.3": 3,
    "prime_rl 0.1": 3,
    "prime_rl 0.3": 3,
    "prime_rl 1": 3,
}
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
    below = 0.5 * (1.0 + np.vectorize(math.erf)(z / math.sqrt(2.0)))
    rectified: Floats = charge * below + spread * density
    return rectified


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


# ---- the methods --------------------------------------------------------------------------------

# Maps a step's mean charges, (runs, costs), to the multipliers of the next step.
Update = Callable[[Floats], Floats]


@dataclass
class Method:
    """How costs enter the reward, and by how much.

    Attributes:
        first: (runs, costs) multipliers of the first step.
        update: Returns those of the next step.
        reward: Maps charges, (runs, kinds, questions, group, costs), correctness and limits to
            rewards of the costs.
    """

    first: Floats
    update: Update
    reward: Callable[[Floats, Floats, Floats], Floats]


def _in_limits(charges: Floats, right: Floats, limits: Floats) -> Floats:
    del right
    paid: Floats = -charges / limits[:, None, None, None]
    return paid


def _above_limit(charges: Floats, right: Floats, limits: Floats) -> Floats:
    del right
    return -np.maximum(charges / limits[:, None, None, None] - 1.0, 0.0)


def _by_pass_rate(charges: Floats, right: Floats, limits: Floats) -> Floats:
    del limits
    columns = range(charges.shape[-1])
    return np.stack([pass_rate_economy(charges[..., one], right) for one in columns], axis=-1)


def make_method(name: str, limits: Floats, multipliers: Floats) -> Method:
    """Return a method for runs with these limits, (runs, costs).

    Args:
        name: "limit"; "penalty X", a fixed multiplier X; "exact penalty", that of the linear
            program; "prime_rl X", prime-rl's penalty with coefficient X; or "clipped dual X", an
            integral with step X on the cost above the limit, after the abstract of LACONIC (Liu et
            al., 2026, arXiv 2602.14468).
        limits: In the unit of the charges.
        multipliers: (runs, costs) of the linear programs.
    """
    kind, _, number = name.partition(" ")
    if kind == "limit":
        held = Multipliers(-limits)

        def update(means: Floats) -> Floats:
            held.update(-means)
            return held.values

        return Method(np.zeros(limits.shape), update, _in_limits)
    if kind == "clipped":
        integral, rate = np.zeros(limits.shape), float(number.split()[-1])

        def integrate(means: Floats) -> Floats:
            integral[...] = (integral + rate * (means / limits - 1.0)).clip(0.0, MOST)
            return integral

        return Method(np.zeros(limits.shape), integrate, _above_limit)
    fixed = multipliers if name == "exact penalty" else np.full(limits.shape, float(number or 0.0))
    reward = _by_pass_rate if kind == "prime_rl" else _in_limits
    return Method(fixed, lambda _: fixed, reward)


# ---- the trainings ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seed:
    unit: Unit
    scale: float


def train(task: TabularTask, name: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Train a policy for each seed and limit, and yield a record for each."""
    drawn, charges, limits, best = [], [], [], []
    for seed in seeds:
        scale = float(10.0 ** np.random.default_rng([seed, 1]).uniform(-3.0, 3.0))
        drawn.append(_Seed(task.units[seed % len(task.units)], scale if task.scaled else 1.0))
        charge = expected_charges(task, seed)
        for limit in place_limits(task, charge):
            charges.append(drawn[-1].scale * charge)
            limits.append(drawn[-1].scale * limit)
            best.append(solve(task, charge, limit))
    bounds, expected = np.array(limits), np.array(charges)
    method = make_method(name, bounds, np.array([one.multipliers for one in best]))
    estimator = "grpo" if name.startswith("clipped") else "rloo"
    rng = np.random.default_rng([*name.encode(), *task.name.encode(), *seeds])
    rows, kinds, runs = task.policy_rows, len(task.success), len(bounds)
    start = np.zeros(task.ways) if task.start is None else task.start
    logits = start + 0.3 * rng.standard_normal((runs, int(rows.max()) + 1, task.ways))
    adam, multipliers = Adam(logits.shape), method.first
    late: list[tuple[Floats, Floats]] = []
    for step in range(1, STEPS + 1):
        policy = _softmax(logits)[:, rows]
        draws = rng.random((runs, kinds, QUESTIONS, task.group, 1))
        chosen = (draws > policy.cumsum(axis=-1)[:, :, None, None, :-1]).sum(axis=-1)
        at = np.arange(kinds)[:, None, None]
        right = (rng.random(chosen.shape) < task.success_at(step)[at, chosen]).astype(np.float64)
        cost = np.split(task.costs[at, chosen], len(drawn))
        paid = np.concatenate(
            [one.scale * one.unit.draw(part, rng) for one, part in zip(drawn, cost, strict=True)]
        )
        vectors = np.concatenate(
            [right[..., None], method.reward(paid, right, bounds)], axis=-1
        ).reshape(-1, task.group, task.objectives)
        weights = np.concatenate([np.ones((runs, 1)), multipliers], axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        each = np.repeat(weights, kinds * QUESTIONS, axis=0)
        advantages = ESTIMATORS[estimator](vectors, each).reshape(chosen.shape)
        taken = (advantages[..., None] * np.eye(task.ways)[chosen]).sum(axis=(2, 3))
        moves = (taken - policy * advantages.sum(axis=(2, 3))[..., None]) / (QUESTIONS * task.group)
        gradient = np.zeros_like(logits)
        for kind, row in enumerate(rows):
            gradient[:, row] += moves[:, kind]
        multipliers = method.update(paid.mean(axis=(1, 2, 3)))
        logits += adam.step(gradient)
        if step > STEPS - LATE:
            late.append(_measure(task, _softmax(logits)[:, rows], expected))
    value, costs = late[-1]
    values, means = (np.mean(part, axis=0) for part in zip(*late, strict=True))
    for run, one in enumerate(best):
        yield {
            "task": task.name,
            "method": name,
            "seed": seeds[run // len(LEVELS)],
            "level": LEVELS[run % len(LEVELS)],
            "cost": round(float((costs[run] / bounds[run]).max()), 4),
            "value": round(float(value[run] / one.value), 4),
            "late_cost": round(float((means[run] / bounds[run]).max()), 4),
            "late_value": round(float(values[run] / one.value), 4),
            "multipliers": np.round(multipliers[run], 3).tolist(),
            "best_multipliers": np.round(one.multipliers, 3).tolist(),
        }


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    policy: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return policy


def _measure(task: TabularTask, policy: Floats, charge: Floats) -> tuple[Floats, Floats]:
    """Return the (runs,) accuracies and the (runs, costs) costs of policies, as expectations."""
    value = (policy * task.success_at(STEPS)).sum(axis=-1).mean(axis=-1)
    costs = np.einsum("nkw,nkwc->nc", policy, charge) / policy.shape[1]
    return value, costs


# ---- records and report -------------------------------------------------------------------------


def summarise(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return numbers on runs: costs over limits, values over the best, and shares, in percent."""
    cost, value = (np.array([row[name] for row in rows]) for name in ("late_cost", "late_value"))
    kept, good = cost <= 1.01, value >= 0.99
    last = np.array([row["cost"] for row in rows])
    return [
        f"{100.0 * number:.1f}"
        for number in (
            *(
                np.median(cost),
                np.maximum(cost - 1.0, 0.0).mean(),
                np.maximum(last - 1.0, 0.0).mean(),
            ),
            *(kept.mean(), value[kept].mean() if kept.any() else np.nan, (kept & good).mean()),
        )
    ]


_COLUMNS = (
    *("cost, % of the limit, median", "above the limit, mean", "above the limit, last policy"),
    *("kept within 1 %", "value in kept runs, % of the best", "kept with a value of at least 99 %"),
)


def tabulate(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Return a Markdown table with a row for each value of a key."""
    names = list(dict.fromkeys(row[key] for row in rows))
    lines = [f"| {key} | {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * len(_COLUMNS)]
    for name in names:
        cells = summarise([row for row in rows if row[key] == name])
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def make_tables(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the tables of methods, and of a limit's tasks and levels."""
    own = [row for row in rows if row["method"] == "limit"]
    return [tabulate(rows, "method"), tabulate(own, "task"), tabulate(own, "level")]


def read_records() -> list[dict[str, Any]]:
    """Return the records of all trainings."""
    with lzma.open(RECORDS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main() -> None:
    """Train, if asked to, and print the tables."""
    parser = argparse.ArgumentParser(
        prog="python -m research.constraints", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--train", action="store_true", help="make the records first")
    if parser.parse_args().train:
        RECORDS.parent.mkdir(exist_ok=True)
        with lzma.open(RECORDS, "wt", encoding="utf-8") as file:
            for (name, seeds), task in itertools.product(METHODS.items(), JUDGED):
                for first in range(0, seeds, BLOCK):
                    for row in train(TASKS[task], name, range(first, first + BLOCK)):
                        file.write(json.dumps(row) + "\n")
                print(name, task, flush=True)
    for table in make_tables(read_records()):
        print("\n".join(table), end="\n\n")


if __name__ == "__main__":
    main()
